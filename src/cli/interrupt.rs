//! Ctrl-C and polite kills. The first one asks for a stop after the current step, so that all that is
//! done can be kept; the second one stops at once.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::{Error, ErrorKind, Result};

/// The signal that asked for a stop; 0 is none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// From now on a signal asks for a stop instead of ending the program. For commands that ask
/// [`requested`] every now and then.
#[cfg(unix)]
pub fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // What was switched off for us stays so: by nohup, or by a shell for jobs in the background.
    let ignored = ignored();
    let heard = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|s| ignored >> (s - 1) & 1 == 0);
    // Without a listener a signal ends the program, as ever.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(heard) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if SIGNAL.swap(signal, Ordering::SeqCst) != 0 {
                std::process::exit(128 + signal);
            }
            super::output::note("stopping after this step (Ctrl-C again: at once)");
        }
    });
}

#[cfg(not(unix))]
pub fn listen() {}

/// The set of signals that are ignored, where it can be known.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0)
}

/// Whether the user asked for a stop.
pub fn requested() -> bool {
    SIGNAL.load(Ordering::SeqCst) != 0
}

/// What the shell expects of a program that was stopped.
pub fn exit_code() -> u8 {
    128 + SIGNAL.load(Ordering::SeqCst) as u8
}

/// Tells who stopped a computation where it stood, what is kept, and how to go on; other errors pass.
pub fn explain<T>(done: Result<T>, where_it_stood: &str, how_to_go_on: &str) -> Result<T> {
    done.map_err(|e| match e.kind() {
        ErrorKind::Cancelled => Error::cancelled().about(where_it_stood).hint(how_to_go_on),
        _ => e,
    })
}

/// This command line once more, with `flag`, for the shell.
pub fn again(flag: &str) -> String {
    let mut words: Vec<String> =
        std::env::args_os().map(|a| quoted(&a.to_string_lossy())).collect();
    if !words.iter().any(|w| w == flag) {
        words.push(flag.to_owned());
    }
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_shell() {
        assert_eq!(quoted("--budget=10%"), "--budget=10%");
        assert_eq!(quoted("my file's"), "'my file'\\''s'");
        assert_eq!(quoted(""), "''");
        assert!(again("--resume").ends_with(" --resume"));
    }

    #[test]
    fn only_stops_are_explained() {
        let e = explain::<()>(Err(Error::cancelled()), "epoch 3", "go on").unwrap_err();
        assert_eq!(e.to_string(), "epoch 3: stopped on request\n  hint: go on");
        let e = explain::<()>(Err(Error::input("bad")), "epoch 3", "go on").unwrap_err();
        assert_eq!(e.to_string(), "bad");
    }
}
