//! The verdict on the labels of Stage 1, without the truth.

use super::fit::Beliefs;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::observation::envelope::BOUNDS;
use crate::method::{Status, Verdict};

/// Fewer candidates kept than this share: the labels collapsed.
const COLLAPSED: f64 = 0.02;
/// Fewer candidates removed than this share: nothing happened.
const UNCHANGED: f64 = 0.005;
/// The observation model must not be worse than "every candidate is true" by more than this per cell,
/// plus what chance makes of a mean over m cells: [`CHANCE`] / √m.
const WORSE: f64 = 0.005;
const CHANCE: f64 = 0.5;
/// Features order candidates so well that noise, if there is any, follows the features.
const DETERMINISTIC_AUC: f64 = 0.85;
/// Labels' own bounds differ so much from the shared rate that one rate may not fit all.
const OWN_RATES: f64 = 2.0;
/// Rows that lost all of their candidates, as a share of the rows that had some.
const EMPTIED: f64 = 0.25;

/// What may be handed out.
pub struct Judged {
    /// Hard labels.
    pub pseudo: Labels,
    /// p.
    pub confidence: Mat<f32>,
    /// P(Y | x), unless the candidates are handed out.
    pub prior: Option<Mat<f32>>,
    /// What the labels are worth.
    pub verdict: Verdict,
}

/// Judges the pseudo labels. Returns what may be handed out: the candidates themselves when the belief's
/// own held-out likelihood calls them the better reading.
pub fn judge(found: &Beliefs, pseudo: Labels, candidates: &Labels) -> Judged {
    let signs = &found.linear.signs;
    let rho = found.linear.rho.iter().sum::<f64>() / found.linear.rho.len().max(1) as f64;
    let (all, kept) = (candidates.count(), pseudo.count());
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let mut warnings = Vec::new();
    let at_floor = rho <= BOUNDS.0 + 1e-9;
    if at_floor && signs.candidate_auc >= DETERMINISTIC_AUC {
        warnings.push(format!(
            "the features tell candidates from other cells almost surely (AUC {:.2}): these candidates \
             look like a function of the features, and noise of this kind cannot be told from truth",
            signs.candidate_auc
        ));
    }
    if rho >= BOUNDS.1 - 1e-9 {
        warnings.push(format!(
            "the noise rate is at its upper bound {:.2}: hardly any cell is free of candidates; give a \
             rate that you know as setting rho",
            BOUNDS.1
        ));
    }
    if signs.even_counts {
        warnings.push(format!(
            "the number of unlikely candidates per row varies less ({:.2} of the variance) than independent \
             noise would make it: each row may have got a fixed number of wrong labels; label context is \
             switched off",
            signs.dispersion
        ));
    }
    if signs.median_bound > OWN_RATES * rho {
        warnings.push(format!(
            "labels may have noise rates of their own (shared rate {rho:.2}, typical bound of a label \
             {:.2}): if you expect that, set rho_per_label to true and compare",
            signs.median_bound
        ));
    }
    let chance = CHANCE / (candidates.as_slice().len().max(1) as f64).sqrt();
    let worse = found.loss > signs.loss_without_noise + WORSE + chance;
    let (status, text) = if worse {
        (
            Status::Unchanged,
            format!(
                "The candidates are left as they are: \"every candidate is true\" explains them better \
                 ({:.4} against {:.4} nats per held-out cell) than noise at rate {rho:.2} does.",
                signs.loss_without_noise, found.loss
            ),
        )
    } else if share(kept, all) < COLLAPSED && all > 0 {
        (
            Status::Collapsed,
            format!(
                "Do not use these labels: only {kept} of {all} candidates would be kept. Either there is \
                 almost no true label, or the features say nothing about them."
            ),
        )
    } else if share(all - kept, all) < UNCHANGED {
        (
            Status::Unchanged,
            format!("Nothing was learned about noise: {kept} of {all} candidates are kept."),
        )
    } else if warnings.is_empty() {
        (
            Status::Cleaned,
            format!("{} of {all} candidates were removed as noise at rate {rho:.2}.", all - kept),
        )
    } else {
        (
            Status::Uncertain,
            format!(
                "{} of {all} candidates were removed, but the data do not look like independent noise; \
                 check a sample by hand.",
                all - kept
            ),
        )
    };
    // What follows is worth knowing, but says nothing against the model.
    if !worse {
        let emptied = emptied_rows(&pseudo, candidates);
        if share(emptied.0, emptied.1) > EMPTIED {
            warnings.push(format!(
                "{} of {} rows lose all of their candidates; set at_least_one to true if every row has a \
                 label",
                emptied.0, emptied.1
            ));
        }
        let vanished = vanished_labels(&pseudo, candidates);
        if vanished > 0 {
            warnings.push(format!(
                "{vanished} of {} labels keep none of their candidates: they are hardly more frequent \
                 than the noise rate",
                candidates.cols()
            ));
        }
    }
    let verdict = Verdict { status, text, warnings };
    if worse {
        let (pseudo, confidence) = (candidates.clone(), candidates.to_mat());
        return Judged { pseudo, confidence, prior: None, verdict };
    }
    let (confidence, prior) = (found.confidence.clone(), Some(found.linear.prior()));
    Judged { pseudo, confidence, prior, verdict }
}

