//! The golden table of four conventions, scikit-learn on 1,000 random cases, and slow twins that
//! follow the definitions word by word.

use super::*;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::rng::{Rng, Streams};

/// Truth and scores given as digits, row after row; a label is predicted from 5 on.
fn sample(n: usize, labels: usize, truth: &str, digits: &str) -> (Labels, Scores, Labels) {
    let digits: Vec<u8> = digits.bytes().map(|b| b - b'0').collect();
    let truth = truth.bytes().map(|b| b == b'1').collect();
    let scores = digits.iter().map(|&d| f64::from(d) / 10.0).collect();
    (
        Labels::from_vec(n, labels, truth),
        Scores::new(Mat::from_vec(n, labels, scores)),
        Labels::from_vec(n, labels, digits.iter().map(|&d| d >= 5).collect()),
    )
}

fn golden() -> (Labels, Scores, Labels) {
    sample(5, 4, "10100100000011111100", "96514442321012347272")
}

fn close(got: f64, want: f64, what: &str) {
    assert!((got - want).abs() < 1e-6, "{what}: {got}, expected {want}");
}

#[test]
fn golden_table_in_four_conventions() {
    let (y, f, p) = golden();
    let compared = Comparison::new(&y, &f, &p).unwrap();
    // Ranking loss, coverage (native), average precision, one-error.
    let table = [
        [0.333333333, 2.8, 0.733333333, 0.4],
        [0.266666667, 1.8, 0.708333333, 0.6],
        [0.555555556, 1.6, 0.611111111, 0.0],
        [0.333333333, 0.333333333, 0.791666667, 0.4],
    ];
    for (convention, want) in Convention::ALL.into_iter().zip(table) {
        let name = convention.name();
        close(ranking_loss(&compared, convention), want[0], name);
        close(coverage(&compared, convention, CoverageForm::Native), want[1], name);
        close(average_precision(&compared, convention), want[2], name);
        close(one_error(&compared, convention), want[3], name);
        close(micro_f1(&compared, convention), 0.428571429, name);
        close(macro_f1(&compared, convention), 0.325, name);
    }
    close(hamming_loss(&compared), 0.4, "Hamming loss");
    let forms = [(2.8, 0.7, 0.45), (2.6, 0.65, 0.4)];
    for (convention, want) in [Convention::ScikitLearn, Convention::Matlab].into_iter().zip(forms) {
        let form = |form| coverage(&compared, convention, form);
        close(form(CoverageForm::Raw), want.0, "depth");
        close(form(CoverageForm::OverLabels), want.1, "depth / L");
        close(form(CoverageForm::MinusOneOverLabels), want.2, "(depth − 1) / L");
    }
}

#[test]
fn equal_to_scikit_learn_on_a_thousand_cases() {
    let text = include_str!("../../tests/golden/evaluation/metrics.csv");
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let mut seen = 0;
    for row in rows.records().map(|r| r.unwrap()) {
        let number = |k: usize| row[k].parse::<usize>().unwrap();
        let (y, f, p) = sample(number(0), number(1), &row[2], &row[3]);
        let compared = Comparison::new(&y, &f, &p).unwrap();
        let s = Convention::ScikitLearn;
        let got = [
            ranking_loss(&compared, s),
            coverage(&compared, s, CoverageForm::Native),
            average_precision(&compared, s),
            hamming_loss(&compared),
            micro_f1(&compared, s),
            macro_f1(&compared, s),
            example_f1(&compared, s),
            subset_accuracy(&compared),
        ];
        for (k, got) in got.into_iter().enumerate() {
            let want: f64 = row[4 + k].parse().unwrap();
            assert!((got - want).abs() < 1e-11, "{row:?} column {k}: {got}");
        }
        slow_twins_agree(&compared);
        seen += 1;
    }
    assert_eq!(seen, 1000);
}

/// Rows of more labels than the vector unit holds, with many ties.
#[test]
fn slow_twins_agree_on_wide_rows() {
    let mut r = Streams::new(5).stream("wide");
    for labels in 8..40 {
        let digits = |r: &mut Rng, base| -> String {
            (0..4 * labels).map(|_| char::from(b'0' + r.below(base) as u8)).collect()
        };
        let (y, f, p) = sample(4, labels, &digits(&mut r, 2), &digits(&mut r, 10));
        slow_twins_agree(&Comparison::new(&y, &f, &p).unwrap());
    }
}

/// Place of each label by counting, straight from the tie rule.
fn places(f: &[f64], ties: Ties) -> Vec<usize> {
    let place = |j: usize| {
        let better = |&k: &usize| {
            let tied = f[k] == f[j];
            f[k] > f[j]
                || match ties {
                    Ties::Worst => tied && k != j,
                    Ties::LowerFirst => tied && k < j,
                    Ties::HigherFirst => tied && k > j,
                }
        };
        1 + (0..f.len()).filter(better).count()
    };
    (0..f.len()).map(place).collect()
}

