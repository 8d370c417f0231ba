//! Who holds a lock, and whether that process still runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use std::{env, fmt, fs, process};

use serde::{Deserialize, Serialize};

/// Characters of a command line that are kept.
const COMMAND_LENGTH: usize = 160;

/// A process, told apart from every other one: also from those of other hosts, of other containers,
/// and of the same number at another time. What is not known is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Holder {
    /// Different for every lock that is taken.
    pub id: String,
    pub host: String,
    machine: String,
    boot: String,
    namespace: String,
    pub process: u32,
    /// When the process began, in the system's own words.
    started: String,
    /// When the lock was taken, in seconds since 1970.
    since: u64,
    command: String,
}

impl Holder {
    /// This process, now.
    pub fn this() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let process = process::id();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let command: Vec<String> =
            env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
        Holder {
            id: format!("{process:x}-{:x}-{count:x}", now.as_nanos()),
            host: host(),
            machine: word_of("/etc/machine-id"),
            boot: word_of("/proc/sys/kernel/random/boot_id"),
            namespace: namespace.to_string_lossy().into_owned(),
            process,
            started: start(process).unwrap_or_default().unwrap_or_default(),
            since: now.as_secs(),
            command: command.join(" ").chars().take(COMMAND_LENGTH).collect(),
        }
    }

    /// True only if this process certainly does not run any more. Of other hosts nothing is known.
    pub fn is_gone(&self) -> bool {
        let here = Holder::this();
        if self.host != here.host {
            return false;
        }
        if self.boot != here.boot {
            // Two machines may have one name; one machine is booted one at a time.
            return !self.machine.is_empty() && self.machine == here.machine;
        }
        let knows = self.namespace == here.namespace && !self.started.is_empty();
        knows && start(self.process).is_some_and(|now| now.as_ref() != Some(&self.started))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(self.since);
        let seconds = since.elapsed().unwrap_or_default().as_secs();
        let (age, unit) = match seconds {
            0..120 => (seconds, "s"),
            120..7200 => (seconds / 60, "min"),
            7200..172_800 => (seconds / 3600, "h"),
            _ => (seconds / 86_400, "days"),
        };
        let plain = |text: &str| text.replace(|c: char| c.is_control(), "?");
        let (host, command) = (plain(&self.host), plain(&self.command));
        write!(f, "process {} on {host}, since {age} {unit} ({command})", self.process)
    }
}

/// When a process began, in words that differ for a later process of the same number; Some(None)
/// when there is no such process, None when that cannot be known.
fn start(process: u32) -> Option<Option<String>> {
    // Where others' processes are hidden, absence means nothing.
    if fs::read("/proc/1/stat").is_ok() {
        let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else {
            return Some(None);
        };
        // The name, in brackets, may hold anything; the state follows, and field 22 is the start.
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
        let ended = matches!(fields.first(), Some(&("Z" | "X")));
        return Some(fields.get(19).filter(|_| !ended).map(|&ticks| ticks.to_owned()));
    }
    if !cfg!(unix) {
        return None;
    }
    let (number, own) = (process.to_string(), process::id().to_string());
    let begun = |number: &str| answer("ps", &["-o", "lstart=", "-p", number]);
    // A program that does not even find us is not to be believed.
    begun(&own).map(|_| begun(&number))
}

fn host() -> String {
    match word_of("/proc/sys/kernel/hostname") {
        name if name.is_empty() => {
            answer("uname", &["-n"]).or_else(|| env::var("COMPUTERNAME").ok()).unwrap_or_default()
        }
        name => name,
    }
}

fn word_of(file: &str) -> String {
    fs::read_to_string(file).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// What a program prints, if it succeeds and prints anything.
fn answer(program: &str, args: &[&str]) -> Option<String> {
    let output = process::Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certain_deaths_count() {
        let this = Holder::this();
        assert!(!this.is_gone());
        assert_ne!(this.id, Holder::this().id);
        if this.started.is_empty() {
            return; // a system on which nothing can be known
        }
        let with = |change: fn(&mut Holder)| {
            let mut holder = this.clone();
            change(&mut holder);
            holder.is_gone()
        };
        assert!(with(|h| h.process = u32::MAX / 2), "no such process");
        assert!(with(|h| h.started += "1"), "the number was given again");
        assert!(
            !with(|h| {
                h.process = u32::MAX / 2;
                h.host += "2"
            }),
            "another host"
        );
        assert!(
            !with(|h| {
                h.process = u32::MAX / 2;
                h.namespace += "2"
            }),
            "another container"
        );
        assert!(
            !with(|h| {
                h.process = u32::MAX / 2;
                h.started.clear()
            }),
            "unknown"
        );
        assert!(
            with(|h| {
                h.boot += "2";
                h.machine = "m".into()
            }) == (this.machine == "m")
        );
        assert!(
            !with(|h| {
                h.boot += "2";
                h.machine.clear()
            }),
            "another machine of this name?"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_child_lives_and_dies() {
        let mut child = process::Command::new("sleep").arg("60").spawn().unwrap();
        let begun = start(child.id()).unwrap();
        assert!(begun.is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_ne!(start(child.id()).unwrap(), begun);
    }

    #[test]
    fn says_who_since_when_and_what() {
        let mut holder = Holder::this();
        (holder.process, holder.host, holder.command) = (7, "h".into(), "a \u{1b}[31m b".into());
        assert_eq!(holder.to_string(), "process 7 on h, since 0 s (a ?[31m b)");
        holder.since -= 4000;
        assert!(holder.to_string().contains("since 66 min"));
    }
}
