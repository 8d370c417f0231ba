//! How fast files are read: the bundled Mediamill set in every text format.

use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use pomdp_fs::data::{ReadOptions, load, save};

fn loading(c: &mut Criterion) {
    let options = ReadOptions::default();
    let arff = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mediamill-first15.arff");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let set = load(&arff, &options).expect("the bundled set");
    let mut group = c.benchmark_group("load mediamill-first15");
    group.sample_size(20);
    group.bench_function("arff", |b| b.iter(|| load(&arff, &options)));
    for extension in ["csv", "svm"] {
        let path = dir.path().join("set").with_extension(extension);
        save(&set, &path, None).expect("a file in the temporary folder");
        group.bench_function(extension, |b| b.iter(|| load(&path, &options)));
    }
    group.finish();
}

criterion_group!(benches, loading);
criterion_main!(benches);
