//! A place in a line of an ARFF file: blanks, quoted and plain words, errors with their column.

use crate::{Error, Result};

/// A place in a line.
pub(super) struct Cursor<'a> {
    pub(super) line: &'a [u8],
    pub(super) at: usize,
}

impl Cursor<'_> {
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Skips blanks and tabs.
    #[inline]
    pub(super) fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) = self.peek() {
            self.at += 1;
        }
    }

    /// A quoted text, or everything up to a blank or one of `stops`.
    pub(super) fn token(&mut self, stops: &[u8]) -> Result<Vec<u8>> {
        if let Some(quote @ (b'\'' | b'"')) = self.peek() {
            return self.quoted(quote);
        }
        let from = self.at;
        while let Some(c) = self.peek() {
            if c.is_ascii_whitespace() || stops.contains(&c) {
                break;
            }
            self.at += 1;
        }
        Ok(self.line[from..self.at].to_vec())
    }

    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>> {
        let from = self.at;
        let mut text = Vec::new();
        self.at += 1;
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                b'\\' => {
                    let Some(escaped) = self.peek() else { break };
                    self.at += 1;
                    text.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        other => other,
                    });
                }
                _ if c == quote => return Ok(text),
                _ => text.push(c),
            }
        }
        Err(self.error(from, "a quote that is never closed", "a closing quote in the same line"))
    }

    /// "found …, expected …" at byte `at` of this line.
    pub(super) fn error(&self, at: usize, found: &str, expected: &str) -> Error {
        self.place(at, Error::found(found, expected))
    }

    /// Adds column and excerpt; the line number comes later.
    pub(super) fn place(&self, at: usize, error: Error) -> Error {
        error.at_column(at as u64 + 1).excerpt(self.line, at + 1)
    }
}
