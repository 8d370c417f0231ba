//! The ternary code: random columns that each use as many rows as they can.
//!
//! Column v splits the labels into Y⁺ (v = +1), Y⁻ (v = −1) and labels that do not matter. A row is
//! positive if its candidates meet Y⁺ but not Y⁻, negative the other way round. Then it certainly has
//! no true label on the other side (definiteness). The more zeros, the more rows are used (adequacy):
//! with m = 2L/z non-zero positions, z the mean number of candidates, a row has two coded candidates
//! on average and about 46 % of the rows are used.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::data::Labels;
use crate::method::binary::Problem;
use crate::rng::Rng;

/// Consecutive rejections before columns with fewer rows are accepted.
const PATIENCE: usize = 10_000;
/// Rows that each class of a column needs at least, from this many rows on.
const CLASS_SIZE: usize = 5;
const SMALL_SET: usize = 100;

/// Which rows a column uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The candidates meet one side and do not meet the other.
    Meets,
    /// All candidates are on one side.
    Subset,
}

/// Columns, and the binary problem of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Code {
    pub columns: Vec<Vec<i8>>,
    pub problems: Vec<Problem>,
}

impl Code {
    /// At most `count` different columns with both classes; fewer if there are not so many.
    pub fn draw(candidates: &Labels, count: usize, rule: Rule, rng: &mut Rng) -> Self {
        let (n, labels) = (candidates.rows(), candidates.cols());
        let mut code = Code::default();
        if labels < 2 {
            return code;
        }
        let mean = candidates.count() as f64 / n as f64;
        let coded = ((2.0 * labels as f64 / mean).round() as usize).clamp(2, labels);
        let class_size = if n < SMALL_SET { 1 } else { CLASS_SIZE };
        let mut adequate = (n / 10).clamp(10, 1000);
        let sets = Sets::new(candidates);
        let mut used = HashSet::new();
        let mut rejected = 0;
        while code.columns.len() < count && adequate >= 2 {
            let column = draw_column(labels, coded, rng);
            let known = used.contains(&column) || used.contains(&negated(&column));
            let problem = if known { Problem::default() } else { sets.split(&column, rule) };
            let (p, q) = (problem.positive.len(), problem.negative.len());
            if p >= class_size && q >= class_size && p + q >= adequate {
                used.insert(column.clone());
                code.columns.push(column);
                code.problems.push(problem);
                rejected = 0;
                continue;
            }
            rejected += 1;
            if rejected == PATIENCE {
                adequate /= 2;
                rejected = 0;
            }
        }
        code
    }

    /// Column j: candidates of label j against all other rows. Labels with one class are left out.
    pub fn one_against_rest(candidates: &Labels) -> Self {
        let mut code = Code::default();
        for j in 0..candidates.cols() {
            let (positive, negative): (Vec<usize>, Vec<usize>) =
                (0..candidates.rows()).partition(|&i| candidates.get(i, j));
            if !positive.is_empty() && !negative.is_empty() {
                code.columns.push((0..candidates.cols()).map(|l| i8::from(l == j)).collect());
                code.problems.push(Problem { positive, negative });
            }
        }
        code
    }
}

/// `coded` random labels, half of them (rounded down) +1 and the others −1.
fn draw_column(labels: usize, coded: usize, rng: &mut Rng) -> Vec<i8> {
    let mut column = vec![0; labels];
    for (k, j) in rng.permutation(labels).into_iter().take(coded).enumerate() {
        column[j] = if k < coded / 2 { 1 } else { -1 };
    }
    column
}

fn negated(column: &[i8]) -> Vec<i8> {
    column.iter().map(|v| -v).collect()
}

/// Candidate sets as bits, 64 labels a word.
struct Sets {
    words: Vec<u64>,
    per_row: usize,
}

impl Sets {
    fn new(candidates: &Labels) -> Self {
        let per_row = candidates.cols().div_ceil(64);
        let words = (0..candidates.rows()).flat_map(|i| {
            let cells = candidates.row(i).chunks(64);
            cells.map(|part| mask(part.iter().copied()))
        });
        Sets { words: words.collect(), per_row }
    }

    fn split(&self, column: &[i8], rule: Rule) -> Problem {
        let side = |sign: i8| -> Vec<u64> {
            column.chunks(64).map(|part| mask(part.iter().map(|v| *v == sign))).collect()
        };
        let (up, down) = (side(1), side(-1));
        let mut problem = Problem::default();
        for (i, set) in self.words.chunks_exact(self.per_row).enumerate() {
            let meets = |side: &[u64]| set.iter().zip(side).any(|(s, m)| s & m != 0);
            let within = |side: &[u64]| set.iter().zip(side).all(|(s, m)| s & !m == 0);
            match (meets(&up), meets(&down)) {
                (true, false) if rule == Rule::Meets || within(&up) => problem.positive.push(i),
                (false, true) if rule == Rule::Meets || within(&down) => problem.negative.push(i),
                _ => {}
            }
        }
        problem
    }
}

/// Bit k is the k-th value.
fn mask(bits: impl Iterator<Item = bool>) -> u64 {
    bits.enumerate().fold(0, |word, (k, on)| word | u64::from(on) << k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::planted::{Planted, golden};
    use crate::rng::Streams;

    #[test]
    fn the_hand_example() {
        let (_, y) = golden();
        let sets = Sets::new(&y);
        let meets = sets.split(&[1, -1, 0], Rule::Meets);
        assert_eq!((meets.positive, meets.negative), (vec![0, 1], vec![2, 3]));
        let subset = sets.split(&[1, -1, 0], Rule::Subset);
        assert_eq!((subset.positive, subset.negative), (vec![1], vec![3]));
    }

    #[test]
    fn more_than_one_word_of_labels() {
        let y = Labels::from_fn(2, 130, |i, j| j == 64 + 65 * i);
        let mut column = vec![0; 130];
        (column[64], column[129]) = (1, -1);
        let problem = Sets::new(&y).split(&column, Rule::Subset);
        assert_eq!((problem.positive, problem.negative), (vec![0], vec![1]));
    }

    #[test]
    fn columns_differ_and_have_both_classes() {
        let y = Planted::real("yeast").candidates;
        let code = Code::draw(&y, 100, Rule::Meets, &mut Streams::new(1).stream("code"));
        assert_eq!(code.columns.len(), 100);
        let mut shares = 0.0;
        for (k, (column, problem)) in code.columns.iter().zip(&code.problems).enumerate() {
            let (p, q) = (problem.positive.len(), problem.negative.len());
            assert!(p >= 5 && q >= 5 && p + q >= 241, "column {k}: {p} and {q} rows");
            assert!(problem.positive.iter().all(|i| !problem.negative.contains(i)));
            let others = &code.columns[..k];
            assert!(!others.contains(column) && !others.contains(&negated(column)));
            shares += (p + q) as f64 / y.rows() as f64 / 100.0;
        }
        assert!((0.3..0.5).contains(&shares), "rows used: {shares}");
    }

    #[test]
    fn without_a_column_each_label_stands_alone() {
        let everywhere = Labels::from_fn(20, 3, |i, j| j < 2 || i < 5);
        let mut rng = Streams::new(1).stream("code");
        assert!(Code::draw(&everywhere, 10, Rule::Meets, &mut rng).columns.is_empty());
        let code = Code::one_against_rest(&everywhere);
        assert_eq!(code.columns, [vec![0, 0, 1]]);
        assert_eq!(code.problems[0].positive, [0, 1, 2, 3, 4]);
    }
}
