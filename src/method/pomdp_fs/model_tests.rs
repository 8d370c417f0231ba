//! A model survives its files; files that are not a model are refused.

use super::*;
use crate::method::observation::context::{ContextWeights, OWN};
use crate::method::observation::likelihood::NoiseRate;
use crate::method::pomdp_fs::Preset;
use crate::rng::Streams;

fn model(preset: Preset) -> Model {
    let settings =
        Config { width: 8, heads: 2, layers: 1, at_least_one: true, ..Config::new(preset) };
    let names = |prefix: &str, n: usize| (0..n).map(|j| format!("{prefix}{j}")).collect();
    let description = Description {
        budget: 2,
        features: names("f", 3),
        numbered_features: false,
        labels: names("l", 2),
        nominal: BTreeMap::from([(1, vec!["a".to_owned(), "b".to_owned()])]),
        ranking: vec![2, 0, 1],
        reading: Reading { id: Some("id".to_owned()), ..Reading::default() },
        settings,
    };
    let weights = match preset {
        Preset::Paper => {
            let network = description.network().unwrap();
            let init = |seed| network.init(&Streams::new(seed));
            Weights::Printed { disambiguator: init(1), selector: init(2) }
        }
        Preset::Observation => Weights::Belief(belief(&description.belief_network().unwrap())),
    };
    let scaler = Scaler::from_columns(vec![(0.5, 2.0), (0.0, 0.0), (-1.0, 0.1)]);
    Model { scaler, means: vec![1.5, -2.0, 0.1], weights, description }
}

/// A belief with a context and two parts, for three features and two labels.
fn belief(network: &BeliefNetwork) -> BeliefModel {
    let numbers = |rows: usize, salt: f64| {
        Mat::from_fn(rows, 2, |i, j| 0.3 * (i as f64 - salt) * (j as f64 - 0.4))
    };
    let noise = vec![NoiseRate::new(0.2f32), NoiseRate::new(0.3)];
    BeliefModel {
        rho: vec![0.2, 0.3],
        linear: LinearModel {
            plain: numbers(4, 1.0),
            unit: numbers(4, 2.0),
            context: Some(LabelContext::Linear(ContextWeights {
                mixing: numbers(2, 0.5),
                own: numbers(OWN, 0.1),
            })),
        },
        parts: [1, 2].map(|seed| network.init(&noise, &Streams::new(seed))).to_vec(),
    }
}

fn rows() -> (Mat<f64>, Labels) {
    let x = Mat::from_fn(5, 3, |i, j| (i as f64 - 2.0) * (j as f64 + 0.3));
    (x, Labels::from_fn(5, 2, |i, j| i != 4 && (i + j) % 3 != 0))
}

fn saved(preset: Preset) -> (tempfile::TempDir, Model) {
    let dir = tempfile::tempdir().unwrap();
    let model = model(preset);
    let about = Map::from_iter([("seed".to_owned(), Value::from(3))]);
    model.save(dir.path(), about).unwrap();
    (dir, model)
}

#[test]
fn a_model_survives_its_files() {
    for preset in [Preset::Observation, Preset::Paper] {
        let (dir, model) = saved(preset);
        let loaded = Model::load(dir.path()).unwrap();
        assert_eq!(loaded, model);
        let (x, c) = rows();
        assert_eq!(loaded.disambiguate(&x, &c).unwrap(), model.disambiguate(&x, &c).unwrap());
        let first = std::fs::read(dir.path().join(CONFIG)).unwrap();
        loaded.save(dir.path(), Map::from_iter([("seed".to_owned(), 3.into())])).unwrap();
        assert_eq!(std::fs::read(dir.path().join(CONFIG)).unwrap(), first);
    }
}

#[test]
fn labels_and_scores_are_what_they_promise() {
    let (x, c) = rows();
    let m = model(Preset::Observation);
    let (pseudo, p) = m.disambiguate(&x, &c).unwrap();
    for i in 0..5 {
        assert_eq!(pseudo.row(i).contains(&true), c.row(i).contains(&true), "at least one");
        for j in 0..2 {
            assert!(c.get(i, j) || (!pseudo.get(i, j) && p[(i, j)] == 0.0));
        }
    }
    let scores = m.score(&x).unwrap();
    assert!(scores.as_slice().iter().all(|s| (0.0..=1.0).contains(s)));
    // Rows do not depend on the rows beside them.
    assert_eq!(m.score(&x.select_rows(&[3])).unwrap().row(0), scores.row(3));
    assert_eq!((m.best(1), m.best(9)), (&[2][..], &[2, 0, 1][..]));
    let no_rows = Mat::zeros(0, 3);
    assert_eq!(m.score(&no_rows).unwrap().rows(), 0);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let (x, c) = rows();
    let m = model(Preset::Observation);
    let message = |e: Error| e.message().to_owned();
    let wide = Mat::zeros(5, 4);
    assert_eq!(message(m.score(&wide).unwrap_err()), "found 4 features, expected 3");
    let few = c.select_rows(&[0]);
    assert_eq!(
        message(m.disambiguate(&x, &few).unwrap_err()),
        "found 1×2 candidates, expected 5×2"
    );
    let mut bad = x.clone();
    bad[(1, 2)] = f64::NAN;
    assert!(message(m.score(&bad).unwrap_err()).contains("NaN in row 1, column 2"));
}

#[test]
fn files_that_are_no_model_are_refused() {
    let (dir, _) = saved(Preset::Observation);
    let (config, weights) = (dir.path().join(CONFIG), dir.path().join(WEIGHTS));
    let (text, bytes) =
        (std::fs::read_to_string(&config).unwrap(), std::fs::read(&weights).unwrap());
    let error = || Model::load(dir.path()).unwrap_err().to_string();

    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for broken in [&damaged[..], &bytes[..bytes.len() / 2], b""] {
        std::fs::write(&weights, broken).unwrap();
        assert!(error().contains("the file is damaged"), "{}", error());
    }
    std::fs::write(&weights, &bytes).unwrap();

    for (from, to, expected) in [
        ("pomdp-fs model 2", "pomdp-fs model 9", "expected pomdp-fs model 2"),
        ("\"budget\": 2", "\"budget\": 4", "found the budget 4, expected 1 to 3"),
        ("\"budget\": 2", "\"budget\": \"two\"", "invalid type"),
        ("\"width\": 8", "\"width\": 16", "and shape [1, 8], expected F32 and [1, 16]"),
        ("\"l1\"", "\"l1\", \"l2\"", "expected F64 and [3]"),
        ("\"clip\": 5.0", "\"clip\": -5.0", "clip is -5, allowed"),
        ("\"clip\"", "\"clop\"", "this program of"),
        ("\"f0\",", "", "'ranking' does not name each of the 2 features once"),
    ] {
        assert!(text.contains(from), "{from}");
        // Sealed again: what is meant here is a wrong value, not damage.
        let mut edited: Map<String, Value> =
            serde_json::from_str(&text.replacen(from, to, 1)).unwrap();
        edited.remove("file_sha256");
        std::fs::write(&config, io::sealed_pretty(&edited).unwrap()).unwrap();
        assert!(error().contains(expected), "{}", error());
    }
    std::fs::write(&config, &text[..text.len() / 2]).unwrap();
    assert!(error().contains("config.json:"), "{}", error());
    std::fs::remove_file(&config).unwrap();
    assert!(error().contains("config.json: found no such file"), "{}", error());
}
