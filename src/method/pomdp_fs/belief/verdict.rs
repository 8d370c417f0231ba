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
/// The observation model must not be worse than "every candidate is true" by more than this per cell.
const WORSE: f64 = 0.005;
/// Features order candidates so well that noise, if there is any, follows the features.
const DETERMINISTIC_AUC: f64 = 0.85;
/// |C_i| varies less than independent labels would.
const DISPERSION: f64 = 0.6;
/// Labels' own bounds differ so much from the shared rate that one rate may not fit all.
const OWN_RATES: f64 = 2.0;
/// Rows that lost all of their candidates, as a share of the rows that had some.
const EMPTIED: f64 = 0.25;

/// Judges the pseudo labels. Returns labels and confidences that may be handed out: the candidates
/// themselves when the belief's own held-out likelihood calls them the better reading.
pub fn judge(found: &Beliefs, pseudo: Labels, candidates: &Labels) -> (Labels, Mat<f32>, Verdict) {
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
    if signs.dispersion < DISPERSION {
        warnings.push(format!(
            "the number of candidates per row varies much less ({:.2}) than independent noise would make \
             it: each row may have got a fixed number of wrong labels; label context is switched off",
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
    let emptied = emptied_rows(&pseudo, candidates);
    if share(emptied.0, emptied.1) > EMPTIED {
        warnings.push(format!(
            "{} of {} rows lose all of their candidates; set at_least_one to true if every row has a \
             label",
            emptied.0, emptied.1
        ));
    }
    let worse = found.loss > signs.loss_without_noise + WORSE;
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
    let verdict = Verdict { status, text, warnings };
    if worse {
        return (candidates.clone(), candidates.to_mat(), verdict);
    }
    (pseudo, found.confidence.clone(), verdict)
}

/// Rows that had candidates and have none left; rows that had some.
fn emptied_rows(pseudo: &Labels, candidates: &Labels) -> (usize, usize) {
    let had = |i: &usize| candidates.row(*i).contains(&true);
    let rows: Vec<usize> = (0..candidates.rows()).filter(had).collect();
    (rows.iter().filter(|&&i| !pseudo.row(i).contains(&true)).count(), rows.len())
}
