//! From what the policy did to a ranking of the features.

use super::rollout::Actions;
use super::train::mean;
use crate::linalg::Mat;
use crate::method::Ranked;
use crate::method::pomdp_fs::Ranking;

/// How often each feature was selected, and how much the loss fell by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Credits {
    /// Selections of each feature.
    pub selected: Vec<f64>,
    /// Σ ℓ_t − ℓ_{t+1} over these selections.
    pub credit: Vec<f64>,
}

impl Credits {
    /// None yet, for d features.
    pub fn new(features: usize) -> Self {
        Credits { selected: vec![0.0; features], credit: vec![0.0; features] }
    }

    /// Adds a batch of rollouts with the losses of their states.
    pub fn add(&mut self, actions: &Actions, losses: &Mat<f32>) {
        for i in 0..actions.rows() {
            for (t, &a) in actions.row(i).iter().enumerate() {
                self.selected[a] += 1.0;
                self.credit[a] += f64::from(losses[(i, t)] - losses[(i, t + 1)]);
            }
        }
    }

    /// Mean credit of a selection, shrunken: c̄ = Σ credit / (selections + their mean over the
    /// features). A feature that was tried a few times by luck does not pass one that proved itself.
    pub fn shrunken(&self) -> Vec<f64> {
        let usual = mean(self.selected.iter().copied());
        let shrink = |(c, s): (&f64, &f64)| if *s > 0.0 { c / (s + usual) } else { 0.0 };
        self.credit.iter().zip(&self.selected).map(shrink).collect()
    }
}

/// What is known about each feature after Stage 2.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureStatistics {
    /// Share of the rollouts that select the feature.
    pub frequency: Vec<f64>,
    /// Mean credit of a selection, shrunken ([`Credits::shrunken`]).
    pub credit: Vec<f64>,
    /// Mean probability over the visited states.
    pub score: Vec<f64>,
}

impl FeatureStatistics {
    /// Best first. Features that were never selected come last; ties are broken by the average
    /// policy score, then by the index.
    pub fn rank(&self, ranking: Ranking) -> Vec<Ranked> {
        let score = match ranking {
            Ranking::Frequency => &self.frequency,
            Ranking::Score => &self.score,
            Ranking::Credit => &self.credit,
        };
        let seen = |a: usize| self.frequency[a] > 0.0 || self.credit[a] != 0.0;
        let mut order: Vec<usize> = (0..score.len()).collect();
        order.sort_by(|&a, &b| {
            seen(b)
                .cmp(&seen(a))
                .then(score[b].total_cmp(&score[a]))
                .then(self.score[b].total_cmp(&self.score[a]))
                .then(a.cmp(&b))
        });
        order.into_iter().map(|feature| Ranked { feature, score: score[feature] }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_belongs_to_the_selected_feature() {
        let losses = Mat::from_vec(1, 3, vec![0.9, 0.5, 0.6]);
        let mut credits = Credits::new(4);
        credits.add(&Actions::new(&[vec![3, 1]]), &losses);
        assert_eq!(credits.selected, [0.0, 1.0, 0.0, 1.0]);
        assert!((credits.credit[3] - 0.4).abs() < 1e-6 && (credits.credit[1] + 0.1).abs() < 1e-6);
        // Two selections over four features: half a selection is usual.
        assert!((credits.shrunken()[3] - 0.4 / 1.5).abs() < 1e-6);
    }

    #[test]
    fn features_that_were_never_selected_come_last() {
        let s = FeatureStatistics {
            frequency: vec![0.5, 0.0, 0.0, 0.5],
            credit: vec![-0.2, 0.0, 0.0, -0.1],
            score: vec![0.1, 0.2, 0.3, 0.4],
        };
        let order = |r| s.rank(r).iter().map(|r| r.feature).collect::<Vec<_>>();
        assert_eq!(order(Ranking::Credit), [3, 0, 2, 1]);
        assert_eq!(order(Ranking::Frequency), [3, 0, 2, 1]);
        assert_eq!(order(Ranking::Score), [3, 0, 2, 1]);
    }
}
