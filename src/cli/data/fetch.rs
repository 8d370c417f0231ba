//! `data fetch`: download sets of the catalog from their pinned addresses.

use clap::Args;
use serde::Serialize;

use crate::cli::Context;
use crate::cli::input::Place;
use crate::data::catalog;
use crate::{Error, Result};

/// Download data sets of the catalog (with the system's curl), checked before they are kept
#[derive(Args)]
#[command(after_help = "Example: pomdp-fs data fetch birds chess --data-dir ~/multilabel")]
pub struct Fetch {
    /// Sets to get
    #[arg(required = true)]
    sets: Vec<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Serialize)]
struct Fetched {
    name: String,
    files: Vec<String>,
}

impl Fetch {
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        let folders = self.place.folders();
        let folder = folders.first().ok_or_else(|| {
            Error::config("nothing says where to put the files")
                .hint("give --data-dir DIR, or set the variable POMDP_FS_DATA")
        })?;
        let entries: Vec<_> = self.sets.iter().map(|s| catalog::find(s)).collect::<Result<_>>()?;
        let mut result = Vec::new();
        for entry in &entries {
            let files = catalog::fetch(entry, folder, |text| context.note(text))?;
            let files = files.iter().map(|f| f.display().to_string());
            result.push(Fetched { name: entry.name.clone(), files: files.collect() });
            context.say(format!(
                "{}: all files are here and right. Cite: {}",
                entry.name, entry.citation
            ));
        }
        context.emit(&result)?;
        Ok(true)
    }
}
