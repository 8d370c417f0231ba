//! Names from other people's files, made fit for a terminal: the one place that does it.

use std::borrow::Cow;

/// A name is shown with at most this many characters.
const LONGEST: usize = 60;
/// Characters that stay at the end of a shortened name: numbers stand there.
const TAIL: usize = 15;

/// The text without anything that a terminal would obey or that would turn its direction: escapes,
/// other control characters, and marks of direction and of no width become `\u{…}`. Line breaks stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| c == '\n' || !is_hidden(c);
    match text.chars().all(harmless) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(escaped(text, harmless)),
    }
}

/// A name on one line, printable, and shortened in its middle if it is long.
pub fn name(text: &str) -> String {
    let shown = escaped(text, |c| !is_hidden(c));
    let length = shown.chars().count();
    if length <= LONGEST {
        return shown;
    }
    let head: String = shown.chars().take(LONGEST - TAIL - 1).collect();
    let tail: String = shown.chars().skip(length - TAIL).collect();
    format!("{head}…{tail}")
}

fn escaped(text: &str, harmless: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match harmless(c) {
            true => out.push(c),
            false => out.extend(c.escape_default()),
        }
    }
    out
}

/// Control characters, and those that change what others look like.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let evil = "a\u{1b}[2J\u{202e}b\r\u{9b}31m\u{200b}";
        let shown = name(evil);
        assert_eq!(shown, "a\\u{1b}[2J\\u{202e}b\\r\\u{9b}31m\\u{200b}");
        assert_eq!(printable(evil), shown);
        assert_eq!(name("two\nlines"), "two\\nlines");
        assert_eq!(printable("two\nlines"), "two\nlines", "messages have lines");
        for fine in ["Größe", "שלום", "日本語", "a b-c_d (e)"] {
            assert_eq!((name(fine).as_str(), printable(fine).as_ref()), (fine, fine));
        }
    }

    #[test]
    fn long_names_keep_both_ends() {
        let shown = name(&format!("{}17", "x".repeat(300)));
        assert_eq!(shown.chars().count(), LONGEST);
        assert!(shown.starts_with("xxx") && shown.ends_with("x17") && shown.contains('…'));
        let exact = "y".repeat(LONGEST);
        assert_eq!(name(&exact), exact);
    }
}
