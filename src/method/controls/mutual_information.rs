//! Features by their mutual information with the candidates: Σ_j I(x_f; C_j).
//!
//! A feature with more than B different values is cut into B bins of equally many instances: value
//! v falls into bin ⌊B·#{u < v}/n⌋, so equal values share a bin and the zeros of a sparse feature
//! are one. Features with fewer values keep them. Labels are judged one by one and features too:
//! the filter knows neither redundancy nor noise.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Result;
use crate::linalg::Mat;
use crate::method::learner::Learner;
use crate::method::mutual_information::{Symbols, between};
use crate::method::settings::{Settings, within};
use crate::method::{Context, Fitted, Training, factorise, rank};

/// Settings of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutualInformation {
    /// B: bins of a feature.
    pub bins: usize,
}

impl Default for MutualInformation {
    fn default() -> Self {
        MutualInformation { bins: 10 }
    }
}

impl Settings for MutualInformation {
    fn check(&self) -> Result<()> {
        within("bins", self.bins as f64, 2.0, 1000.0)
    }
}

impl Learner for MutualInformation {
    const NAME: &'static str = "mutual-information";

    fn learn(&self, training: &Training<'_>, _: &mut Context<'_>) -> Result<Fitted> {
        let columns = training.x.transposed();
        let features: Vec<Symbols> =
            (0..columns.rows()).map(|f| Symbols::new(&binned(columns.row(f), self.bins))).collect();
        let labels = Symbols::columns(&factorise::indicator(training.candidates));
        let information: Mat<f64> = between(&features, &labels);
        let scores: Vec<f64> =
            (0..features.len()).map(|f| information.row(f).iter().sum()).collect();
        Ok(Fitted { ranking: rank(&scores), ..Fitted::default() })
    }

    fn alternatives(&self) -> Vec<Value> {
        [2, 5, 20].map(|bins| json!({ "bins": bins })).to_vec()
    }
}

/// The bin of each value, or the number of the value if there are at most `bins` of them.
fn binned(values: &[f32], bins: usize) -> Vec<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let mut different = sorted.clone();
    different.dedup();
    let below = |v: f32, among: &[f32]| among.partition_point(|u| *u < v);
    let bin = |&v: &f32| match different.len() <= bins {
        true => below(v, &different),
        false => bins * below(v, &sorted) / values.len(),
    };
    values.iter().map(|v| bin(v) as i64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;
    use crate::method::by_name;
    use crate::method::planted::{
        Planted, assert_survives_bad_input, assert_thread_independent, mean_hits,
    };

    #[test]
    fn bins_are_equally_filled_and_keep_ties_together() {
        let mixed: Vec<f32> = (0..100).map(|i| ((i * 37) % 100) as f32).collect();
        let bins = binned(&mixed, 10);
        for (v, b) in mixed.iter().zip(&bins) {
            assert_eq!(*b, (*v / 10.0) as i64);
        }
        // 90 zeros and ten different values: present or absent.
        let sparse: Vec<f32> = (0..100).map(|i| (i as f32 - 89.0).max(0.0)).collect();
        let bins = binned(&sparse, 5);
        assert!(bins[..90].iter().all(|b| *b == 0) && bins[90..].iter().all(|b| *b == 4));
        assert_eq!(binned(&[3.0, -1.0, 3.0, 0.5], 3), [2, 0, 2, 1], "few values stay");
        assert_eq!(binned(&[0.0, -0.0, 1.0], 2), [0, 0, 1], "one zero");
    }

    /// By hand: feature 0 is label 0 (1 bit), feature 1 tells nothing, feature 2 tells both labels.
    #[test]
    fn scores_are_sums_over_labels() {
        let x = Mat::from_vec(
            4,
            3,
            vec![
                0.0f32, 1.0, 1.0, //
                0.0, 1.0, 2.0, //
                1.0, 1.0, 3.0, //
                1.0, 1.0, 4.0,
            ],
        );
        let candidates = Labels::from_fn(4, 2, |i, j| if j == 0 { i >= 2 } else { i % 2 == 0 });
        let planted = Planted { x, candidates, informative: vec![2] };
        let ranking = planted.fit(&MutualInformation::default(), 0).ranking;
        let found: Vec<(usize, f64)> = ranking.iter().map(|r| (r.feature, r.score)).collect();
        for ((feature, score), (f, want)) in found.into_iter().zip([(2, 2.0), (0, 1.0), (1, 0.0)]) {
            assert!(feature == f && (score - want).abs() < 1e-12, "{feature}: {score}");
        }
    }

    #[test]
    fn finds_planted_features_and_survives() {
        let method = by_name("mutual-information").unwrap();
        assert!(mean_hits(&*method, Planted::positive) >= 11.0);
        assert!(mean_hits(&*method, Planted::signed) >= 6.0);
        assert_survives_bad_input(&*method);
        assert_thread_independent(&*method, &Planted::signed(1));
        assert!(method.with(&json!({"bins": 1})).is_err());
        assert_eq!(method.grid().len(), 3);
    }
}
