//! What kind of file is it? Decided from the first bytes, never from the name.

use super::lines::trim;
use super::number::{parse_index, parse_number};
use super::options::Format;
use crate::{Error, Remedy, Result};

/// Formats that are recognised in order to explain what to do instead.
const EXPLAINED: [(&[u8], &str, &str); 14] = [
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file (MATLAB 7.3 or Python)",
        "in MATLAB, save it again with: save('file.mat', '-v7')",
    ),
    (
        b"MATLAB 7.3",
        "a MATLAB 7.3 file (HDF5)",
        "in MATLAB, save it again with: save('file.mat', '-v7')",
    ),
    (
        b"\x93NUMPY",
        "a NumPy array",
        "in Python, write it as CSV with a line of names, or as .mat with scipy.io.savemat",
    ),
    (b"PK\x03\x04", "a zip archive (npz, xlsx)", "unpack it first; numbers can be given as CSV"),
    (b"BZh", "a bzip2 file", "unpack it first, or pack it with gzip"),
    (b"\xfd7zXZ", "an xz file", "unpack it first, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it first, or pack it with gzip"),
    (b"%PDF-", "a PDF file", "numbers can be given as CSV"),
    (b"RDX", "an R data file", "in R, write it with write.csv, or with mldr::write_arff"),
    (b"RDA", "an R data file", "in R, write it with write.csv, or with mldr::write_arff"),
    (b"PAR1", "a Parquet file", "write it as CSV"),
    (b"\x80\x04", "a Python pickle", "in Python, write it as CSV or with scipy.io.savemat"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
];

/// The format of a file that starts with `head`. An empty head is an empty file.
pub(crate) fn sniff(head: &[u8]) -> Result<Format> {
    if head.is_empty() {
        return Err(Error::found("an empty file", "data"));
    }
    // HDF5 files of MATLAB have 512 bytes of their own in front.
    if let Some((_, what, hint)) = EXPLAINED.iter().find(|(magic, _, _)| {
        head.starts_with(magic)
            || head.get(512..).is_some_and(|h| magic.len() == 8 && h.starts_with(magic))
    }) {
        return Err(Error::found(what, "ARFF, CSV, LIBSVM or MATLAB 5 to 7").hint(*hint));
    }
    if head.len() >= 128 && matches!(&head[126..128], b"IM" | b"MI")
        || head.starts_with(b"MATLAB 5")
    {
        return Ok(Format::Mat);
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if is_utf16(head) {
        return Err(Error::found("UTF-16 text", "ARFF, CSV, LIBSVM or MATLAB 5 to 7")
            .hint("save it as UTF-8"));
    }
    if head.contains(&0) {
        return Err(Error::found("binary data", "ARFF, CSV, LIBSVM or MATLAB 5 to 7"));
    }
    let mut lines = head.split(|&b| b == b'\n').map(|l| trim(l).0).filter(|l| !l.is_empty());
    let first = lines.clone().find(|l| l[0] != b'%');
    match first {
        None if head.trim_ascii().is_empty() => Err(Error::found("only blanks", "data")),
        // A comment longer than what is looked at: only ARFF has comments like that.
        None => Ok(Format::Arff),
        Some(line) if line[0] == b'@' => Ok(Format::Arff),
        Some(line) if line[0] == b'<' => Err(Error::found("an XML or HTML file", "the data file")
            .hint("give the ARFF; the label XML is found beside it, or can be named")
            .remedy(Remedy::LabelFile)),
        Some(_) if is_json(head) => {
            Err(Error::found("a JSON file", "ARFF, CSV, LIBSVM or MATLAB 5 to 7")
                .hint("write it as CSV with a line of names"))
        }
        Some(line) if line.starts_with(super::libsvm::TAG.as_bytes()) => Ok(Format::Libsvm),
        Some(_) => {
            let looks = |line: &[u8]| line[0] == b'#' || is_libsvm(line);
            let complete = head.iter().rposition(|&b| b == b'\n').unwrap_or(head.len());
            let whole = head[..complete].split(|&b| b == b'\n').map(|l| trim(l).0);
            let whole: Vec<&[u8]> = whole.filter(|l| !l.is_empty()).collect();
            let pairs = whole.iter().any(|l| l[0] != b'#' && l.contains(&b':'));
            if pairs && whole.iter().enumerate().all(|(i, l)| looks(l) || (i == 0 && is_sizes(l))) {
                return Ok(Format::Libsvm);
            }
            // A single long line may not be complete.
            let single = lines.next().is_some_and(|l| whole.len() <= 1 && starts_like_libsvm(l));
            Ok(if single { Format::Libsvm } else { Format::Csv })
        }
    }
}

/// Text in which every other byte is 0: UTF-16 without its mark, as far as it is English.
fn is_utf16(head: &[u8]) -> bool {
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|b| **b == 0).count();
    let half = head.len() / 2;
    half >= 4
        && [(0, 1), (1, 0)]
            .iter()
            .any(|&(low, high)| zeros(low) == 0 && zeros(high) >= half - half / 8)
}

