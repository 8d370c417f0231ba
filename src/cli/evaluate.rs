//! `pomdp-fs evaluate`: methods over folds, scored on the truth.

use clap::{Args, ValueEnum};

use super::Context;
use super::evaluate_report::{Report, Settings};
use super::input::Input;
use crate::classify::Classifier;
use crate::classify::mlknn::{MlKnn, Variant};
use crate::classify::platt::Platt;
use crate::classify::rbf_svm::RbfSvm;
use crate::classify::svm::{ConstantLabel, LinearSvm, Loss};
use crate::classify::tune::{HasCost, Tuned};
use crate::data::Splitter;
use crate::data::noise::Scheme;
use crate::experiment::{Protocol, TrainLabels, evaluate_method, parse_budgets};
use crate::measure::{Convention, CoverageForm};
use crate::{Error, Result, method};

/// Evaluate methods by cross-validation: noise, fit, rank, classify, score
///
/// Noise reaches the training labels only; scores are taken on the true labels of the test part.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pomdp-fs evaluate --methods random,all,zeros --train-labels truth\n  \
                  pomdp-fs evaluate birds.arff --budgets 1%..20% --classifier mlknn --json birds.json"
)]
pub struct Evaluate {
    /// A file, or the name of a data set of the catalog
    #[arg(value_name = "DATA", default_value = "yeast")]
    data: String,
    /// Methods, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["pomdp-fs", "random", "all", "zeros"])]
    methods: Vec<String>,
    /// Number of folds
    #[arg(long, value_name = "K", default_value_t = 5)]
    folds: usize,
    /// Repeat with other splits and other noise
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: usize,
    /// How instances are split: k-fold or stratified
    #[arg(long, value_name = "HOW", default_value = Splitter::KFold.name())]
    splitter: Splitter,
    /// Share of the irrelevant training labels that become candidates (0.2 or 20%)
    #[arg(long, value_name = "RATE", default_value = "0.2", value_parser = parse_rate)]
    noise: f64,
    /// How the noise is drawn: uniform, per-instance or global
    #[arg(long, value_name = "HOW", default_value = Scheme::Uniform.name())]
    noise_scheme: Scheme,
    /// Numbers of features: 'paper', '15%', '30', a list, or a range '1%..20%'
    #[arg(long, alias = "budget", value_name = "LIST", default_value = "paper")]
    budgets: String,
    /// The classifier on the selected features
    #[arg(long, value_name = "NAME", default_value = "svm")]
    classifier: Kind,
    /// Labels that train the classifier [default: the best that the method makes]
    #[arg(long, value_name = "WHICH")]
    train_labels: Option<Which>,
    /// C of the SVM: a number, or 'auto' for cross-validation on the training labels
    #[arg(long, value_name = "C", default_value = "auto")]
    svm_c: String,
    /// Loss of the linear SVM (the gap to the optimum is at most 1e-6 of the objective)
    #[arg(long, value_name = "LOSS", default_value = "l2")]
    svm_loss: SvmLoss,
    /// Score of a label that is constant in training: -1/+1 (margin) or 0/1 (sklearn)
    #[arg(long, value_name = "HOW", default_value = "margin")]
    constant_label: Constant,
    /// Turn SVM scores into probabilities (changes ranks between labels)
    #[arg(long)]
    platt: bool,
    /// Neighbours of ML-kNN
    #[arg(long, value_name = "K", default_value_t = 10)]
    neighbours: usize,
    /// Whose ML-kNN
    #[arg(long, value_name = "WHOSE", default_value = "published")]
    mlknn: Whose,
    /// Whose definition of the metrics
    #[arg(long, value_name = "WHOSE", default_value = "sklearn")]
    convention: Rules,
    /// What coverage means
    #[arg(long, value_name = "FORM", default_value = "over-labels")]
    coverage: Form,
    /// Show every metric under every convention
    #[arg(long)]
    all_conventions: bool,
    #[command(flatten)]
    input: Input,
}

