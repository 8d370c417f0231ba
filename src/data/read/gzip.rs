//! Gzip as a stream: `.gz` of any format is read without ever holding the unpacked file.
//!
//! Members may follow one another (bgzip, `cat a.gz b.gz`). Length and CRC-32 of each member are
//! checked. The unpacked size has a bound, because a kilobyte of gzip can hold a megabyte of zeros.

use std::io::{self, BufRead, Read};

use miniz_oxide::DataFormat;

use super::inflate::{Inflate, damaged};

/// First two bytes of every gzip member.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Unpacks `inner`; a `Read`, to be wrapped in a `BufReader`.
pub(crate) struct Gunzip<R> {
    inner: R,
    inflate: Inflate,
    in_member: bool,
    finished: bool,
    crc: u32,
    length: u32,
    left: u64,
    limit: u64,
}

impl<R: BufRead> Gunzip<R> {
    /// Refuses to unpack more than `limit` bytes.
    pub(crate) fn new(inner: R, limit: u64) -> Self {
        Gunzip {
            inner,
            inflate: Inflate::new(DataFormat::Raw),
            in_member: false,
            finished: false,
            crc: 0,
            length: 0,
            left: limit,
            limit,
        }
    }

    /// Starts the next member, if there is one.
    fn begin(&mut self) -> io::Result<()> {
        if self.inner.fill_buf()?.is_empty() {
            self.finished = true;
            return Ok(());
        }
        let head: [u8; 10] = self.take()?;
        if head[..2] != MAGIC || head[2] != 8 {
            return Err(damaged("gzip: text after the end of the packed data"));
        }
        let flags = head[3];
        if flags & 4 != 0 {
            let length = u16::from_le_bytes(self.take()?);
            for _ in 0..length {
                self.take::<1>()?;
            }
        }
        for flag in [8, 16] {
            // file name, comment: both end with a zero byte
            if flags & flag != 0 {
                while self.take::<1>()? != [0] {}
            }
        }
        if flags & 2 != 0 {
            self.take::<2>()?;
        }
        self.inflate = Inflate::new(DataFormat::Raw);
        (self.crc, self.length, self.in_member) = (!0, 0, true);
        Ok(())
    }

    /// Checks what the member says about itself.
    fn end(&mut self) -> io::Result<()> {
        self.in_member = false;
        let crc = u32::from_le_bytes(self.take()?);
        let length = u32::from_le_bytes(self.take()?);
        if crc != !self.crc || length != self.length {
            return Err(damaged("gzip: the checksum does not match, the file is damaged"));
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes).map_err(truncated)?;
        Ok(bytes)
    }

    fn unpack(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let (written, ended) = self.inflate.step(&mut self.inner, out)?;
        self.account(&out[..written])?;
        if ended {
            self.end()?;
        }
        Ok(written)
    }

    fn account(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            damaged(format!("gzip: unpacks to more than the limit of {} bytes", self.limit))
        })?;
        self.crc = crc32(self.crc, bytes);
        self.length = self.length.wrapping_add(bytes.len() as u32);
        Ok(())
    }
}

fn truncated(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("packed data: the file ends too early"),
        _ => error,
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.finished && !out.is_empty() {
            if !self.in_member {
                self.begin()?;
                continue;
            }
            let written = self.unpack(out)?;
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}

/// Continues a CRC-32 (IEEE, reflected); start with all ones, invert at the end.
fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = crc_table();
    bytes.iter().fold(crc, |crc, &b| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ b)])
}

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

/// Unpacks a whole file of at most `limit` bytes.
pub(crate) fn unpack_all(packed: &[u8], limit: u64) -> crate::Result<Vec<u8>> {
    let mut out = Vec::new();
    let read = Gunzip::new(packed, limit).read_to_end(&mut out);
    read.map_err(|e| crate::Error::input(e.to_string()))?;
    Ok(out)
}

/// Packs `bytes` as one gzip member without a time: the same bytes give the same file.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    out.extend(miniz_oxide::deflate::compress_to_vec(bytes, 6));
    out.extend((!crc32(!0, bytes)).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpack(packed: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        // A tiny buffer makes every step cross a boundary.
        let inner = io::BufReader::with_capacity(3, packed);
        Gunzip::new(inner, limit).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn crc_of_the_check_string() {
        assert_eq!(!crc32(!0, b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn members_follow_one_another_and_headers_may_be_long() {
        let mut two = pack(b"one ");
        let mut named = vec![0x1f, 0x8b, 8, 4 | 8 | 16 | 2, 0, 0, 0, 0, 0, 255];
        named.extend([2, 0, b'x', b'y']);
        named.extend(b"name\0comment\0");
        named.extend([0, 0]);
        named.extend(&pack(b"two")[10..]);
        two.extend(named);
        assert_eq!(unpack(&two, 100).unwrap(), b"one two");
    }

    #[test]
    fn damage_and_bombs_are_refused() {
        let packed = pack(&[7u8; 100_000]);
        assert!(packed.len() < 500);
        assert!(unpack(&packed, 99_999).unwrap_err().to_string().contains("limit"));
        for cut in 0..packed.len() {
            if cut > 0 {
                assert!(unpack(&packed[..cut], 1 << 20).is_err(), "cut at {cut}");
            }
        }
        let mut wrong = packed.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert!(unpack(&wrong, 1 << 20).unwrap_err().to_string().contains("checksum"));
        let mut trailing = packed;
        trailing.extend(b"trailing text");
        assert!(unpack(&trailing, 1 << 20).is_err());
    }

    proptest! {
        #[test]
        fn unpacks_what_was_packed(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
            prop_assert_eq!(unpack(&pack(&bytes), 1 << 20).unwrap(), bytes);
        }
    }
}
