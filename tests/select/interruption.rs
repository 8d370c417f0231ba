//! Runs that are killed, and go on.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pomdp_fs::rng::Streams;

use super::{QUICK, contents, program, run, toy, write};

/// `select` with a checkpoint after every epoch, and enough epochs for kills to fall between them.
fn arguments<'a>(out: &'a str, seed: &'a str) -> Vec<&'a str> {
    let mut args = vec!["select", "toy.csv", "--out", out, "--seed", seed];
    args.extend(QUICK);
    args.extend(["--checkpoint-every", "0", "--set", "epochs1=60", "--set", "patience=60"]);
    args
}

fn start(dir: &Path, args: &[&str]) -> Child {
    program(dir, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn killed_at_ten_moments_the_result_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    write(&toy(300), dir.path(), "toy.csv");
    let begin = Instant::now();
    run(dir.path(), &arguments("whole", "0"));
    let whole_time = begin.elapsed();
    let whole = contents(&dir.path().join("whole"));
    let mut moments = Streams::new(4).stream("moments");
    let mut resumed = 0;
    for k in 0..10 {
        let out = format!("killed{k}");
        let args = arguments(&out, "0");
        let mut child = start(dir.path(), &args);
        std::thread::sleep(whole_time.mul_f64(moments.uniform()));
        child.kill().unwrap();
        child.wait().unwrap();
        let folder = dir.path().join(&out);
        if folder.exists() {
            assert!(contents(&folder) == whole, "a folder that is there is whole");
        }
        let output = program(dir.path(), &[&args[..], &["--resume"]].concat()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kill {k}: {message}");
        resumed += usize::from(message.contains("resuming after"));
        let again = contents(&folder);
        assert_eq!(again.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
        for (file, bytes) in &again {
            assert!(*bytes == whole[file], "kill {k}: {file} differs");
        }
        assert!(!dir.path().join(format!(".{out}.part")).exists());
    }
    eprintln!("{resumed} of 10 runs went on from a checkpoint; a whole run took {whole_time:?}");
    assert!(resumed > 0, "no kill came after a checkpoint");
}

/// Ctrl-C or a polite kill: an older result stays, and what is done of the new one can be continued.
/// The signal is SIGTERM, which ends a program as SIGINT does; shells switch SIGINT off for jobs in
/// the background, and the tests may be one.
#[cfg(unix)]
#[test]
fn stopped_by_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    write(&toy(300), dir.path(), "toy.csv");
    for (out, seed) in [("out", "0"), ("expected", "1")] {
        run(dir.path(), &arguments(out, seed));
    }
    let old = contents(&dir.path().join("out"));
    let args = arguments("out", "1");
    let mut child = start(dir.path(), &args);
    let checkpoint = dir.path().join(".out.part/progress");
    let patience = Instant::now();
    while !checkpoint.exists() && patience.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let kill = format!("kill -TERM {}", child.id()); // built into every shell
    let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(sent.success());
    assert!(!child.wait().unwrap().success(), "it was stopped");
    assert!(contents(&dir.path().join("out")) == old, "the older result is untouched");
    run(dir.path(), &[&args[..], &["--resume"]].concat());
    assert!(contents(&dir.path().join("out")) == contents(&dir.path().join("expected")));
}
