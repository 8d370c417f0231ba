//! Lines of bytes with their numbers, in a buffer that is used again and again.

use std::io::{self, BufRead, Read};

use crate::{Error, Result};

/// No sensible row is longer; a file without line breaks must not fill the memory.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// Reads line after line.
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Starts before line 1.
    pub(crate) fn new(reader: R) -> Self {
        Lines { reader, buffer: Vec::new(), number: 0 }
    }

    /// The next line without its line break, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.buffer.clear();
        let limit = MAX_LINE as u64 + 1;
        let read = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut self.buffer)
            .map_err(read_error)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read > MAX_LINE {
            return Err(Error::found(
                "a line of more than 64 MiB",
                "rows separated by line breaks",
            )
            .at_line(self.number));
        }
        let mut line = &self.buffer[..];
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        Ok(Some(line))
    }

    /// Number of the line that was read last; 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

/// A refusal of the operating system, or damage that a reader below found. The path is added by
/// the caller, who knows it.
pub(crate) fn read_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::input(error.to_string()),
        _ => Error::refused("read", &error),
    }
}

/// Without the blanks and tabs around it; also says how many bytes went at the front.
pub(crate) fn trim(text: &[u8]) -> (&[u8], usize) {
    let trimmed = text.trim_ascii_start();
    (trimmed.trim_ascii_end(), text.len() - trimmed.len())
}

/// Bytes as text: UTF-8 if they are, else Latin-1. The flag tells the second case.
pub(crate) fn decode(bytes: &[u8]) -> (String, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (bytes.iter().map(|&b| char::from(b)).collect(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_line_ends_and_the_byte_order_mark() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfa\r\n\nb"[..]);
        assert_eq!(lines.next().unwrap(), Some(&b"a"[..]));
        assert_eq!(lines.next().unwrap(), Some(&b""[..]));
        assert_eq!(lines.next().unwrap(), Some(&b"b"[..]));
        assert_eq!(lines.number(), 3);
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn text_is_utf8_or_latin1() {
        assert_eq!(decode("Müller".as_bytes()), ("Müller".to_owned(), false));
        assert_eq!(decode(b"M\xfcller"), ("Müller".to_owned(), true));
        assert_eq!(trim(b" \tx y "), (&b"x y"[..], 2));
    }
}
