//! Which sets, methods, seeds, folds and studies a grid holds.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::task::GridPlan;
use crate::data::choice::choice;
use crate::data::noise::Scheme;
use crate::data::{Dataset, ReadOptions, catalog};
use crate::experiment::{Budget, MethodRun, Plan, Protocol, Scoring, TrainLabels, parse_budgets};
use crate::measure::{Convention, CoverageForm};
use crate::method::{self, Method};
use crate::{Error, Result};

/// A part of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// All methods at the paper's noise, and on sets that bring their own candidates.
    Main,
    /// Labels under less and more noise, and under noise that the model does not describe.
    Noise,
    /// POMDP-FS without one of its parts.
    Ablation,
}

choice!(Study { Main => "main", Noise => "noise", Ablation => "ablation" });

/// The paper's share of noise.
const NOISE: f64 = 0.2;

/// Noise other than the paper's.
const OTHER_NOISE: [(Scheme, f64); 6] = [
    (Scheme::Uniform, 0.1),
    (Scheme::Uniform, 0.3),
    (Scheme::Uniform, 0.4),
    (Scheme::PerInstance, NOISE),
    (Scheme::PerLabel, NOISE),
    (Scheme::CoOccurring, NOISE),
];

/// Methods whose labels the noise study follows.
const NOISE_METHODS: [&str; 2] = ["pomdp-fs", "logistic-context"];

/// Sets of the paper's Table 4, and the set that the program carries.
const ABLATION_SETS: [&str; 5] = ["bibtex", "birds", "humanpseaac", "mediamill", "yeast"];

/// A row of Table 4 alone: by default it is run on that table's sets.
const TABLE4_METHOD: &str = "pomdp-fs-soft";

/// Other cuts of a set that is there already: the main study compares them with the printed numbers,
/// the noise study would tell the same twice.
const OTHER_CUTS: [&str; 2] = ["humanpseaac-40", "slashdot-paper"];

/// Changes of POMDP-FS that the ablation tries, each one alone.
fn variants() -> [Value; 7] {
    [
        json!({ "label_context": false }),
        json!({ "rho": 0.2 }),
        json!({ "rho_per_label": true }),
        json!({ "cross_fit": 3 }),
        json!({ "gamma": 0.0 }),
        json!({ "rollouts": 2 }),
        json!({ "soft": false }),
    ]
}

/// A grid. The same choice on the same data is the same cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Names in the catalog, or paths.
    pub sets: Vec<String>,
    /// Methods of the main study; none: all, with `pomdp-fs-soft` on the sets of Table 4 alone.
    pub methods: Vec<String>,
    /// Roots of the random streams.
    pub seeds: Vec<u64>,
    /// Number of folds.
    pub folds: usize,
    /// Of these only some, counted from 0; none: all.
    pub only_folds: Vec<usize>,
    /// Which studies.
    pub studies: Vec<Study>,
    /// Budgets of the main study, as `evaluate --budgets` reads them.
    pub budgets: String,
}

/// A set of the grid, read.
pub struct GridSet {
    /// What the grid calls it.
    pub name: String,
    /// Name in tables.
    pub title: String,
    /// Not all instances were there.
    pub partial: bool,
    /// The data.
    pub data: Dataset,
}

/// Reads the sets.
pub fn sets(choice: &Choice, folders: &catalog::Folders) -> Result<Vec<GridSet>> {
    let mut sets = Vec::new();
    for name in &choice.sets {
        let data = catalog::open(name, catalog::Cut::Paper, folders, &ReadOptions::default())?;
        if data.truth.is_none() {
            return Err(Error::input(
                "found no true labels, expected them: without truth nothing can be scored",
            )
            .in_file(name));
        }
        let title = catalog::find(name).map_or_else(|_| data.name.clone(), |entry| entry.title);
        let partial = data.source.notes.iter().any(|note| note.starts_with("partial"));
        sets.push(GridSet { name: data.name.clone(), title, partial, data });
    }
    Ok(sets)
}

impl Choice {
    /// Refuses what no grid can be made of.
    pub fn check(&self) -> Result<()> {
        for (what, count) in [("sets", self.sets.len()), ("seeds", self.seeds.len())] {
            if count == 0 {
                return Err(Error::config(format!("found no {what}, expected at least one")));
            }
        }
        if let Some(fold) = self.only_folds.iter().find(|f| **f >= self.folds) {
            let last = self.folds.saturating_sub(1);
            return Err(Error::config(format!("found fold {fold}, expected 0 to {last}")));
        }
        self.methods.iter().try_for_each(|name| method::by_name(name).map(|_| ()))?;
        parse_budgets(&self.budgets).map(|_| ())
    }

