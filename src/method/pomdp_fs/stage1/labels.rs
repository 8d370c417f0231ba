//! What a trained label policy says about rows: probabilities and pseudo labels.

use super::loss::Stage1Saved;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::pomdp_fs::Network;
use crate::num::Real;

/// Rows that pass the network together. A row does not depend on the rows beside it.
const ROWS: usize = 1024;

/// Rows of a data set, gathered for a pass through the network; the memory is used again.
pub(super) struct Batch {
    /// X of these rows.
    pub x: Mat<f32>,
    /// C of these rows as numbers.
    pub c: Mat<f32>,
    /// C of these rows.
    pub candidates: Labels,
}

impl Batch {
    pub fn new(features: usize, labels: usize) -> Self {
        Batch {
            x: Mat::zeros(0, features),
            c: Mat::zeros(0, labels),
            candidates: Labels::none(0, labels),
        }
    }

    /// Becomes the given rows.
    pub fn gather(&mut self, x: &Mat<f32>, candidates: &Labels, rows: &[usize]) {
        self.x.gather_rows(x, rows);
        self.candidates.gather_rows(candidates, rows);
        self.c.set_rows(rows.len());
        for (c, &on) in self.c.as_mut_slice().iter_mut().zip(self.candidates.as_slice()) {
            *c = f32::from(u8::from(on));
        }
    }
}

/// p_ij of the rows of `x` under the weights `p`: σ(s) on candidates, 0 elsewhere, without dropout.
pub fn confidence(network: &Network, p: &[f32], x: &Mat<f32>, candidates: &Labels) -> Mat<f32> {
    let all: Vec<usize> = (0..x.rows()).collect();
    let mut gathered = Batch::new(x.cols(), candidates.cols());
    confidence_of(network, &mut network.stage1_saved(), &mut gathered, p, (x, candidates), &all)
}

/// The same for some rows, in memory that is there.
pub(super) fn confidence_of(
    network: &Network,
    saved: &mut Stage1Saved<f32>,
    gathered: &mut Batch,
    p: &[f32],
    (x, candidates): (&Mat<f32>, &Labels),
    rows: &[usize],
) -> Mat<f32> {
    let mut confidence = Vec::with_capacity(rows.len() * candidates.cols());
    for part in rows.chunks(ROWS) {
        gathered.gather(x, candidates, part);
        network.forward(saved, (gathered.x.view(), gathered.c.view()), p, None);
        let cells = saved.scores.as_slice().iter().zip(gathered.candidates.as_slice());
        confidence.extend(cells.map(|(&s, &on)| if on { s.sigmoid() } else { 0.0 }));
    }
    Mat::from_vec(rows.len(), candidates.cols(), confidence)
}

/// σ(u) of rows whose candidates are unknown: the encoder sees the empty set, as in Stage 2.
pub fn without_candidates(network: &Network, p: &[f32], x: &Mat<f32>) -> Mat<f32> {
    let unknown = Labels::none(x.rows(), network.config().labels);
    let all: Vec<usize> = (0..x.rows()).collect();
    let (mut saved, mut gathered) = (network.stage1_saved(), Batch::new(x.cols(), unknown.cols()));
    let mut scores = Vec::with_capacity(x.rows() * unknown.cols());
    for part in all.chunks(ROWS) {
        gathered.gather(x, &unknown, part);
        network.forward(&mut saved, (gathered.x.view(), gathered.c.view()), p, None);
        scores.extend(saved.logits.as_slice().iter().map(|u| u.sigmoid()));
    }
    Mat::from_vec(x.rows(), unknown.cols(), scores)
}

/// Ŷ_ij = 1[p_ij ≥ ½] (Algorithm 1); with `at_least_one` the best candidate of a row that has
/// candidates but no label above ½ is kept too.
pub fn pseudo_labels(confidence: &Mat<f32>, candidates: &Labels, at_least_one: bool) -> Labels {
    let mut hard = Labels::from_fn(confidence.rows(), confidence.cols(), |i, j| {
        candidates.get(i, j) && confidence[(i, j)] >= 0.5
    });
    if at_least_one {
        for i in 0..hard.rows() {
            let best = (0..hard.cols())
                .filter(|&j| candidates.get(i, j))
                .max_by(|&a, &b| confidence[(i, a)].total_cmp(&confidence[(i, b)]).then(b.cmp(&a)));
            if let Some(best) = best
                && !hard.row(i).contains(&true)
            {
                hard.set(i, best, true);
            }
        }
    }
    hard
}

/// Mean p and mean entropy over the candidates.
pub(in crate::method::pomdp_fs) fn summary(
    confidence: &Mat<f32>,
    candidates: &Labels,
) -> (f64, f64) {
    let (mut sum, mut entropy) = (0.0, 0.0);
    let cells = confidence.as_slice().iter().zip(candidates.as_slice());
    for (&p, _) in cells.filter(|(_, on)| **on) {
        let p = f64::from(p);
        sum += p;
        for q in [p, 1.0 - p] {
            entropy -= if q > 0.0 { q * Real::ln(q) } else { 0.0 };
        }
    }
    let count = candidates.count().max(1) as f64;
    (sum / count, entropy / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::EncoderConfig;
    use crate::rng::Streams;

    #[test]
    fn labels_above_one_half_and_at_least_one() {
        let p = Mat::from_vec(3, 3, vec![0.5, 0.49, 0.9, 0.2, 0.4, 0.4, 0.0, 0.0, 0.0]);
        let c = Labels::from_fn(3, 3, |i, j| i < 2 && !(i == 0 && j == 2));
        let hard = pseudo_labels(&p, &c, false);
        assert_eq!(hard.row(0), [true, false, false], "label 2 is no candidate");
        assert_eq!(hard.count(), 1);
        let hard = pseudo_labels(&p, &c, true);
        assert_eq!(hard.row(1), [false, true, false], "ties go to the lower index");
        assert_eq!(hard.row(2), [false; 3], "a row without candidates stays empty");
    }

    /// Chunks, their last one short, against one pass over all rows.
    #[test]
    fn rows_in_chunks_have_the_same_bits() {
        let config = EncoderConfig { width: 8, heads: 2, layers: 1, ..EncoderConfig::paper(3, 2) };
        let network = Network::new(config).unwrap();
        let p: Vec<f32> = network.init(&Streams::new(4));
        let x = Mat::from_fn(2 * ROWS + 5, 3, |i, j| ((7 * i + 3 * j) % 11) as f32 / 5.0 - 1.0);
        let mut saved = network.stage1_saved();
        network.forward(&mut saved, (x.view(), Mat::zeros(x.rows(), 2).view()), &p, None);
        let at_once = saved.logits.as_slice().iter().map(|u| u.sigmoid().to_bits());
        let found = without_candidates(&network, &p, &x);
        assert!(found.as_slice().iter().map(|s| s.to_bits()).eq(at_once));
        assert_eq!(without_candidates(&network, &p, &Mat::zeros(0, 3)).rows(), 0);
    }

    #[test]
    fn the_summary_looks_at_candidates_alone() {
        let p = Mat::from_vec(1, 3, vec![0.5, 0.0, 0.9]);
        let (mean, entropy) = summary(&p, &Labels::from_vec(1, 3, vec![true, true, false]));
        assert_eq!(mean, 0.25);
        assert!((entropy - 0.5 * libm::log(2.0)).abs() < 1e-12);
        assert_eq!(summary(&p, &Labels::none(1, 3)), (0.0, 0.0));
    }
}