/// A list or an object that begins with a value, a name or its end.
fn is_json(head: &[u8]) -> bool {
    let mut bytes = head.iter().filter(|b| !b.is_ascii_whitespace());
    matches!(bytes.next(), Some(b'{' | b'['))
        && matches!(bytes.next(), Some(b'"' | b'{' | b'[' | b'}' | b']' | b'0'..=b'9'))
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty())
}

fn is_sizes(line: &[u8]) -> bool {
    words(line).count() == 3 && words(line).all(|w| parse_index(w).is_some())
}

/// Labels, then nothing but pairs. Looser than the reader, so that the reader can say what is wrong.
fn is_libsvm(line: &[u8]) -> bool {
    let end = line.iter().position(|&b| b == b'#').unwrap_or(line.len());
    words(&line[..end]).enumerate().all(|(i, word)| is_pair(word) || (i == 0 && is_labels(word)))
}

fn starts_like_libsvm(line: &[u8]) -> bool {
    let mut start = words(line).take(2);
    let (first, second) = (start.next(), start.next());
    first.is_some_and(is_pair) || (first.is_some_and(is_labels) && second.is_some_and(is_pair))
}

fn is_pair(word: &[u8]) -> bool {
    let colon = word.iter().position(|&b| b == b':');
    // Any digits: that the number is too large for an index, or negative, is for the reader to say.
    let is_index = |index: &[u8]| {
        let digits = index.strip_prefix(b"-").unwrap_or(index);
        index == b"qid" || !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    colon.is_some_and(|c| is_index(&word[..c]))
}

fn is_labels(word: &[u8]) -> bool {
    word.split(|&b| b == b',').all(|l| parse_number(l).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        let cases: [(&[u8], Format); 20] = [
            (b"@relation x\n", Format::Arff),
            (b"\xef\xbb\xbf% c\n\n  @RELATION x\n", Format::Arff),
            (b"% only the start of a long comment", Format::Arff),
            (b"a,b,c\n1,2,3\n", Format::Csv),
            (b"a\tb\n1\t2\n", Format::Csv),
            (b"label:x,b\n1,2\n", Format::Csv),
            (b"time:of day,b\n1,2\n", Format::Csv),
            (b"1,2 1:0.5 3:1\n2 2:1\n", Format::Libsvm),
            (b"# remark\n+1 1:1\n", Format::Libsvm),
            (b"1\n2 1:4\n", Format::Libsvm),
            (b"10 20 30\n0 1:1\n", Format::Libsvm),
            (b" 1:0.5\n1 2:1\n", Format::Libsvm),
            (b"1,5 1:0.25 2:0.5", Format::Libsvm),
            (b"1,2,3\n4,5,6\n", Format::Csv),
            (b"1 18446744073709551615:1\n", Format::Libsvm),
            (b"1 1:1\n2 99999999999999999999999:1\n", Format::Libsvm),
            (b"1 -1:1\n2 1:1\n", Format::Libsvm),
            (b"1 qid:3 1:1\n", Format::Libsvm),
            (b"{a},[b]\n1,2\n", Format::Csv),
            (b"# made: today\n1,2,3\n4,5,6\n", Format::Csv),
        ];
        for (head, format) in cases {
            assert_eq!(sniff(head).unwrap(), format, "{}", String::from_utf8_lossy(head));
        }
        let mut mat = b"MATLAB 5.0 MAT-file".to_vec();
        mat.resize(128, b' ');
        mat[126..].copy_from_slice(b"IM");
        assert_eq!(sniff(&mat).unwrap(), Format::Mat);
    }

    #[test]
    fn foreign_files_are_explained() {
        let mut hdf = b"MATLAB 7.3 MAT-file".to_vec();
        assert!(sniff(&hdf).unwrap_err().to_string().contains("-v7"));
        hdf = vec![b' '; 512];
        hdf.extend(b"\x89HDF\r\n\x1a\n");
        assert!(sniff(&hdf).unwrap_err().to_string().contains("HDF5"));
        for (head, found) in [
            (&b""[..], "an empty file"),
            (b"  \n", "only blanks"),
            (b"<html>", "an XML or HTML file"),
            (b"PK\x03\x04", "a zip archive"),
            (b"ab\0cd", "binary data"),
            (b"a\0,\0b\0\n\0x\0,\0y\0", "UTF-16 text"),
            (b"\0a\0,\0b\0\n\0x\0,\0y", "UTF-16 text"),
            (b" [ {\"a\": 1}]", "a JSON file"),
            (b"{\n\"a\": [1]}", "a JSON file"),
            (b"%PDF-1.4\n", "a PDF file"),
            (b"\x28\xb5\x2f\xfd\x04", "a Zstandard file"),
        ] {
            let e = sniff(head).unwrap_err().to_string();
            assert!(e.contains(&format!("found {found}")), "{e}");
        }
    }
}