    /// One plan per study, set, kind of noise and seed.
    pub fn plans<'a>(&self, sets: &'a [GridSet]) -> Result<Vec<GridPlan<'a>>> {
        self.check()?;
        let mut plans = Vec::new();
        for set in sets {
            for &seed in &self.seeds {
                for &study in &self.studies {
                    for (scheme, noise) in noises(study, set) {
                        let runs = self.runs(study, set)?;
                        if runs.is_empty() {
                            continue;
                        }
                        let folds = self.folds;
                        let protocol =
                            Protocol { seed, folds, noise, scheme, ..Protocol::default() };
                        let scoring = self.scoring(study)?;
                        let plan = Plan::new(&set.data, protocol, scoring, runs, true)
                            .map_err(|e| e.about(&set.name))?;
                        plans.push(GridPlan { set, study, plan });
                    }
                }
            }
        }
        Ok(plans)
    }

    fn runs(&self, study: Study, set: &GridSet) -> Result<Vec<MethodRun>> {
        let in_table4 = ABLATION_SETS.contains(&&*set.name);
        let asked = |name: &str| match &self.methods[..] {
            [] => true,
            methods => methods.iter().any(|m| m == name),
        };
        let plain = |names: &mut dyn Iterator<Item = &str>| -> Result<Vec<MethodRun>> {
            names.map(|name| Ok(MethodRun::new(method::by_name(name)?))).collect()
        };
        match study {
            Study::Main if self.methods.is_empty() => plain(
                &mut method::NAMES.into_iter().filter(|name| in_table4 || *name != TABLE4_METHOD),
            ),
            Study::Main => plain(&mut self.methods.iter().map(String::as_str)),
            Study::Noise => plain(&mut NOISE_METHODS.into_iter().filter(|name| asked(name))),
            Study::Ablation if asked("pomdp-fs") && in_table4 => {
                variants().iter().map(variant).collect()
            }
            Study::Ablation => Ok(Vec::new()),
        }
    }

    /// Both protocols, all budgets and conventions from one fit. The paper's budget is enough for the
    /// ablation; the study of noise looks at labels alone, so nothing is classified and the ranking that
    /// every fit makes ends with one feature.
    fn scoring(&self, study: Study) -> Result<Scoring> {
        let mut measures = vec![(Convention::ScikitLearn, CoverageForm::OverLabels)];
        let scoring = Scoring { train_labels: TrainLabels::ALL.to_vec(), ..Scoring::default() };
        Ok(match study {
            Study::Main => {
                measures.extend(Convention::ALL.map(|c| (c, CoverageForm::Native)));
                Scoring { budgets: parse_budgets(&self.budgets)?, measures, ..scoring }
            }
            Study::Noise => Scoring {
                budgets: vec![Budget::Count(1)],
                classifiers: Vec::new(),
                measures,
                ..scoring
            },
            Study::Ablation => Scoring { measures, ..scoring },
        })
    }
}

/// The noises of a study; a set with candidates of its own has no other, another cut of a set needs no
/// other.
fn noises(study: Study, set: &GridSet) -> Vec<(Scheme, f64)> {
    match (study, &set.data.candidates) {
        (Study::Noise, Some(_)) => Vec::new(),
        (Study::Noise, None) if OTHER_CUTS.contains(&&*set.name) => Vec::new(),
        (Study::Noise, None) => OTHER_NOISE.to_vec(),
        (Study::Main | Study::Ablation, _) => vec![(Scheme::Uniform, NOISE)],
    }
}

fn variant(changes: &Value) -> Result<MethodRun> {
    let base: Box<dyn Method> = method::by_name("pomdp-fs")?;
    let named = changes.as_object().into_iter().flatten();
    let name: Vec<String> = named.map(|(key, value)| format!("{key}={value}")).collect();
    let mut run = MethodRun::new(base.with(changes)?);
    run.variant = name.join(" ");
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::fixture::small;

    #[test]
    fn every_variant_is_a_setting_of_the_method() {
        for changes in variants() {
            let run = variant(&changes).unwrap();
            assert!(run.label().starts_with("pomdp-fs "), "{}", run.label());
        }
        assert!(variant(&json!({ "no_such": 1 })).is_err());
    }

    #[test]
    fn studies_have_their_methods_and_scores() {
        let set = |name: &str| GridSet {
            name: name.to_owned(),
            title: name.to_owned(),
            partial: false,
            data: small(|_, _| true),
        };
        let choice = |methods: &[&str]| Choice {
            sets: vec!["any".to_owned()],
            methods: methods.iter().map(|m| (*m).to_owned()).collect(),
            seeds: vec![0],
            folds: 2,
            only_folds: Vec::new(),
            studies: Study::ALL.to_vec(),
            budgets: "paper".to_owned(),
        };
        let (main, noise) = (choice(&[]).scoring(Study::Main), choice(&[]).scoring(Study::Noise));
        assert!(!main.unwrap().classifiers.is_empty());
        let noise = noise.unwrap();
        assert!(noise.classifiers.is_empty() && noise.largest(50) == 1, "labels alone");
        let count = |choice: &Choice, study, name| choice.runs(study, &set(name)).unwrap().len();
        let (all, soft) = (choice(&[]), choice(&[TABLE4_METHOD]));
        assert_eq!(count(&all, Study::Main, "birds"), method::NAMES.len());
        assert_eq!(count(&all, Study::Main, "emotions"), method::NAMES.len() - 1);
        assert_eq!(count(&soft, Study::Main, "emotions"), 1);
        assert_eq!(count(&all, Study::Ablation, "birds"), variants().len());
        assert_eq!(count(&soft, Study::Ablation, "birds"), 0);
        assert_eq!(noises(Study::Noise, &set("slashdot")).len(), OTHER_NOISE.len());
        assert_eq!(noises(Study::Noise, &set("slashdot-paper")).len(), 0);
    }
}