/// Labels that had candidates and have none left.
fn vanished_labels(pseudo: &Labels, candidates: &Labels) -> usize {
    let (before, after) = (candidates.count_by_label(), pseudo.count_by_label());
    before.iter().zip(after).filter(|(before, after)| **before > 0 && *after == 0).count()
}

/// Rows that had candidates and have none left; rows that had some.
fn emptied_rows(pseudo: &Labels, candidates: &Labels) -> (usize, usize) {
    let had = |i: &usize| candidates.row(*i).contains(&true);
    let rows: Vec<usize> = (0..candidates.rows()).filter(had).collect();
    (rows.iter().filter(|&&i| !pseudo.row(i).contains(&true)).count(), rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::observation::cross_fit::Parts;
    use crate::method::observation::{LinearBelief, LinearModel, Signs};
    use crate::method::pomdp_fs::belief::BeliefModel;
    use crate::rng::Streams;

    const SIGNS: Signs = Signs {
        loss_without_noise: 0.5,
        candidate_auc: 0.7,
        dispersion: 1.1,
        even_counts: false,
        median_bound: 0.2,
    };

    /// Ten rows of four labels, all candidates; `kept` of each row are kept.
    fn verdict(kept: usize, rho: f64, loss: f64, signs: Signs) -> (Labels, Verdict) {
        let candidates = Labels::from_fn(10, 4, |_, _| true);
        let pseudo = Labels::from_fn(10, 4, |_, j| j < kept);
        let zeros = || Mat::zeros(0, 0);
        let model = LinearModel { plain: zeros(), unit: zeros(), context: None };
        let linear = LinearBelief {
            rho: vec![rho; 4],
            parts: Parts::new(10, 2, &Streams::new(0)),
            base: Mat::zeros(10, 4),
            logits: zeros(),
            loss: (loss, loss),
            signs,
            model: model.clone(),
        };
        let found = Beliefs {
            confidence: pseudo.to_mat(),
            linear,
            loss,
            model: BeliefModel { rho: vec![rho; 4], linear: model, parts: Vec::new() },
            history: Vec::new(),
        };
        let judged = judge(&found, pseudo, &candidates);
        // Who hands out the candidates has no belief to blend them with.
        assert_eq!(judged.prior.is_none(), judged.verdict.text.contains("left as they are"));
        (judged.pseudo, judged.verdict)
    }

    #[test]
    fn every_sign_has_its_word() {
        let status = |kept, rho, loss, signs| verdict(kept, rho, loss, signs).1.status;
        assert_eq!(status(3, 0.2, 0.5, SIGNS), Status::Cleaned);
        assert_eq!(status(4, 0.2, 0.5, SIGNS), Status::Unchanged);
        assert_eq!(status(0, 0.2, 0.5, SIGNS), Status::Collapsed);
        let suspect = [
            (0.02, Signs { candidate_auc: 0.95, median_bound: 0.02, ..SIGNS }, "function of the"),
            (0.6, SIGNS, "upper bound"),
            (0.2, Signs { dispersion: 0.25, even_counts: true, ..SIGNS }, "fixed number"),
            (0.2, Signs { median_bound: 0.5, ..SIGNS }, "rho_per_label"),
        ];
        for (rho, signs, word) in suspect {
            let (_, verdict) = verdict(3, rho, 0.5, signs);
            assert_eq!(verdict.status, Status::Uncertain, "{word}");
            assert!(verdict.warnings[0].contains(word), "{verdict:?}");
        }
    }

    #[test]
    fn labels_that_their_own_likelihood_refuses_are_not_handed_out() {
        let (labels, refused) = verdict(1, 0.2, 0.6, SIGNS);
        assert_eq!(refused.status, Status::Unchanged);
        assert_eq!(labels.count(), 40, "the candidates");
        assert!(refused.text.contains("left as they are"), "{}", refused.text);
        // Forty cells cannot tell a difference of a fiftieth of a nat.
        assert_eq!(verdict(1, 0.2, 0.52, SIGNS).1.status, Status::Cleaned);
    }

    #[test]
    fn a_label_that_vanishes_is_told_without_changing_the_status() {
        let (_, verdict) = verdict(3, 0.2, 0.5, SIGNS);
        assert!(verdict.warnings.iter().any(|w| w.starts_with("1 of 4 labels keep none")));
    }
}
