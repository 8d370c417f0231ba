//! Deflated bytes as a stream, for gzip files and for the variables of MATLAB files.

use std::io::{self, BufRead, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

/// What a reader in this folder reports as damage carries this kind, so that it can be told from
/// the operating system's refusals.
pub(crate) fn damaged(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

/// The state of unpacking one stream.
pub(crate) struct Inflate(Box<InflateState>);

impl Inflate {
    /// At the start of a stream.
    pub(crate) fn new(format: DataFormat) -> Self {
        Inflate(InflateState::new_boxed(format))
    }

    /// Unpacks some bytes of `inner` into `out`: how many, and whether the stream has ended.
    pub(crate) fn step(
        &mut self,
        inner: &mut impl BufRead,
        out: &mut [u8],
    ) -> io::Result<(usize, bool)> {
        let input = inner.fill_buf()?;
        let at_end = input.is_empty();
        let result = inflate(&mut self.0, input, out, MZFlush::None);
        inner.consume(result.bytes_consumed);
        match result.status {
            Ok(status) => Ok((result.bytes_written, status == MZStatus::StreamEnd)),
            Err(_) if result.bytes_written > 0 => Ok((result.bytes_written, false)),
            Err(_) if at_end => Err(damaged("packed data: the file ends too early")),
            Err(_) => Err(damaged("packed data: the bytes are damaged")),
        }
    }
}

/// A zlib stream as a `Read`.
pub(crate) struct Zlib<R> {
    inner: R,
    inflate: Inflate,
    ended: bool,
}

impl<R: BufRead> Zlib<R> {
    /// Unpacks `inner`, which starts with a zlib header.
    pub(crate) fn new(inner: R) -> Self {
        Zlib { inner, inflate: Inflate::new(DataFormat::Zlib), ended: false }
    }
}

impl<R: BufRead> Read for Zlib<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !out.is_empty() {
            let (written, ended) = self.inflate.step(&mut self.inner, out)?;
            self.ended = ended;
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}
