//! JSON that carries its own SHA-256, so that no damage to it goes unseen.
//!
//! The last key of the object, `file_sha256`, is the SHA-256 of the whole file with 64 zeros in the
//! place of its value: every byte counts, blanks too.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{json_line, parse_json, pretty_json};
use crate::{Error, Result, checksum};

const KEY: &str = "file_sha256";
const DIGITS: usize = 64;

/// An object as one sealed line.
pub fn sealed_line(object: &impl Serialize) -> Result<String> {
    seal(&json_line(object)?, "}\n", &format!(",\"{KEY}\":\""), "\"}\n")
}

/// An object for people, sealed.
pub fn sealed_pretty(object: &impl Serialize) -> Result<String> {
    seal(&pretty_json(object)?, "\n}\n", &format!(",\n  \"{KEY}\": \""), "\"\n}\n")
}

fn seal(text: &str, end: &str, before: &str, after: &str) -> Result<String> {
    let open = text.strip_suffix(end).filter(|t| t.len() > 1).ok_or_else(|| {
        Error::numeric("only an object with at least one key can carry its SHA-256")
    })?;
    let sealed = |digits: &str| [open, before, digits, after].concat();
    Ok(sealed(&checksum::sha256(sealed(&"0".repeat(DIGITS)).as_bytes())))
}

/// The value of a sealed object, if not a bit of it has changed.
pub fn parse_sealed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let hint = "copy the file again, or compute it again";
    let Some(from) = digits_at(bytes) else {
        // What is no JSON at all is said better by the parser.
        parse_json::<serde::de::IgnoredAny>(bytes)?;
        return Err(Error::found(format!("no '{KEY}'"), "the SHA-256 of the file as its last key")
            .hint(hint));
    };
    let (digits, rest) = bytes[from..].split_at(DIGITS);
    let zeros = [&bytes[..from], &[b'0'; DIGITS], rest].concat();
    if checksum::sha256(&zeros).as_bytes() != digits {
        return Err(
            Error::input("the file is damaged or was edited: its SHA-256 does not fit").hint(hint)
        );
    }
    parse_json(bytes)
}

/// Where the digits of the last key begin.
fn digits_at(bytes: &[u8]) -> Option<usize> {
    let key = format!("\"{KEY}\":");
    let end = bytes.windows(key.len()).rposition(|w| w == key.as_bytes())? + key.len();
    let blank = usize::from(bytes.get(end) == Some(&b' '));
    let quote = end + blank;
    let whole = bytes.get(quote) == Some(&b'"') && bytes.len() > quote + DIGITS;
    whole.then_some(quote + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let value = json!({"a": [1, 2.5, "x\"file_sha256\":"], "b": {"c": null}});
        for text in [sealed_line(&value).unwrap(), sealed_pretty(&value).unwrap()] {
            let mut back: Value = parse_sealed(text.as_bytes()).unwrap();
            back.as_object_mut().unwrap().remove(KEY).unwrap();
            assert_eq!(back, value);
            for bit in 0..8 * text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(parse_sealed::<Value>(&bytes).is_err(), "bit {bit} of {text}");
            }
            for end in 0..text.len() {
                assert!(parse_sealed::<Value>(&text.as_bytes()[..end]).is_err(), "cut at {end}");
            }
            assert!(parse_sealed::<Value>(format!("{text} ").as_bytes()).is_err());
        }
        assert!(sealed_line(&json!({})).is_err() && sealed_pretty(&json!([1])).is_err());
    }

    #[test]
    fn what_is_not_sealed_is_refused() {
        let message = |text: &str| parse_sealed::<Value>(text.as_bytes()).unwrap_err().to_string();
        assert!(message("{\"a\":1}").contains("found no 'file_sha256'"));
        assert!(message("{\"a\":1").contains("EOF"));
    }
}
