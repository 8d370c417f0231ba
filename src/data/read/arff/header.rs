//! The header of an ARFF file: `@relation`, `@attribute` lines, up to `@data`.
//!
//! Real headers have quoted names with escapes, no blank before `{`, tabs, Latin-1 letters, and
//! MEKA's `-C` hidden in the relation name. All of that is read; what is not understood is refused
//! with its place.

use std::collections::HashMap;
use std::io::BufRead;

use super::super::lines::{Lines, decode, trim};
use super::attribute::{Attribute, Kind, Nominal};
use super::cursor::Cursor;
use crate::{Error, Result};

/// What stands above `@data`.
pub(super) struct Header {
    pub(super) attributes: Vec<Attribute>,
    /// Line of each attribute, for messages.
    pub(super) lines: Vec<u64>,
    pub(super) meka: Option<i64>,
    pub(super) latin1: bool,
}

impl Header {
    /// Reads up to and including `@data`.
    pub(super) fn read(lines: &mut Lines<impl BufRead>) -> Result<Self> {
        let mut header =
            Header { attributes: Vec::new(), lines: Vec::new(), meka: None, latin1: false };
        let mut first_line: HashMap<String, u64> = HashMap::new();
        loop {
            let number = lines.number() + 1;
            let Some(line) = lines.next()? else {
                return Err(Error::found("the end of the file", "a line '@data'").at_line(number));
            };
            let (text, indent) = trim(line);
            if text.is_empty() || text[0] == b'%' {
                continue;
            }
            let word = text.iter().take_while(|c| !c.is_ascii_whitespace()).count();
            let mut rest = Cursor { line, at: indent + word };
            match text[..word].to_ascii_lowercase().as_slice() {
                b"@relation" => header.meka = meka_count(&text[word..]),
                b"@attribute" => {
                    let attribute = header.attribute(&mut rest).map_err(|e| e.at_line(number))?;
                    if let Some(first) = first_line.insert(attribute.name.clone(), number) {
                        return Err(Error::input(format!(
                            "attribute '{}' is declared twice, first in line {first}",
                            attribute.name
                        ))
                        .at(number, indent as u64 + 1)
                        .excerpt(line, indent + 1));
                    }
                    header.attributes.push(attribute);
                    header.lines.push(number);
                }
                b"@data" => break,
                _ => {
                    let found = String::from_utf8_lossy(&text[..word.min(40)]).into_owned();
                    return Err(Error::found(
                        format_args!("'{found}'"),
                        "@relation, @attribute or @data",
                    )
                    .at(number, indent as u64 + 1)
                    .excerpt(line, indent + 1));
                }
            }
        }
        if header.attributes.is_empty() {
            return Err(Error::found("no @attribute line", "at least one before @data")
                .at_line(lines.number()));
        }
        Ok(header)
    }

    fn attribute(&mut self, rest: &mut Cursor<'_>) -> Result<Attribute> {
        rest.blanks();
        let from = rest.at;
        let name = rest.token(b"{")?;
        if name.is_empty() {
            return Err(rest.error(from, "no name", "@attribute NAME TYPE"));
        }
        let (name, latin1) = decode(&name);
        self.latin1 |= latin1;
        rest.blanks();
        let from = rest.at;
        if rest.peek() == Some(b'{') {
            rest.at += 1;
            return Ok(Attribute { name, kind: Kind::Nominal(nominal_values(rest)?) });
        }
        // KEEL writes a range behind the type: `real [0, 1]`.
        let word = rest.token(b"[")?.to_ascii_lowercase();
        let kind = match word.as_slice() {
            b"numeric" | b"real" | b"integer" => Kind::Numeric,
            b"string" => Kind::Unusable("string"),
            b"date" => Kind::Unusable("date"),
            b"relational" => Kind::Unusable("relational"),
            b"" => return Err(rest.error(from, "no type", "numeric or {value,value,…}")),
            _ => {
                let found = format!("the type '{}'", String::from_utf8_lossy(&word));
                return Err(rest.error(from, &found, "numeric, real, integer or {value,value,…}"));
            }
        };
        Ok(Attribute { name, kind })
    }
}

/// Values up to `}`.
fn nominal_values(rest: &mut Cursor<'_>) -> Result<Nominal> {
    let mut values: Vec<Vec<u8>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    loop {
        rest.blanks();
        let from = rest.at;
        match rest.peek() {
            None => return Err(rest.error(from, "the end of the line", "'}' after the values")),
            Some(b'}') if values.is_empty() => {
                return Err(rest.error(from, "no value", "{value,value,…}"));
            }
            Some(b'}') => return Ok(Nominal::new(values)),
            Some(b',') => return Err(rest.error(from, "an empty value", "{value,value,…}")),
            Some(_) => {}
        }
        let value = rest.token(b",}")?;
        if !seen.insert(value.clone()) {
            let found = format!("the value '{}' twice", String::from_utf8_lossy(&value));
            return Err(rest.error(from, &found, "each value once"));
        }
        values.push(value);
        rest.blanks();
        if rest.peek() == Some(b',') {
            rest.at += 1;
        }
    }
}

/// The number after `-C` in a MEKA relation name.
fn meka_count(relation: &[u8]) -> Option<i64> {
    let text = String::from_utf8_lossy(relation);
    let mut words = text.split(|c: char| c.is_whitespace() || "'\":".contains(c));
    words.find(|w| *w == "-C" || *w == "-c")?;
    let count = words.find(|w| !w.is_empty())?;
    count.parse().ok().filter(|&n| n != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Header> {
        Header::read(&mut Lines::new(text))
    }

    #[test]
    fn reads_headers_from_the_wild() {
        let header = read(
            b"% comment\n\n@RELATION 'Slashdot: -C -22 -split 3'\r\n\t@attribute\tAtt1\tREAL [0, 1]\n\
              @attribute c1{0,1}\n@attribute 'Swainson\\'s Thrush' { 'a b' , \"c}\" }\n\
              @attribute M\xfcller integer\n@attribute id string\n@DATA\n1\n",
        )
        .unwrap();
        let names: Vec<&str> = header.attributes.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["Att1", "c1", "Swainson's Thrush", "Müller", "id"]);
        assert_eq!(header.meka, Some(-22));
        assert!(header.latin1);
        assert_eq!(header.lines, [4, 5, 6, 7, 8]);
        let Kind::Nominal(nominal) = &header.attributes[2].kind else { panic!() };
        assert_eq!(nominal.values, [(b"a b".to_vec(), 0.0), (b"c}".to_vec(), 1.0)]);
        assert!(matches!(header.attributes[4].kind, Kind::Unusable("string")));
    }

    #[test]
    fn meka_counts() {
        assert_eq!(meka_count(b" 'Music: -C 6'"), Some(6));
        assert_eq!(meka_count(b" 'X: -V -C -12 -B'"), Some(-12));
        assert_eq!(meka_count(b" bibtex"), None);
        assert_eq!(meka_count(b" 'x -C'"), None);
        assert_eq!(meka_count(b" 'x -C 0'"), None);
    }
}
