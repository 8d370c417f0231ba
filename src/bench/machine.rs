//! The machine: its name, caches and vector units, its peak and its memory bandwidth.

use std::hint::black_box;

use serde::{Deserialize, Serialize};

use super::timing::{Kind, Work};
use crate::num::{Class, Fusing, class, fusing, multiply_adds, vectorize};

/// Facts that explain a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Operating system and architecture.
    pub platform: String,
    /// Cores that the program may use.
    pub cores: usize,
    /// Main memory in MiB, where the system tells it.
    pub memory_mib: Option<u64>,
    /// Caches of the first core, as the system names them.
    pub caches: Vec<String>,
    /// Vector unit that the code uses.
    pub vector_unit: String,
    /// Whether products and sums are fused: the one property that results depend on.
    pub fused: bool,
    /// Version of the program.
    pub version: String,
}

/// Peak of one core.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Peak {
    /// Vector unit.
    pub unit: String,
    /// Multiply-adds count twice.
    pub gflops: f64,
}

/// Triad a = b + s·c, 12 bytes an entry, working sets that fit each level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bandwidth {
    /// 24 KiB.
    pub l1: f64,
    /// 384 KiB.
    pub l2: f64,
    /// 6 MiB.
    pub l3: f64,
    /// 192 MiB.
    pub dram: f64,
}

/// Vector units of this machine, the widest last.
pub fn units() -> Vec<Class> {
    let all = [Class::Portable, Class::Avx2, Class::Avx512];
    let widest = all.iter().position(|&u| u == class()).unwrap_or(0);
    all[..=widest].to_vec()
}

/// Name of a vector unit in reports.
pub fn unit_name(unit: Class) -> String {
    match unit {
        Class::Portable => "portable",
        Class::Avx2 => "avx2+fma",
        Class::Avx512 => "avx512",
    }
    .to_owned()
}

/// Multiply-adds in registers, on one core or on all threads at once.
pub fn peak_work(unit: Class, all_threads: bool) -> Work {
    const ROUNDS: usize = 20_000;
    /// Runs of each thread, so that starting them costs nothing beside the work.
    const TOGETHER: usize = 64;
    let threads = if all_threads { rayon::current_num_threads() } else { 1 };
    let (operations, _) = multiply_adds(unit, 1).expect("a unit of this machine");
    let run = move || {
        black_box(multiply_adds(unit, black_box(ROUNDS)));
    };
    let on_all = move || {
        rayon::broadcast(|_| (0..TOGETHER).for_each(|_| run()));
    };
    let repeats = if all_threads { TOGETHER } else { 1 };
    Work {
        id: format!("peak/{}{}", unit_name(unit), if all_threads { "/threads" } else { "" }),
        kind: Kind::Other { unit: "flop" },
        amount: operations * (ROUNDS * threads * repeats) as f64,
        run: if all_threads { Box::new(on_all) } else { Box::new(run) },
    }
}

/// The triad at four sizes.
pub fn bandwidth_works() -> Vec<Work> {
    [("l1", 2 << 10), ("l2", 32 << 10), ("l3", 512 << 10), ("dram", 16 << 20)]
        .into_iter()
        .map(|(level, entries)| {
            let (mut a, b, c) = (vec![0.0f32; entries], vec![1.0f32; entries], vec![2.0; entries]);
            let repeats = ((1 << 16) / entries).max(1);
            Work {
                id: format!("triad/{level}"),
                kind: Kind::Other { unit: "bytes" },
                amount: (12 * entries * repeats) as f64,
                run: Box::new(move || {
                    for _ in 0..repeats {
                        triad(&mut a, black_box(&b), &c);
                    }
                    black_box(&a);
                }),
            }
        })
        .collect()
}

fn triad(a: &mut [f32], b: &[f32], c: &[f32]) {
    vectorize(
        #[inline(always)]
        || {
            for ((a, &b), &c) in a.iter_mut().zip(b).zip(c) {
                *a = c.mul_add(0.5, b);
            }
        },
    );
}

/// The processor's name, where the system tells it.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    field(&info, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Facts of the running machine.
pub fn facts() -> Facts {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = field(&memory, "MemTotal").and_then(|v| v.split(' ').next()?.parse::<u64>().ok());
    Facts {
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_mib: kib.map(|k| k >> 10),
        caches: (0..5).filter_map(cache).collect(),
        vector_unit: unit_name(class()),
        fused: fusing() == Fusing::Fused,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The value behind "name : value" in a file of the system.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|l| l.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// "L1 Data 48K" of cache `index` of the first core.
fn cache(index: usize) -> Option<String> {
    let read = |name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        std::fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
    };
    Some(format!("L{} {} {}", read("level")?, read("type")?, read("size")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        let text = "processor\t: 0\nmodel name\t: Some CPU: fast\nMemTotal:  24 kB\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Some CPU: fast"));
        assert_eq!(field(text, "MemTotal").as_deref(), Some("24 kB"));
        assert_eq!(field(text, "flags"), None);
    }

    #[test]
    fn the_widest_unit_comes_last() {
        assert_eq!(units().last(), Some(&class()));
        assert_eq!(units()[0], Class::Portable);
    }
}
