//! Folds: which instances are tested when. Shuffled k-fold, and iterative stratification, which
//! keeps the share of every label in every fold (Sechidis, Tsoumakas, Vlahavas, ECML PKDD 2011).

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Labels;
use super::choice::choice;
use crate::rng::{Rng, Streams};
use crate::{Error, Result, io};

/// A way to make folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Splitter {
    /// Shuffle, then cut into k parts whose sizes differ by at most one.
    KFold,
    /// Rarest label first, each instance to the fold that misses it most.
    Stratified,
}

choice!(Splitter { KFold => "k-fold", Stratified => "stratified" });

/// A partition of the instances into test sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    /// Fold of each instance.
    fold: Vec<usize>,
    k: usize,
}

impl Folds {
    /// Splits instances with these labels into `k` folds.
    pub fn new(labels: &Labels, k: usize, splitter: Splitter, streams: &Streams) -> Result<Self> {
        let n = labels.rows();
        if k < 2 || k > n {
            return Err(Error::config(format!(
                "found {k} folds, expected 2 to {n}, the number of instances"
            )));
        }
        let mut rng = streams.stream(&format!("split/{}", splitter.name()));
        let fold = match splitter {
            Splitter::KFold => {
                let mut fold = vec![0; n];
                for (position, i) in rng.permutation(n).into_iter().enumerate() {
                    fold[i] = position % k;
                }
                fold
            }
            Splitter::Stratified => stratify(labels, k, &mut rng),
        };
        Ok(Folds { fold, k })
    }

    /// Number of folds.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Number of instances.
    pub fn n(&self) -> usize {
        self.fold.len()
    }

    /// Instances that are tested in fold `f`, ascending.
    pub fn test(&self, f: usize) -> Vec<usize> {
        (0..self.fold.len()).filter(|&i| self.fold[i] == f).collect()
    }

    /// Instances that train in fold `f`, ascending.
    pub fn train(&self, f: usize) -> Vec<usize> {
        (0..self.fold.len()).filter(|&i| self.fold[i] != f).collect()
    }
}

/// Algorithm 1 of the paper: while labels are left, take the one with the fewest instances left and
/// give each of them to the fold that still wants most of that label; ties go to the fold that wants
/// most instances, further ties to chance. Instances without labels fill up the folds at the end.
fn stratify(labels: &Labels, k: usize, rng: &mut Rng) -> Vec<usize> {
    const OPEN: usize = usize::MAX;
    let n = labels.rows();
    let order = rng.permutation(n);
    let mut fold = vec![OPEN; n];
    let mut wants = vec![n as f64 / k as f64; k];
    let mut left = labels.count_by_label();
    let mut wants_label: Vec<Vec<f64>> =
        left.iter().map(|&c| vec![c as f64 / k as f64; k]).collect();
    let give =
        |i: usize, f: usize, wants: &mut [f64], by_label: &mut [Vec<f64>], left: &mut [usize]| {
            wants[f] -= 1.0;
            for j in (0..labels.cols()).filter(|&j| labels.get(i, j)) {
                by_label[j][f] -= 1.0;
                left[j] -= 1;
            }
        };
    let rarest = |left: &[usize]| (0..left.len()).filter(|&j| left[j] > 0).min_by_key(|&j| left[j]);
    while let Some(label) = rarest(&left) {
        for &i in order.iter().filter(|&&i| labels.get(i, label)) {
            if fold[i] == OPEN {
                let f = neediest(&wants_label[label], &wants, rng);
                fold[i] = f;
                give(i, f, &mut wants, &mut wants_label, &mut left);
            }
        }
    }
    for &i in &order {
        if fold[i] == OPEN {
            let f = neediest(&wants, &wants, rng);
            fold[i] = f;
            give(i, f, &mut wants, &mut wants_label, &mut left);
        }
    }
    fold
}

/// The fold with the largest `first`, then the largest `second`, then any.
fn neediest(first: &[f64], second: &[f64], rng: &mut Rng) -> usize {
    let better =
        |a: usize, b: usize| first[a].total_cmp(&first[b]).then(second[a].total_cmp(&second[b]));
    let best = (0..first.len()).max_by(|&a, &b| better(a, b)).unwrap_or(0);
    let ties: Vec<usize> = (0..first.len()).filter(|&f| better(f, best).is_eq()).collect();
    ties[if ties.len() > 1 { rng.below(ties.len()) } else { 0 }]
}

/// The file form of folds: test instances of each fold, counted from 0.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FoldsFile {
    format: String,
    splitter: Option<Splitter>,
    seed: Option<u64>,
    instances: usize,
    test: Vec<Vec<usize>>,
}

const FORMAT: &str = "pomdp-fs split 1";

/// Writes the folds as JSON, so that any tool can use the very same ones.
pub fn write(path: &Path, folds: &Folds, made: Option<(Splitter, u64)>) -> Result<()> {
    let file = FoldsFile {
        format: FORMAT.to_owned(),
        splitter: made.map(|m| m.0),
        seed: made.map(|m| m.1),
        instances: folds.n(),
        test: (0..folds.k()).map(|f| folds.test(f)).collect(),
    };
    io::write_json(path, &file)
}

