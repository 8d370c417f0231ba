//! A trained model as two files, and what it does with new rows.
//!
//! `model.safetensors` holds the numbers: `disambiguator.*` are the weights after Stage 1,
//! `selector.*` those after Stage 2, `scale.*` the features' centres and factors. `config.json` holds
//! what they mean: names, ranking, settings, the SHA-256 of the numbers and its own, so that a damaged
//! or exchanged file is found before it is used.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::belief::BeliefModel;
use super::belief::network::BeliefNetwork;
use super::config::{Config, Preset};
use super::network::Network;
use super::stage1::labels::{confidence, pseudo_labels, without_candidates};
use crate::data::{Labels, Reading, Scaler};
use crate::linalg::Mat;
use crate::method::observation::LinearModel;
use crate::method::observation::label_context::{Form, LabelContext};
use crate::method::settings::Settings;
use crate::nn::Layout;
use crate::tensors::{Packer, Unpacked};
use crate::{Error, Result, checksum, io};

/// File with the numbers.
pub const WEIGHTS: &str = "model.safetensors";
/// File with what they mean.
pub const CONFIG: &str = "config.json";
const FORMAT: &str = "pomdp-fs model 2";

/// Everything that new rows need.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Names, ranking and settings.
    pub description: Description,
    /// From raw to scaled features.
    pub scaler: Scaler,
    /// Mean of each raw feature over the rows that trained: what a missing value becomes.
    pub means: Vec<f64>,
    /// What was learned.
    pub weights: Weights,
}

/// What a fit learned, by its preset.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // a model has one
pub enum Weights {
    /// Preset `paper`: one network, whose weights both stages move.
    Printed {
        /// Weights after Stage 1: they disambiguate new rows.
        disambiguator: Vec<f32>,
        /// Weights after Stage 2.
        selector: Vec<f32>,
    },
    /// Preset `observation`: beliefs about labels.
    Belief(BeliefModel),
}

/// The part of `config.json` that a model needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Number of selected features.
    pub budget: usize,
    /// Names of the d features.
    pub features: Vec<String>,
    /// The data had no names for the features, so the reader numbered them.
    #[serde(default)]
    pub numbered_features: bool,
    /// Names of the L labels.
    pub labels: Vec<String>,
    /// Declared values of the nominal features, as in [`crate::data::Dataset::nominal`].
    pub nominal: BTreeMap<usize, Vec<String>>,
    /// All features, best first.
    pub ranking: Vec<usize>,
    /// How the data were read.
    #[serde(default)]
    pub reading: Reading,
    /// Settings of the fit.
    pub settings: Config,
}

impl Model {
    /// Writes the two files into the folder `dir`. `about` goes into `config.json` beside the
    /// model's own keys.
    pub fn save(&self, dir: &Path, about: Map<String, Value>) -> Result<()> {
        let weights = self.pack()?;
        let mut file = about;
        let own = serde_json::to_value(&self.description).expect("plain values");
        file.extend(own.as_object().cloned().unwrap_or_default());
        file.insert("format".into(), FORMAT.into());
        file.insert("version".into(), env!("CARGO_PKG_VERSION").into());
        file.insert("model_sha256".into(), checksum::sha256(&weights).into());
        io::write_atomic(&dir.join(WEIGHTS), &weights)?;
        io::write_atomic(&dir.join(CONFIG), io::sealed_pretty(&file)?.as_bytes())
    }

    fn pack(&self) -> Result<Vec<u8>> {
        let mut packer = Packer::default();
        match &self.weights {
            Weights::Printed { disambiguator, selector } => {
                let network = self.description.network()?;
                put_arena(&mut packer, "disambiguator", &network.layout, disambiguator);
                put_arena(&mut packer, "selector", &network.layout, selector);
            }
            Weights::Belief(belief) => {
                put_belief(&mut packer, belief, &self.description.belief_network()?.layout);
            }
        }
        let (centre, factor): (Vec<f64>, Vec<f64>) = self.scaler.columns().iter().copied().unzip();
        packer.put("scale.centre", &[centre.len()], &centre);
        packer.put("scale.factor", &[factor.len()], &factor);
        packer.put("means", &[self.means.len()], &self.means);
        packer.pack(Some(("format", FORMAT.to_owned())))
    }

