//! Whether there is memory enough, before any work.

use std::fs;

use crate::{Error, Remedy, Result};

/// Refuses work that takes more bytes than `allowed`; None allows what the machine has to give.
pub fn check(needed: u64, allowed: Option<u64>) -> Result<()> {
    let (limit, whose) = match allowed {
        Some(limit) => (limit, "are allowed"),
        None => (available().unwrap_or(u64::MAX), "are available"),
    };
    if needed <= limit {
        return Ok(());
    }
    Err(Error::input(format!(
        "the computation would take about {} of memory, {} {whose}",
        in_words(needed),
        in_words(limit)
    ))
    .hint("leave out rows or features, or allow more, at the risk of being killed by the system")
    .remedy(Remedy::MemoryLimit))
}

/// Bytes that this process may still take, by all limits that are known.
fn available() -> Option<u64> {
    let text = |file| fs::read_to_string(file).unwrap_or_default();
    let number = |file| text(file).trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|max| max.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    let found = [system(&text("/proc/meminfo")), address_space(&text("/proc/self/limits")), group];
    found.into_iter().flatten().min()
}

/// What the system can give, from `/proc/meminfo`.
fn system(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What `ulimit -v` allows, from `/proc/self/limits`.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes with a unit.
pub fn in_words(bytes: u64) -> String {
    let mib = bytes as f64 / (1 << 20) as f64;
    match mib < 1024.0 {
        true => format!("{mib:.0} MiB"),
        false => format!("{:.1} GiB", mib / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        assert_eq!(system("MemFree: 7 kB\nMemAvailable:   12 kB\n"), Some(12 << 10));
        assert_eq!(system("MemFree: 7 kB\n"), None);
        let limits = |v: &str| format!("Max cpu time  1 2 s\nMax address space   {v}  3 bytes\n");
        assert_eq!(address_space(&limits("4096")), Some(4096));
        assert_eq!(address_space(&limits("unlimited")), None);
        if cfg!(target_os = "linux") {
            assert!(available().is_some());
        }
    }

    #[test]
    fn too_much_is_refused_with_the_figures() {
        check(1 << 30, Some(1 << 30)).unwrap();
        let e = check(3 << 30, Some(1 << 29)).unwrap_err();
        assert!(e.to_string().contains("take about 3.0 GiB of memory, 512 MiB are allowed"), "{e}");
        assert!(check(u64::MAX, None).is_err() || available().is_none());
    }
}
