//! `pomdp-fs completions` and `pomdp-fs man`: files for the shell and for `man`, made from the
//! definitions of the arguments.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use super::output;
use crate::{Error, Result, io};

/// Print the completions of a shell
#[derive(Args)]
#[command(after_help = "Example:\n  \
    pomdp-fs completions bash > ~/.local/share/bash-completion/completions/pomdp-fs")]
pub struct Completions {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

impl Completions {
    /// Prints them; true when it is done.
    pub fn run(&self, mut program: Command) -> Result<bool> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut program, "pomdp-fs", &mut text);
        output::print(&text);
        Ok(true)
    }
}

/// Print the manual page, or write one for each command
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs man --out ~/.local/share/man/man1")]
pub struct Man {
    /// Folder for the pages of all commands
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    /// Prints or writes; true when it is done.
    pub fn run(&self, mut program: Command) -> Result<bool> {
        // Building gives every command its full name and the global options.
        program.build();
        match &self.out {
            None => output::print(&page(&program)?),
            Some(dir) => {
                std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
                write_pages(&program, dir)?;
            }
        }
        Ok(true)
    }
}

/// A page for a command and for each below it: `pomdp-fs-data-info.1`.
fn write_pages(command: &Command, dir: &Path) -> Result<()> {
    let file = clap_mangen::Man::new(command.clone()).get_filename();
    io::write_atomic(&dir.join(file), &page(command)?)?;
    let mut below = command.get_subcommands().filter(|c| c.get_name() != "help");
    below.try_for_each(|c| write_pages(c, dir))
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let written = clap_mangen::Man::new(command.clone()).render(&mut text);
    written.map_err(|e| Error::numeric(format!("cannot write the manual page: {e}")))?;
    Ok(text)
}
