//! Classifiers with all their settings as values, so that a result can say what judged it.

use serde_json::{Value, json};

use super::TrainLabels;
use crate::Result;
use crate::classify::Classifier;
use crate::classify::blend::Blend;
use crate::classify::judge::{CostRule, Judge};
use crate::classify::mlknn::{MlKnn, Variant};
use crate::classify::pair::Pair;
use crate::classify::platt::Platt;
use crate::classify::rbf_svm::RbfSvm;
use crate::classify::svm::{ConstantLabel, LinearSvm, Loss};
use crate::classify::threshold::Threshold;
use crate::classify::tune::{HasCost, Rule, Tuned};
use crate::data::Labels;
use crate::data::choice::choice;
use crate::linalg::Mat;

/// Which classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassifierKind {
    /// Linear SVM.
    Svm,
    /// SVM with a Gaussian kernel.
    RbfSvm,
    /// ML-kNN.
    Mlknn,
    /// The method's own predictor, on all features.
    Own,
}

choice!(ClassifierKind { Svm => "svm", RbfSvm => "rbf-svm", Mlknn => "mlknn", Own => "own" });

/// From which score on an SVM predicts a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdRule {
    /// F1 for labels that estimate the truth or are it; fixed for candidates. Some candidates are
    /// noise, so more labels are on than are true, and the best F1 against them asks for too many.
    Auto,
    /// The one with the best expected Micro-F1 on held-out rows.
    F1,
    /// 0 for margins, ½ for probabilities.
    Fixed,
}

choice!(ThresholdRule { Auto => "auto", F1 => "f1", Fixed => "fixed" });

impl ThresholdRule {
    /// What the rule means for a classifier that is trained on these labels.
    fn threshold(self, trained_on: TrainLabels) -> Threshold {
        match (self, trained_on) {
            (ThresholdRule::Auto, TrainLabels::Candidate) | (ThresholdRule::Fixed, _) => {
                Threshold::Fixed
            }
            (ThresholdRule::Auto | ThresholdRule::F1, _) => Threshold::F1,
        }
    }
}

/// Default of [`ClassifierConfig::temper`].
pub(super) const TEMPER: f64 = 1.0;

/// Default of [`ClassifierConfig::prior_share`].
const PRIOR_SHARE: f64 = 0.5;
/// Default of [`ClassifierConfig::candidate_share`].
const CANDIDATE_SHARE: f64 = 0.2;

/// A classifier and its settings; those of other kinds are not used.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifierConfig {
    /// Which one.
    pub kind: ClassifierKind,
    /// C of an SVM; None: by cross-validation inside the training part.
    pub c: Option<f64>,
    /// How an SVM's C is chosen.
    pub c_rule: CostRule,
    /// How an SVM's scores become labels. ML-kNN has probabilities and keeps ½.
    pub threshold: ThresholdRule,
    /// Confidences train an SVM as p to this power, unless its scores become probabilities.
    pub temper: f64,
    /// Share of a method's prior in what an SVM learns from its confidences; 0 for the confidences alone. Like
    /// the next not used where scores become probabilities.
    pub prior_share: f64,
    /// Share of a second SVM, which learns the candidates, beside one that learns such confidences.
    pub candidate_share: f64,
    /// Loss of the linear SVM.
    pub loss: Loss,
    /// Score of a label with one class only.
    pub constant: ConstantLabel,
    /// Whether SVM scores become probabilities.
    pub platt: bool,
    /// Neighbours of ML-kNN.
    pub neighbours: usize,
    /// Whose ML-kNN.
    pub variant: Variant,
}

impl ClassifierConfig {
    /// The defaults of a kind.
    pub fn new(kind: ClassifierKind) -> Self {
        ClassifierConfig {
            kind,
            c: None,
            c_rule: CostRule::Candidates,
            threshold: ThresholdRule::Auto,
            temper: TEMPER,
            prior_share: PRIOR_SHARE,
            candidate_share: CANDIDATE_SHARE,
            loss: Loss::Squared,
            constant: ConstantLabel::Margin,
            platt: false,
            neighbours: 10,
            variant: Variant::Published,
        }
    }

    /// Everything that its results depend on.
    pub fn settings(&self) -> Value {
        let name = self.kind.name();
        match self.kind {
            ClassifierKind::Svm | ClassifierKind::RbfSvm => {
                let mut all = json!({
                    "name": name,
                    "c": self.c.map_or_else(|| json!("auto"), |c| json!(c)),
                    "c_rule": self.c_rule.name(),
                    "threshold": self.threshold.name(),
                    "temper": self.temper,
                    "loss": self.loss.name(),
                    "constant_label": self.constant.name(),
                    "platt": self.platt,
                });
                // The default says nothing, so that cells of methods without a prior stay known; those with one
                // have a new revision.
                for (name, share, default) in [
                    ("prior_share", self.prior_share, PRIOR_SHARE),
                    ("candidate_share", self.candidate_share, CANDIDATE_SHARE),
                ] {
                    if share != default {
                        all[name] = json!(share);
                    }
                }
                all
            }
            ClassifierKind::Mlknn => {
                json!({"name": name, "neighbours": self.neighbours, "mlknn": self.variant.name()})
            }
            ClassifierKind::Own => json!({ "name": name }),
        }
    }

