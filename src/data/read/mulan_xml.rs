//! MULAN's label file: `<labels><label name="…"/>…</labels>`, perhaps nested.

use crate::{Error, Result};

/// A label file is a list of names; nothing honest is bigger.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// What the file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LabelFile {
    /// Names in document order.
    pub(crate) names: Vec<String>,
    /// Was there a label inside a label?
    pub(crate) nested: bool,
}

/// Reads the names. Nested labels (a hierarchy) are flattened in document order.
pub(crate) fn parse(bytes: &[u8]) -> Result<LabelFile> {
    let text = decode_declared(bytes)?;
    let document = roxmltree::Document::parse(&text).map_err(|e| {
        let at = e.pos();
        // The library repeats the position at the end of some messages.
        let message = format!("not well-formed XML: {e}");
        let message = message.trim_end_matches(&format!(" at {at}"));
        place(Error::input(message), &text, at)
    })?;
    let root = document.root_element();
    let at = |node: roxmltree::Node<'_, '_>| document.text_pos_at(node.range().start);
    if root.tag_name().name() != "labels" {
        let found = format!("the element <{}>", root.tag_name().name());
        return Err(place(Error::found(found, "<labels>"), &text, at(root)));
    }
    let mut file = LabelFile { names: Vec::new(), nested: false };
    let mut seen = std::collections::HashSet::new();
    for node in root.descendants().filter(|n| n.has_tag_name_local("label")) {
        let Some(name) = node.attribute("name") else {
            let error = Error::found("<label> without a name", "<label name=\"…\">");
            return Err(place(error, &text, at(node)));
        };
        if !seen.insert(name) {
            let error = Error::input(format!("the label '{name}' is named twice"));
            return Err(place(error, &text, at(node)));
        }
        file.nested |= node.parent() != Some(root);
        file.names.push(name.to_owned());
    }
    if file.names.is_empty() {
        return Err(place(Error::found("no <label>", "at least one"), &text, at(root)));
    }
    Ok(file)
}

/// MULAN's namespace is usual but not always there: only the local name counts.
trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for roxmltree::Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// UTF-8, or Latin-1 where the XML declaration says so.
fn decode_declared(bytes: &[u8]) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) if declares_latin1(bytes) => Ok(bytes.iter().map(|&b| char::from(b)).collect()),
        Err(e) => {
            let at = e.valid_up_to();
            let line = bytes[..at].iter().filter(|&&b| b == b'\n').count();
            let start = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
            let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |p| at + p);
            Err(Error::found(format_args!("the byte 0x{:02x}", bytes[at]), "UTF-8")
                .at(line as u64 + 1, (at - start) as u64 + 1)
                .excerpt(&bytes[start..end], at - start + 1)
                .hint(
                    "save the file as UTF-8, or declare encoding=\"ISO-8859-1\" in its first line",
                ))
        }
    }
}

fn declares_latin1(bytes: &[u8]) -> bool {
    let head = bytes[..bytes.len().min(200)].to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let declaration = head.split("?>").next().unwrap_or_default();
    ["iso-8859-1", "latin1", "latin-1", "windows-1252"]
        .iter()
        .any(|name| declaration.contains(name))
}

fn place(error: Error, text: &str, at: roxmltree::TextPos) -> Error {
    let line = text.lines().nth(at.row.saturating_sub(1) as usize).unwrap_or_default();
    // roxmltree counts characters, errors count bytes.
    let characters = line.chars().take(at.col.saturating_sub(1) as usize);
    let column = characters.map(char::len_utf8).sum::<usize>() + 1;
    error.at(u64::from(at.row), column as u64).excerpt(line.as_bytes(), column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_nested_and_without_namespace() {
        let flat = parse(b"<?xml version='1.0'?>\n<labels xmlns=\"http://mulan.sourceforge.net/labels\"><label name='a b'/>\n<label name=\"c&amp;d\"> </label></labels>").unwrap();
        assert_eq!(flat.names, ["a b", "c&d"]);
        assert!(!flat.nested);
        let nested =
            parse(b"<labels><label name='a'><label name='b'/></label><label name='c'/></labels>")
                .unwrap();
        assert_eq!(nested.names, ["a", "b", "c"]);
        assert!(nested.nested);
    }

    #[test]
    fn latin1_only_where_it_is_declared() {
        let xml = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><labels><label name='M\xfcller'/></labels>";
        assert_eq!(parse(xml).unwrap().names, ["Müller"]);
        let error = parse(b"<labels>\n<label name='M\xfcller'/></labels>").unwrap_err();
        assert_eq!(error.position(), (Some(2), Some(15)));
    }

    #[test]
    fn entity_bombs_are_refused() {
        let bomb = b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><labels><label name='&b;'/></labels>";
        assert!(parse(bomb).is_err());
    }
}
