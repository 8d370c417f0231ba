//! The only place that prints. Lost output is an error at the end, except when the reader closed the
//! pipe (`| head`): that is its decision, and the work goes on.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::sync::Mutex;

use crate::{Error, Result};

/// Why stdout takes nothing any more.
static FAILURE: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Prints to stdout; [`finish`] says whether it got there.
pub fn print(bytes: &[u8]) {
    let mut failure = FAILURE.lock().expect("no thread panics while it holds the lock");
    if failure.is_none() {
        *failure = stdout().write_all(bytes).err();
    }
}

/// A line on stderr. There is nobody to tell that it could not be written.
pub fn note(text: impl Display) {
    let _ = writeln!(stderr(), "{text}");
}

/// Whether all that was printed got out.
pub fn finish() -> Result<()> {
    let mut failure = FAILURE.lock().expect("no thread panics while it holds the lock");
    match failure.take().or_else(|| stdout().flush().err()) {
        Some(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::refused("write all of the output", &e))
        }
        _ => Ok(()),
    }
}