    /// What an SVM learns from confidences p of a method that says what it believed before. ML-kNN counts
    /// labels and keeps p, and scores are calibrated against p.
    pub fn blend(&self, p: &Mat<f32>, prior: &Mat<f32>) -> Result<Option<Blend>> {
        let svm = matches!(self.kind, ClassifierKind::Svm | ClassifierKind::RbfSvm);
        (svm && !self.platt)
            .then(|| Blend::new(p, prior, self.prior_share, self.temper))
            .transpose()
    }

    /// The classifier for labels of this kind; None for the method's own predictor. `judged_by` are
    /// the labels of the training rows that a C is judged by, `blend` is what confidences with a prior
    /// became.
    pub fn build<'a>(
        &self,
        trained_on: TrainLabels,
        judged_by: &'a Labels,
        blend: Option<&'a Blend>,
    ) -> Option<Box<dyn Classifier + 'a>> {
        let &ClassifierConfig { c, platt, constant, loss, neighbours: k, variant, .. } = self;
        let judge = match self.c_rule {
            CostRule::Candidates => Judge::Ranking(judged_by),
            CostRule::Labels => Judge::ThreeMetrics,
        };
        // Probabilities are calibrated against the confidences as they are; a blend is tempered already.
        let temper = if platt || blend.is_some() { 1.0 } else { self.temper };
        let threshold = self.threshold.threshold(trained_on);
        let believed = blend.map(|b| &b.believed);
        let rule = Rule { c, judge, threshold, temper, believed };
        let share = if blend.is_some() { self.candidate_share } else { 0.0 };
        let beside = (share > 0.0).then_some((judged_by, share));
        Some(match self.kind {
            ClassifierKind::Own => return None,
            ClassifierKind::Mlknn => Box::new(MlKnn { k, variant, ..MlKnn::default() }),
            ClassifierKind::Svm => {
                machine(LinearSvm { loss, constant, ..LinearSvm::default() }, platt, rule, beside)
            }
            ClassifierKind::RbfSvm => {
                machine(RbfSvm { constant, ..RbfSvm::default() }, platt, rule, beside)
            }
        })
    }
}

/// Gives the machine its C, its threshold and, if asked for, its probabilities or a second one beside it
/// that learns the candidates.
fn machine<'a, C: HasCost + 'a>(
    machine: C,
    platt: bool,
    rule: Rule<'a>,
    beside: Option<(&'a Labels, f64)>,
) -> Box<dyn Classifier + 'a> {
    if platt {
        return Box::new(Tuned { machine: Platt { inner: machine }, rule });
    }
    let tuned = Tuned { machine, rule };
    match beside {
        None => Box::new(tuned),
        Some((candidates, share)) => Box::new(Pair { tuned, candidates, share }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_alone_keep_the_fixed_threshold() {
        for labels in TrainLabels::ALL {
            let fixed = labels == TrainLabels::Candidate;
            assert_eq!(ThresholdRule::Auto.threshold(labels) == Threshold::Fixed, fixed);
            assert_eq!(ThresholdRule::F1.threshold(labels), Threshold::F1);
            assert_eq!(ThresholdRule::Fixed.threshold(labels), Threshold::Fixed);
        }
    }

    /// Every rule is part of what a cell is named by.
    #[test]
    fn settings_tell_the_rules_apart() {
        let base = ClassifierConfig::new(ClassifierKind::Svm);
        let old = ClassifierConfig { c_rule: CostRule::Labels, ..base.clone() };
        let fixed = ClassifierConfig { threshold: ThresholdRule::Fixed, ..base.clone() };
        assert_ne!(base.settings(), old.settings());
        let tempered = ClassifierConfig { temper: 0.5, ..base.clone() };
        assert_ne!(base.settings(), fixed.settings());
        assert_ne!(base.settings(), tempered.settings());
        let alone = ClassifierConfig { prior_share: 0.0, ..base.clone() };
        assert_ne!(base.settings(), alone.settings());
        let single = ClassifierConfig { candidate_share: 0.0, ..base.clone() };
        assert_ne!(base.settings(), single.settings());
    }

    #[test]
    fn only_machines_learn_a_blend() {
        let p = Mat::from_vec(1, 1, vec![0.8f32]);
        let blend = |kind| ClassifierConfig::new(kind).blend(&p, &Mat::zeros(1, 1)).unwrap();
        let learned = |kind| blend(kind).map(|b| b.learned[(0, 0)]);
        assert_eq!(learned(ClassifierKind::Svm), Some(0.4));
        assert_eq!(learned(ClassifierKind::RbfSvm), Some(0.4));
        assert_eq!(learned(ClassifierKind::Mlknn), None);
        let alone =
            ClassifierConfig { prior_share: 0.0, ..ClassifierConfig::new(ClassifierKind::Svm) };
        assert_eq!(alone.blend(&p, &Mat::zeros(1, 1)).unwrap().unwrap().learned, p);
        let platt = ClassifierConfig { platt: true, ..ClassifierConfig::new(ClassifierKind::Svm) };
        assert_eq!(platt.blend(&p, &p).unwrap(), None);
        assert!(alone.blend(&p, &Mat::zeros(2, 1)).is_err(), "a prior of other rows");
    }
}