fn slow_twins_agree(compared: &Comparison<'_>) {
    for convention in Convention::ALL {
        let matlab = convention == Convention::Matlab;
        let (mut loss, mut precision, mut depth) = (Vec::new(), Vec::new(), Vec::new());
        for (y, f) in compared.rows() {
            let on: Vec<usize> = (0..y.len()).filter(|&j| y[j]).collect();
            let off: Vec<usize> = (0..y.len()).filter(|&j| !y[j]).collect();
            let place = places(f, convention.ties());
            let strict = places(f, Ties::HigherFirst);
            let mut wrong = 0;
            for &a in &on {
                for &b in &off {
                    wrong += usize::from(match convention {
                        Convention::Mulan => strict[a] > strict[b],
                        _ => f[a] <= f[b],
                    });
                }
            }
            let pairs = on.len() * off.len();
            if pairs > 0 || !matlab {
                loss.push(wrong as f64 / pairs.max(1) as f64);
            }
            let share = |&j: &usize| {
                on.iter().filter(|&&k| place[k] <= place[j]).count() as f64 / place[j] as f64
            };
            if pairs > 0 {
                precision.push(on.iter().map(share).sum::<f64>() / on.len() as f64);
            } else if convention == Convention::ScikitLearn || (!matlab && !on.is_empty()) {
                precision.push(1.0);
            }
            depth.push(on.iter().map(|&j| place[j]).max().unwrap_or(0) as f64);
        }
        let average = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let same = |a: f64, b: f64| (a - b).abs() < 1e-12 || (a.is_nan() && b.is_nan());
        assert!(same(ranking_loss(compared, convention), average(&loss)));
        assert!(same(average_precision(compared, convention), average(&precision)));
        assert!(same(coverage(compared, convention, CoverageForm::Raw), average(&depth)));
    }
}

#[test]
fn a_perfect_ranking_is_perfect_everywhere() {
    let (y, f, p) = sample(2, 3, "100110", "931971");
    let compared = Comparison::new(&y, &f, &p).unwrap();
    for convention in Convention::ALL {
        assert_eq!(ranking_loss(&compared, convention), 0.0);
        assert_eq!(average_precision(&compared, convention), 1.0);
        assert_eq!(one_error(&compared, convention), 0.0);
        assert_eq!(coverage(&compared, convention, CoverageForm::PerInstance), 0.0);
    }
}

#[test]
fn rows_without_pairs_and_nan_scores() {
    let (y, f, p) = sample(2, 2, "0011", "0000");
    let all = Comparison::new(&y, &f, &p).unwrap();
    assert!(ranking_loss(&all, Convention::Matlab).is_nan());
    assert_eq!(ranking_loss(&all, Convention::Mulan), 0.0);
    assert_eq!(average_precision(&all, Convention::Reference), 1.0);
    let (empty, ..) = sample(2, 2, "0000", "0000");
    let none = Comparison::new(&empty, &f, &p).unwrap();
    assert_eq!(micro_f1(&none, Convention::Mulan), 1.0);
    assert_eq!(micro_f1(&none, Convention::ScikitLearn), 0.0);
    assert!(coverage(&none, Convention::Reference, CoverageForm::Native).is_nan());

    // A NaN ranks last, ties with other NaN count against the classifier.
    let scores = Scores::new(Mat::from_vec(1, 3, vec![f64::NAN, -1e300, f64::NAN]));
    let y = Labels::from_vec(1, 3, vec![true, false, false]);
    let nan = Comparison::new(&y, &scores, &y).unwrap();
    assert_eq!(ranking_loss(&nan, Convention::ScikitLearn), 1.0);
    assert_eq!(coverage(&nan, Convention::ScikitLearn, CoverageForm::Raw), 3.0);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Metrics see the order of the scores, not their size; losses stay in [0, 1].
        #[test]
        fn monotone_maps_change_nothing(
            cells in proptest::collection::vec((any::<bool>(), 0u8..6), 12..=12)
        ) {
            let truth = Labels::from_vec(3, 4, cells.iter().map(|c| c.0).collect());
            let build = |map: fn(f64) -> f64| {
                let values = cells.iter().map(|c| map(f64::from(c.1))).collect();
                Scores::new(Mat::from_vec(3, 4, values))
            };
            let (plain, mapped) = (build(|v| v), build(|v| v * v * v - 7.0));
            let a = Comparison::new(&truth, &plain, &truth).unwrap();
            let b = Comparison::new(&truth, &mapped, &truth).unwrap();
            for convention in Convention::ALL {
                let (x, y) = (
                    Summary::of(&a, convention, CoverageForm::PerInstance),
                    Summary::of(&b, convention, CoverageForm::PerInstance),
                );
                for (u, v) in x.values.into_iter().zip(y.values) {
                    prop_assert!(u == v || (u.is_nan() && v.is_nan()));
                    prop_assert!(u.is_nan() || (0.0..=1.0).contains(&u));
                }
            }
        }
    }
}
