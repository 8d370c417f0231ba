//! Linear SVM, nearest neighbours, ML-kNN and readers, on made data and on the embedded set.

use std::hint::black_box;

use super::engine::LABELS;
use super::timing::{Kind, Work};
use crate::Result;
use crate::classify::mlknn::MlKnn;
use crate::classify::svm::{Costs, Design, LinearSvm, Loss};
use crate::classify::{Model, Targets};
use crate::data::{Format, Labels, ReadOptions, catalog, encode, read_bytes};
use crate::linalg::Mat;
use crate::linalg::nearest::nearest_among;
use crate::rng::Streams;

/// n × d normal values of which a share is kept, and labels that depend on them and on noise.
fn problem(n: usize, d: usize, filled: f64) -> (Mat<f64>, Labels) {
    let mut rng = Streams::new(0).stream("evaluation");
    let x = Mat::from_fn(n, d, |_, _| if rng.bernoulli(filled) { rng.normal() } else { 0.0 });
    let noise = 0.5 * (filled * d as f64 / LABELS as f64).sqrt();
    let y = Labels::from_fn(n, LABELS, |i, j| {
        let sum: f64 = x.row(i).iter().skip(j).step_by(LABELS).sum();
        sum + noise * rng.normal() > 2.0 * noise
    });
    (x, y)
}

/// The works that are wanted.
pub fn works(wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Work>> {
    let mut works: Vec<Work> = Vec::new();
    let mut add = |id: String, unit: &'static str, amount: f64, run: Box<dyn FnMut() + Send>| {
        works.push(Work { id, kind: Kind::Other { unit }, amount, run });
    };
    for (name, n, d, filled) in [("dense", 2000, 200, 1.0), ("sparse", 2000, 1836, 0.04)] {
        let id = format!("svm/{name}-{n}x{d}");
        if wanted(&id) {
            let (x, y) = problem(n, d, filled);
            let svm = LinearSvm { loss: Loss::Squared, ..LinearSvm::default() };
            let run = move || {
                let rows = Design::new(&x, svm.bias);
                let costs = Costs::new(Targets::Labels(&y), svm.c);
                black_box(svm.solve(&rows, &costs, &Streams::new(0)));
            };
            add(id, "labels", LABELS as f64, Box::new(run));
        }
    }
    for (n, d) in [(2000, 200), (8000, 120)] {
        let id = format!("knn/{n}x{d}");
        if wanted(&id) {
            let x: Mat<f32> = problem(n, d, 1.0).0.cast();
            let run = move || {
                black_box(nearest_among(&x, 10, false));
            };
            add(id, "rows", n as f64, Box::new(run));
        }
    }
    let id = "mlknn/2000x200".to_owned();
    if wanted(&id) {
        let (x, y) = problem(2000, 200, 1.0);
        let new = x.select_rows(&(0..200).collect::<Vec<_>>());
        let run = move || {
            let model = MlKnn::default().learn(&x, Targets::Labels(&y));
            black_box(model.and_then(|m| m.predict(&new)).expect("good data"));
        };
        add(id, "rows", 2200.0, Box::new(run));
    }
    let options = ReadOptions::default();
    let (arff, xml) = catalog::embedded_files();
    for (id, format) in
        [("read/arff", None), ("read/csv", Some(Format::Csv)), ("read/svm", Some(Format::Libsvm))]
    {
        if !wanted(id) {
            continue;
        }
        let (bytes, xml) = match format {
            None => (arff.to_vec(), Some(xml)),
            Some(format) => {
                (encode(&read_bytes(arff, Some(xml), "yeast", &options)?, format)?, None)
            }
        };
        let (size, options) = (bytes.len() as f64, options.clone());
        let run = move || {
            black_box(read_bytes(&bytes, xml, "yeast", &options).expect("a good file"));
        };
        add(id.to_owned(), "bytes", size, Box::new(run));
    }
    Ok(works)
}
