//! A trained model as two files, and what it does with new rows.
//!
//! `model.safetensors` holds the numbers: `disambiguator.*` are the weights after Stage 1,
//! `selector.*` those after Stage 2, `scale.*` the features' centres and factors. `config.json` holds
//! what they mean: names, ranking, settings, and the SHA-256 of the numbers, so that a damaged or
//! exchanged file is found before it is used.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::config::Config;
use super::network::Network;
use super::stage1::labels::{confidence, pseudo_labels};
use crate::data::{Labels, Scaler};
use crate::linalg::Mat;
use crate::method::settings::Settings;
use crate::num::Real;
use crate::tensors::{Packer, Unpacked};
use crate::{Error, Result, checksum, io};

/// File with the numbers.
pub const WEIGHTS: &str = "model.safetensors";
/// File with what they mean.
pub const CONFIG: &str = "config.json";
const FORMAT: &str = "pomdp-fs model 1";

/// Everything that new rows need.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Names, ranking and settings.
    pub description: Description,
    /// From raw to scaled features.
    pub scaler: Scaler,
    /// Weights after Stage 1.
    pub disambiguator: Vec<f32>,
    /// Weights after Stage 2.
    pub selector: Vec<f32>,
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
        let text = serde_json::to_string_pretty(&file).expect("plain values") + "\n";
        io::write_atomic(&dir.join(WEIGHTS), &weights)?;
        io::write_atomic(&dir.join(CONFIG), text.as_bytes())
    }

    fn pack(&self) -> Result<Vec<u8>> {
        let network = self.network()?;
        let mut packer = Packer::default();
        for (group, weights) in self.weights() {
            for (name, param) in network.layout.iter() {
                let (rows, cols) = param.shape();
                packer.put(format!("{group}.{name}"), &[rows, cols], param.slice(weights));
            }
        }
        let (centre, factor): (Vec<f64>, Vec<f64>) = self.scaler.columns().iter().copied().unzip();
        packer.put("scale.centre", &[centre.len()], &centre);
        packer.put("scale.factor", &[factor.len()], &factor);
        packer.pack(Some(("format", FORMAT.to_owned())))
    }

    /// The weights after each stage, with the names of their groups in the file.
    fn weights(&self) -> [(&'static str, &[f32]); 2] {
        [("disambiguator", &self.disambiguator), ("selector", &self.selector)]
    }

    /// Reads the two files in the folder `dir`.
    pub fn load(dir: &Path) -> Result<Self> {
        let (config, weights) = (dir.join(CONFIG), dir.join(WEIGHTS));
        if let Some(missing) = [&config, &weights].into_iter().find(|f| !f.is_file()) {
            return Err(Error::found("no such file", "a model as 'pomdp-fs select' writes it")
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

    fn network(&self) -> Result<Network> {
        self.description.network()
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
        let (network, x) = self.ready(x)?;
        let p = confidence(&network, &self.disambiguator, &x, candidates);
        let at_least_one = self.description.settings.at_least_one;
        Ok((pseudo_labels(&p, candidates, at_least_one), p))
    }

    /// σ(U): the probability of each label from the features alone. Where the encoder has a token
    /// for the candidates (preset `paper`), it sees the empty set, as in Stage 2.
    pub fn score(&self, x: &Mat<f64>) -> Result<Mat<f32>> {
        let nothing = Mat::zeros(x.rows(), self.description.labels.len());
        let (network, x) = self.ready(x)?;
        let mut saved = network.stage1_saved();
        let batch = (x.view(), nothing.view());
        network.forward(&mut saved, batch, &self.disambiguator, None);
        let u = &saved.logits;
        Ok(Mat::from_fn(u.rows(), u.cols(), |i, j| u[(i, j)].sigmoid()))
    }

    /// The network and the scaled features, checked.
    fn ready(&self, x: &Mat<f64>) -> Result<(Network, Mat<f32>)> {
        let network = self.network()?;
        let expected = self.description.features.len();
        if x.cols() != expected {
            return Err(Error::found(format!("{} features", x.cols()), expected));
        }
        let rows: Vec<usize> = (0..x.rows()).collect();
        let x = self.scaler.apply(x, &rows);
        network.check_inputs(&x, &self.disambiguator)?;
        Ok((network, x))
    }
}

impl Description {
    fn network(&self) -> Result<Network> {
        Network::new(self.settings.network(self.features.len(), self.labels.len()))
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
    let value: Value = io::parse_json(bytes)?;
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
    let (network, features) = (description.network()?, description.features.len());
    let weights = |group: &str| -> Result<Vec<f32>> {
        let mut weights = Vec::with_capacity(network.layout.len());
        for (name, param) in network.layout.iter() {
            let (rows, cols) = param.shape();
            let values = arrays.get_shaped::<f32>(&format!("{group}.{name}"), &[rows, cols])?;
            weights.extend(values);
        }
        network.layout.check_finite(&weights, group)?;
        Ok(weights)
    };
    let (disambiguator, selector) = (weights("disambiguator")?, weights("selector")?);
    let centre = arrays.get_shaped::<f64>("scale.centre", &[features])?;
    let factor = arrays.get_shaped::<f64>("scale.factor", &[features])?;
    if let Some(bad) = centre.iter().chain(&factor).find(|v| !v.is_finite()) {
        return Err(Error::found(format!("{bad} in the scaling"), "finite numbers"));
    }
    let scaler = Scaler::from_columns(centre.into_iter().zip(factor).collect());
    Ok(Model { description, scaler, disambiguator, selector })
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
