//! Classifiers with all their settings as values, so that a result can say what judged it.

use serde_json::{Value, json};

use crate::classify::Classifier;
use crate::classify::mlknn::{MlKnn, Variant};
use crate::classify::platt::Platt;
use crate::classify::rbf_svm::RbfSvm;
use crate::classify::svm::{ConstantLabel, LinearSvm, Loss};
use crate::classify::tune::{HasCost, Tuned};
use crate::data::choice::choice;

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

/// A classifier and its settings; those of other kinds are not used.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifierConfig {
    /// Which one.
    pub kind: ClassifierKind,
    /// C of an SVM; None: by cross-validation inside the training part.
    pub c: Option<f64>,
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
            ClassifierKind::Svm | ClassifierKind::RbfSvm => json!({
                "name": name,
                "c": self.c.map_or_else(|| json!("auto"), |c| json!(c)),
                "loss": self.loss.name(),
                "constant_label": self.constant.name(),
                "platt": self.platt,
            }),
            ClassifierKind::Mlknn => {
                json!({"name": name, "neighbours": self.neighbours, "mlknn": self.variant.name()})
            }
            ClassifierKind::Own => json!({ "name": name }),
        }
    }

    /// The classifier; None for the method's own predictor.
    pub fn build(&self) -> Option<Box<dyn Classifier>> {
        let &ClassifierConfig { constant, loss, neighbours: k, variant, .. } = self;
        Some(match self.kind {
            ClassifierKind::Own => return None,
            ClassifierKind::Mlknn => Box::new(MlKnn { k, variant, ..MlKnn::default() }),
            ClassifierKind::Svm => {
                self.priced(LinearSvm { loss, constant, ..LinearSvm::default() })
            }
            ClassifierKind::RbfSvm => self.priced(RbfSvm { constant, ..RbfSvm::default() }),
        })
    }

    /// Gives the machine its C and, if asked for, its probabilities.
    fn priced<C: HasCost + 'static>(&self, machine: C) -> Box<dyn Classifier> {
        match (self.c, self.platt) {
            (Some(c), false) => Box::new(machine.with_c(c)),
            (Some(c), true) => Box::new(Platt { inner: machine.with_c(c) }),
            (None, false) => Box::new(Tuned { machine }),
            (None, true) => Box::new(Platt { inner: Tuned { machine } }),
        }
    }
}