/// Reads what [`write()`] wrote, or what another tool wrote in the same form.
pub fn read(path: &Path, n: usize) -> Result<Folds> {
    let file: FoldsFile = io::read_json(path)?;
    let fail = |message: String| Err(Error::input(message).in_file(path));
    if file.format != FORMAT {
        return fail(format!("found the format '{}', expected '{FORMAT}'", file.format));
    }
    if file.instances != n {
        return fail(format!(
            "the folds are for {} instances, the data set has {n}",
            file.instances
        ));
    }
    let k = file.test.len();
    let mut fold = vec![usize::MAX; n];
    for (f, test) in file.test.iter().enumerate() {
        for &i in test {
            if i >= n || fold[i] != usize::MAX {
                return fail(format!("fold {f}: instance {i} is out of range or in two folds"));
            }
            fold[i] = f;
        }
    }
    if let Some(i) = fold.iter().position(|&f| f == usize::MAX) {
        return fail(format!("instance {i} is in no fold"));
    }
    if k < 2 || file.test.iter().any(Vec::is_empty) {
        return fail("found fewer than two folds or an empty one".to_owned());
    }
    Ok(Folds { fold, k })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(n: usize) -> Labels {
        Labels::from_fn(n, 4, |i, j| match j {
            0 => i % 2 == 0,
            1 => i % 7 == 3,
            2 => i % 20 == 0,
            _ => i == 5,
        })
    }

    #[test]
    fn every_instance_is_tested_once() {
        for splitter in Splitter::ALL {
            let folds = Folds::new(&labels(103), 5, splitter, &Streams::new(1)).unwrap();
            let mut all: Vec<usize> = (0..5).flat_map(|f| folds.test(f)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..103).collect::<Vec<_>>());
            for f in 0..5 {
                assert_eq!(folds.train(f).len() + folds.test(f).len(), 103);
                assert!((18..=24).contains(&folds.test(f).len()), "{splitter:?}");
            }
            assert_eq!(folds, Folds::new(&labels(103), 5, splitter, &Streams::new(1)).unwrap());
            assert_ne!(folds, Folds::new(&labels(103), 5, splitter, &Streams::new(2)).unwrap());
        }
        assert!(Folds::new(&labels(3), 4, Splitter::KFold, &Streams::new(0)).is_err());
        assert!(Folds::new(&labels(3), 1, Splitter::KFold, &Streams::new(0)).is_err());
    }

    #[test]
    fn stratification_keeps_the_share_of_rare_labels() {
        let y = labels(200);
        let folds = Folds::new(&y, 5, Splitter::Stratified, &Streams::new(4)).unwrap();
        for f in 0..5 {
            let counts = y.select_rows(&folds.test(f)).count_by_label();
            assert_eq!(counts[2], 2, "label of 10 instances, fold {f}");
            assert!((5..=6).contains(&counts[1]), "label of 28 instances: {}", counts[1]);
            assert!((19..=21).contains(&counts[0]), "label of 100 instances: {}", counts[0]);
        }
    }

    #[test]
    fn files_give_back_the_same_folds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("split.json");
        let folds = Folds::new(&labels(40), 4, Splitter::Stratified, &Streams::new(2)).unwrap();
        write(&path, &folds, Some((Splitter::Stratified, 2))).unwrap();
        assert_eq!(read(&path, 40).unwrap(), folds);
        assert!(read(&path, 41).is_err());
        for bad in [
            r#"{"format":"other","splitter":null,"seed":null,"instances":2,"test":[[0],[1]]}"#,
            r#"{"format":"pomdp-fs split 1","splitter":null,"seed":null,"instances":2,"test":[[0],[0]]}"#,
            r#"{"format":"pomdp-fs split 1","splitter":null,"seed":null,"instances":2,"test":[[0]]}"#,
            r#"{"format":"pomdp-fs split 1","splitter":null,"seed":null,"instances":2,"test":[[0,1]]}"#,
            r#"{"format":"pomdp-fs split 1","instances":2,"test":[[0],[2]]}"#,
            "not json",
        ] {
            std::fs::write(&path, bad).unwrap();
            assert!(read(&path, 2).is_err(), "{bad}");
        }
        std::fs::write(&path, r#"{"format":"pomdp-fs split 1","instances":2,"test":[[1],[0]]}"#)
            .unwrap();
        assert_eq!(read(&path, 2).unwrap().test(0), [1]);
    }

    proptest! {
        #[test]
        fn folds_partition_any_labels(n in 2usize..60, l in 0usize..6, k in 2usize..8, seed in any::<u64>()) {
            prop_assume!(k <= n);
            let mut rng = Streams::new(seed).stream("labels");
            let y = Labels::from_fn(n, l, |_, _| rng.bernoulli(0.3));
            for splitter in Splitter::ALL {
                let folds = Folds::new(&y, k, splitter, &Streams::new(seed)).unwrap();
                let total: usize = (0..k).map(|f| folds.test(f).len()).sum();
                prop_assert_eq!(total, n);
            }
        }
    }
}
