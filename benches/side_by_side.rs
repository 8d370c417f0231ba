//! The Rust side of the side-by-side speed measurements of `docs/evaluation.md`.
//!
//! `cargo bench --bench side_by_side -- svm|mlknn|metrics DIR REPEATS` reads `shape.txt` (n d L), `x.f64` (n × d) and
//! `y.u8` (n × L) from DIR, works on one thread, and prints a line `name seconds value` for each
//! piece of work; seconds are the best of the repeats, of processor time where the system tells it
//! (Linux), so that other work on the machine does not count. For `metrics`, d = L and X holds the
//! scores.

use std::path::Path;
use std::time::Instant;

use pomdp_fs::classify::mlknn::{MlKnn, Variant};
use pomdp_fs::classify::svm::{Costs, Design, LinearSvm, Loss};
use pomdp_fs::classify::{Model, Targets};
use pomdp_fs::data::Labels;
use pomdp_fs::linalg::Mat;
use pomdp_fs::measure::{self, Comparison, Convention, CoverageForm, Scores};
use pomdp_fs::rng::Streams;

fn main() {
    // `cargo bench` adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [work, dir, repeats] = &arguments[..] else {
        println!("nothing to do: expected svm|mlknn|metrics DIR REPEATS, as peers/speed.py gives");
        return;
    };
    let repeats = repeats.parse().expect("a number of repeats");
    let (x, y) = read(Path::new(dir));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| match work.as_str() {
        "svm" => svm(&x, &y, repeats),
        "mlknn" => mlknn(&x, &y, repeats),
        "metrics" => metrics(x, &y, repeats),
        other => panic!("unknown work {other}"),
    });
}

fn read(dir: &Path) -> (Mat<f64>, Labels) {
    let text = std::fs::read_to_string(dir.join("shape.txt")).expect("shape.txt");
    let shape: Vec<usize> = text.split_whitespace().map(|v| v.parse().expect("a size")).collect();
    let bytes = std::fs::read(dir.join("x.f64")).expect("x.f64");
    let number = |b: &[u8]| f64::from_le_bytes(b.try_into().expect("eight bytes"));
    let cells = std::fs::read(dir.join("y.u8")).expect("y.u8");
    (
        Mat::from_vec(shape[0], shape[1], bytes.chunks_exact(8).map(number).collect()),
        Labels::from_vec(shape[0], shape[2], cells.iter().map(|&c| c == 1).collect()),
    )
}

/// Seconds that this thread has been running, or that have passed.
fn clock(start: Instant) -> f64 {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = spent.and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |n| n / 1e9)
}

fn time(name: &str, repeats: usize, mut work: impl FnMut() -> f64) {
    let (mut fastest, mut value) = (f64::INFINITY, 0.0);
    let zero = Instant::now();
    for _ in 0..repeats {
        let (start, wall) = (clock(zero), Instant::now());
        value = work();
        let (spent, wall) = (clock(zero) - start, wall.elapsed().as_secs_f64());
        // The system counts in ticks: below a few of them only the wall clock is fine enough.
        fastest = fastest.min(if spent < 0.02 { wall } else { spent });
    }
    println!("{name} {fastest:.6} {value:.12}");
}

/// All labels, C = 1, solver chosen by `auto`, to a duality gap of 1e-6 of the objective.
fn svm(x: &Mat<f64>, y: &Labels, repeats: usize) {
    for (name, loss) in [("squared_hinge", Loss::Squared), ("hinge", Loss::Hinge)] {
        let svm = LinearSvm { loss, ..LinearSvm::default() };
        time(name, repeats, || {
            let rows = Design::new(x, svm.bias);
            let costs = Costs::new(Targets::Labels(y), svm.c);
            svm.solve(&rows, &costs, &Streams::new(0)).objective.iter().sum()
        });
    }
}

/// Fit on all rows, predict the first tenth.
fn mlknn(x: &Mat<f64>, y: &Labels, repeats: usize) {
    let some: Vec<usize> = (0..x.rows() / 10).collect();
    let new = x.select_rows(&some);
    for (name, variant) in
        [("published", Variant::Published), ("scikit-multilearn", Variant::ScikitMultilearn)]
    {
        let settings = MlKnn { variant, ..MlKnn::default() };
        time(name, repeats, || {
            let model = settings.learn(x, Targets::Labels(y)).expect("good data");
            model.predict(&new).expect("good data").labels.count() as f64
        });
    }
}

fn metrics(x: Mat<f64>, y: &Labels, repeats: usize) {
    let predictions = Labels::from_fn(x.rows(), x.cols(), |i, j| x[(i, j)] > 0.0);
    let scores = Scores::new(x);
    let case = Comparison::new(y, &scores, &predictions).expect("matching shapes");
    let s = Convention::ScikitLearn;
    time("label_ranking_loss", repeats, || measure::ranking_loss(&case, s));
    time("coverage_error", repeats, || measure::coverage(&case, s, CoverageForm::Native));
    time("label_ranking_average_precision_score", repeats, || measure::average_precision(&case, s));
    time("hamming_loss", repeats, || measure::hamming_loss(&case));
    time("f1_micro", repeats, || measure::micro_f1(&case, s));
    time("f1_macro", repeats, || measure::macro_f1(&case, s));
    time("f1_samples", repeats, || measure::example_f1(&case, s));
    time("accuracy_score", repeats, || measure::subset_accuracy(&case));
}