    /// Reads the two files in the folder `dir`.
    pub fn load(dir: &Path) -> Result<Self> {
        let (config, weights) = (dir.join(CONFIG), dir.join(WEIGHTS));
        if let Some(missing) = [&config, &weights].into_iter().find(|f| !f.is_file()) {
            let found = if missing.is_dir() { "a folder" } else { "no such file" };
            return Err(Error::found(found, "a model as 'pomdp-fs select' writes it")
                .in_file(missing)
                .hint("name the folder of its results"));
        }
        let (description, sha256) =
            read_config(&io::read(&config)?).map_err(|e| e.in_file(&config))?;
        let bytes = io::read(&weights)?;
        if checksum::sha256(&bytes) != sha256 {
            return Err(Error::input("the file is damaged, or it is not the one of config.json")
                .in_file(&weights)
                .hint("copy the whole folder again, or repeat 'pomdp-fs select'"));
        }
        unpack(description, &bytes).map_err(|e| e.in_file(&weights))
    }

    /// The best `count` features, best first; all of them when there are fewer.
    pub fn best(&self, count: usize) -> &[usize] {
        &self.description.ranking[..count.min(self.description.ranking.len())]
    }

    /// Pseudo labels and the probability of each label for rows of raw features (in the order of
    /// the model) with their candidates.
    pub fn disambiguate(&self, x: &Mat<f64>, candidates: &Labels) -> Result<(Labels, Mat<f32>)> {
        let labels = self.description.labels.len();
        if (candidates.rows(), candidates.cols()) != (x.rows(), labels) {
            let found = format!("{}×{} candidates", candidates.rows(), candidates.cols());
            return Err(Error::found(found, format!("{}×{labels}", x.rows())));
        }
        let x = self.scaled(x)?;
        let p = match &self.weights {
            Weights::Printed { disambiguator, .. } => {
                let network = self.description.network()?;
                network.check_inputs(&x, disambiguator)?;
                confidence(&network, disambiguator, &x, candidates)
            }
            Weights::Belief(belief) => {
                belief.confidence(&self.description.belief_network()?, &x, &candidates.to_mat())
            }
        };
        let at_least_one = self.description.settings.at_least_one;
        Ok((pseudo_labels(&p, candidates, at_least_one), p))
    }

    /// The probability of each label from the features alone. Preset `paper` shows its encoder the
    /// empty set of candidates, as in Stage 2.
    pub fn score(&self, x: &Mat<f64>) -> Result<Mat<f32>> {
        let x = self.scaled(x)?;
        match &self.weights {
            Weights::Printed { disambiguator, .. } => {
                let network = self.description.network()?;
                network.check_inputs(&x, disambiguator)?;
                Ok(without_candidates(&network, disambiguator, &x))
            }
            Weights::Belief(belief) => Ok(belief.prior(&x)),
        }
    }

    /// The scaled features, checked.
    fn scaled(&self, x: &Mat<f64>) -> Result<Mat<f32>> {
        let expected = self.description.features.len();
        if x.cols() != expected {
            return Err(Error::found(format!("{} features", x.cols()), expected));
        }
        let rows: Vec<usize> = (0..x.rows()).collect();
        let x = self.scaler.apply(x, &rows);
        x.check_finite("features")?;
        Ok(x)
    }
}

impl Description {
    fn network(&self) -> Result<Network> {
        Network::new(self.settings.network(self.features.len(), self.labels.len()))
    }

    fn belief_network(&self) -> Result<BeliefNetwork> {
        self.settings.belief_network(self.features.len(), self.labels.len())
    }

    /// Refuses what no fit writes.
    fn check(&self) -> Result<()> {
        self.settings.check()?;
        let d = self.features.len();
        if d == 0 || self.labels.is_empty() {
            let found = format!("{d} features and {} labels", self.labels.len());
            return Err(Error::found(found, "at least one of each"));
        }
        let mut sorted = self.ranking.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..d) {
            return Err(Error::input(format!(
                "'ranking' does not name each of the {d} features once (from 0)"
            )));
        }
        if !(1..=d).contains(&self.budget) {
            return Err(Error::found(format!("the budget {}", self.budget), format!("1 to {d}")));
        }
        Ok(())
    }
}

/// The description, and the SHA-256 that the weights should have.
fn read_config(bytes: &[u8]) -> Result<(Description, String)> {
    let value: Value = io::parse_sealed(bytes)?;
    if value["format"] != FORMAT {
        return Err(Error::found(format!("the format {}", value["format"]), FORMAT)
            .hint("this is no model of 'pomdp-fs select', or one of another version"));
    }
    let version = value["version"].as_str().unwrap_or("unknown").to_owned();
    let sha256 = value["model_sha256"].as_str().unwrap_or_default().to_owned();
    let description: Description = serde_json::from_value(value).map_err(|e| {
        let ours = env!("CARGO_PKG_VERSION");
        Error::input(e.to_string())
            .hint(format!("the model is of version {version}, this program of {ours}"))
    })?;
    description.check()?;
    Ok((description, sha256))
}