/// A command-line name for each value of a library type.
macro_rules! names {
    ($name:ident => $target:ty { $($variant:ident = $text:literal => $value:expr),+ $(,)? }) => {
        #[derive(Clone, Copy, ValueEnum)]
        enum $name { $(#[value(name = $text)] $variant),+ }
        impl From<$name> for $target {
            fn from(name: $name) -> $target {
                match name { $($name::$variant => $value),+ }
            }
        }
    };
}

names!(Which => TrainLabels {
    Candidate = "candidate" => TrainLabels::Candidate,
    Pseudo = "pseudo" => TrainLabels::Pseudo,
    Confidence = "confidence" => TrainLabels::Confidence,
    Truth = "truth" => TrainLabels::Truth,
});
names!(SvmLoss => Loss {
    L1 = "l1" => Loss::Hinge,
    L2 = "l2" => Loss::Squared,
});
names!(Constant => ConstantLabel {
    Margin = "margin" => ConstantLabel::Margin,
    Sklearn = "sklearn" => ConstantLabel::SklearnCompat,
});
names!(Whose => Variant {
    Published = "published" => Variant::Published,
    Skmultilearn = "skmultilearn" => Variant::ScikitMultilearn,
    Mulan = "mulan" => Variant::Mulan,
});
names!(Rules => Convention {
    Sklearn = "sklearn" => Convention::ScikitLearn,
    Mulan = "mulan" => Convention::Mulan,
    Matlab = "matlab" => Convention::Matlab,
    Ref = "ref" => Convention::Reference,
});
names!(Form => CoverageForm {
    Native = "native" => CoverageForm::Native,
    Raw = "raw" => CoverageForm::Raw,
    OverLabels = "over-labels" => CoverageForm::OverLabels,
    MinusOneOverLabels = "minus-one-over-labels" => CoverageForm::MinusOneOverLabels,
    PerInstance = "per-instance" => CoverageForm::PerInstance,
});

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Svm,
    RbfSvm,
    Mlknn,
}

impl Evaluate {
    /// Runs everything and shows it.
    pub fn run(&self, context: &Context) -> Result<bool> {
        let methods = self
            .methods
            .iter()
            .map(|name| method::by_name(name.trim()))
            .collect::<Result<Vec<_>>>()?;
        let classifier = self.classifier()?;
        let protocol = self.protocol()?;
        let data = self.input.open(&self.data)?;
        let mut results = Vec::new();
        for method in &methods {
            let result = evaluate_method(
                &data,
                method.as_ref(),
                classifier.as_ref(),
                &protocol,
                &context.streams,
            )?;
            let seconds: f64 = result.folds.iter().map(|f| f.seconds).sum();
            context.note(format_args!("{}: {seconds:.1} s", result.method));
            results.push(result);
        }
        let settings =
            Settings { seed: context.streams.root(), classifier: classifier.name().to_owned() };
        let report = Report::new(&data, &protocol, settings, &results);
        context.say(report.text());
        context.emit(&report)?;
        Ok(true)
    }

    fn protocol(&self) -> Result<Protocol> {
        if self.repeats == 0 {
            return Err(Error::config("found --repeats 0, expected at least 1"));
        }
        let mut measures = vec![(self.convention.into(), self.coverage.into())];
        if self.all_conventions {
            measures.extend(Convention::ALL.map(|c| (c, CoverageForm::Native)));
        }
        Ok(Protocol {
            folds: self.folds,
            repeats: self.repeats,
            splitter: self.splitter,
            noise: self.noise,
            scheme: self.noise_scheme,
            budgets: parse_budgets(&self.budgets)?,
            train_labels: self.train_labels.map(Into::into),
            measures,
            ..Protocol::default()
        })
    }

    fn classifier(&self) -> Result<Box<dyn Classifier>> {
        match self.classifier {
            Kind::Mlknn => Ok(Box::new(MlKnn {
                k: self.neighbours,
                variant: self.mlknn.into(),
                ..MlKnn::default()
            })),
            Kind::Svm => self.machine(LinearSvm {
                loss: self.svm_loss.into(),
                constant: self.constant_label.into(),
                ..LinearSvm::default()
            }),
            Kind::RbfSvm => {
                self.machine(RbfSvm { constant: self.constant_label.into(), ..RbfSvm::default() })
            }
        }
    }

    /// Gives the machine its C and, if asked for, its probabilities.
    fn machine<C: HasCost + 'static>(&self, machine: C) -> Result<Box<dyn Classifier>> {
        let fixed = match self.svm_c.as_str() {
            "auto" => None,
            text => Some(
                text.parse().ok().filter(|c: &f64| *c > 0.0 && c.is_finite()).ok_or_else(|| {
                    Error::config(format!(
                        "found --svm-c {text}, expected 'auto' or a positive number"
                    ))
                })?,
            ),
        };
        Ok(match (fixed, self.platt) {
            (Some(c), false) => Box::new(machine.with_c(c)),
            (Some(c), true) => Box::new(Platt { inner: machine.with_c(c) }),
            (None, false) => Box::new(Tuned { machine }),
            (None, true) => Box::new(Platt { inner: Tuned { machine } }),
        })
    }
}

/// A share as 0.2 or 20%.
fn parse_rate(text: &str) -> Result<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|p: f64| p / 100.0),
        None => text.parse(),
    };
    value.ok().filter(|r| (0.0..=1.0).contains(r)).ok_or_else(|| {
        Error::config(format!("found '{text}', expected a share such as 0.2 or 20%"))
    })
}
