//! What every command is given: seed, verbosity, and where results go.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Global, output};
use crate::rng::Streams;
use crate::{Error, Result, io};

/// The global options, checked and ready.
pub struct Context {
    /// Root of all random streams.
    pub streams: Streams,
    /// No progress.
    pub quiet: bool,
    json: Option<Json>,
}

enum Json {
    Stdout,
    File(PathBuf),
}

impl Context {
    /// Sets up the thread pool and makes sure that the result can be written before any work.
    ///
    /// This thread is one of the pool's. Otherwise it would hand over each parallel piece of a training
    /// step, sleep, and be woken after it; at a millisecond a step the system then often leaves two
    /// threads on one core (docs/performance.md).
    pub(super) fn new(global: &Global) -> Result<Self> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(global.threads.map_or(0, usize::from))
            .use_current_thread()
            .build_global()
            .map_err(|e| Error::config(format!("cannot start the threads: {e}")))?;
        let json = match global.json.as_deref() {
            None => None,
            Some("-") => Some(Json::Stdout),
            Some(path) => {
                io::check_writable(Path::new(path))?;
                Some(Json::File(PathBuf::from(path)))
            }
        };
        Ok(Context { streams: Streams::new(global.seed), quiet: global.quiet, json })
    }

    /// Text for people: on stdout, unless stdout carries the JSON.
    pub fn say(&self, text: impl std::fmt::Display) {
        if !matches!(self.json, Some(Json::Stdout)) {
            output::print(format!("{text}\n").as_bytes());
        }
    }

    /// A remark about the progress, on stderr.
    pub fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            output::note(text);
        }
    }

    /// Writes the machine-readable result, if one was asked for.
    pub fn emit(&self, result: &impl Serialize) -> Result<()> {
        let Some(json) = &self.json else {
            return Ok(());
        };
        let text = io::pretty_json(result)?;
        match json {
            Json::Stdout => {
                output::print(text.as_bytes());
                Ok(())
            }
            Json::File(path) => io::write_atomic(path, text.as_bytes()),
        }
    }
}