fn unpack(description: Description, bytes: &[u8]) -> Result<Model> {
    let arrays = Unpacked::new(bytes)?;
    let features = description.features.len();
    let weights = match description.settings.preset {
        Preset::Paper => {
            let layout = description.network()?.layout;
            Weights::Printed {
                disambiguator: get_arena(&arrays, "disambiguator", &layout)?,
                selector: get_arena(&arrays, "selector", &layout)?,
            }
        }
        Preset::Observation => {
            let layout = description.belief_network()?.layout;
            Weights::Belief(get_belief(&arrays, &layout, (features, description.labels.len()))?)
        }
    };
    let centre = arrays.get_shaped::<f64>("scale.centre", &[features])?;
    let factor = arrays.get_shaped::<f64>("scale.factor", &[features])?;
    let means = arrays.get_shaped::<f64>("means", &[features])?;
    finite("scaling", centre.iter().chain(&factor).chain(&means))?;
    let scaler = Scaler::from_columns(centre.into_iter().zip(factor).collect());
    Ok(Model { description, scaler, means, weights })
}

fn finite<'a>(what: &str, mut values: impl Iterator<Item = &'a f64>) -> Result<()> {
    match values.find(|v| !v.is_finite()) {
        Some(bad) => Err(Error::found(format!("{bad} in the {what}"), "finite numbers")),
        None => Ok(()),
    }
}

fn put_arena(packer: &mut Packer, group: &str, layout: &Layout, weights: &[f32]) {
    for (name, param) in layout.iter() {
        let (rows, cols) = param.shape();
        packer.put(format!("{group}.{name}"), &[rows, cols], param.slice(weights));
    }
}

fn get_arena(arrays: &Unpacked<'_>, group: &str, layout: &Layout) -> Result<Vec<f32>> {
    let mut weights = Vec::with_capacity(layout.len());
    for (name, param) in layout.iter() {
        let (rows, cols) = param.shape();
        weights.extend(arrays.get_shaped::<f32>(&format!("{group}.{name}"), &[rows, cols])?);
    }
    layout.check_finite(&weights, group)?;
    Ok(weights)
}

fn put_belief(packer: &mut Packer, belief: &BeliefModel, layout: &Layout) {
    packer.put("rho", &[belief.rho.len()], &belief.rho);
    let LinearModel { plain, unit, context } = &belief.linear;
    let mut put = |name: &str, m: &Mat<f64>| packer.put(name, &[m.rows(), m.cols()], m.as_slice());
    put("linear.plain", plain);
    put("linear.unit", unit);
    for (name, array) in context.iter().flat_map(LabelContext::arrays) {
        put(&format!("linear.context.{name}"), &array);
    }
    let form = match context.as_ref().map(LabelContext::form) {
        None => 0.0,
        Some(Form::Linear) => 1.0,
        Some(Form::Joint) => 2.0,
    };
    let count = [belief.parts.len() as f64, form];
    packer.put("parts", &[2], &count);
    for (k, weights) in belief.parts.iter().enumerate() {
        put_arena(packer, &format!("part{k}"), layout, weights);
    }
}

fn get_belief(
    arrays: &Unpacked<'_>,
    layout: &Layout,
    (features, labels): (usize, usize),
) -> Result<BeliefModel> {
    let sized = |name: &str, rows: usize, cols: usize| -> Result<Mat<f64>> {
        let values = arrays.get_shaped::<f64>(name, &[rows, cols])?;
        finite(name, values.iter())?;
        Ok(Mat::from_vec(rows, cols, values))
    };
    let matrix = |name: &str, rows: usize| sized(name, rows, labels);
    let rho = arrays.get_shaped::<f64>("rho", &[labels])?;
    if let Some(bad) = rho.iter().find(|r| !(**r > 0.0 && **r < 1.0)) {
        return Err(Error::found(format!("the noise rate {bad}"), "a number between 0 and 1"));
    }
    let count = arrays.get_shaped::<f64>("parts", &[2])?;
    let form = match count[1] {
        0.0 => None,
        1.0 => Some(Form::Linear),
        2.0 => Some(Form::Joint),
        other => {
            return Err(Error::found(format!("label context of kind {other}"), "0, 1 or 2"));
        }
    };
    let of_context = |name: &str, rows, cols| sized(&format!("linear.context.{name}"), rows, cols);
    let context = form.map(|form| form.read(labels, of_context)).transpose()?;
    let linear = LinearModel {
        plain: matrix("linear.plain", features + 1)?,
        unit: matrix("linear.unit", features + 1)?,
        context,
    };
    let parts = (0..count[0] as usize)
        .map(|k| get_arena(arrays, &format!("part{k}"), layout))
        .collect::<Result<_>>()?;
    Ok(BeliefModel { rho, linear, parts })
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
