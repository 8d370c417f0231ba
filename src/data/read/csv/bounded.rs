//! A reader that refuses records without end.

use std::io::Read;

use super::super::inflate::damaged;
use super::super::lines::MAX_LINE;

/// Stops a record that never ends (a quote that is never closed) before it fills the memory.
pub(super) struct Bounded<R> {
    inner: R,
    in_record: usize,
    quoted: bool,
}

impl<R> Bounded<R> {
    /// At the start of a record.
    pub(super) fn new(inner: R) -> Self {
        Bounded { inner, in_record: 0, quoted: false }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(out)?;
        for &byte in &out[..n] {
            self.quoted ^= byte == b'"';
            self.in_record = if byte == b'\n' && !self.quoted { 0 } else { self.in_record + 1 };
        }
        if self.in_record > MAX_LINE {
            return Err(damaged(
                "found a row of more than 64 MiB, expected line breaks; is a quote never closed?",
            ));
        }
        Ok(n)
    }
}
