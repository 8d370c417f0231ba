//! A method of your own behind the trait `Method`, evaluated beside the others.
//!
//! `cargo run --release --example custom_method`

use pomdp_fs::method::settings::{self, Settings, within};
use pomdp_fs::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Ranks a feature by how strongly it goes with the candidate labels: Σ_j |mean of x where label j is
/// a candidate − mean elsewhere|, each label weighted by (share of its candidates)^power.
#[derive(Clone)]
struct MeanDifference {
    settings: Power,
}

/// Settings are a plain struct: their names are those of `--set` and of result files.
#[derive(Clone, Serialize, Deserialize)]
struct Power {
    power: i32,
}

impl Settings for Power {
    fn check(&self) -> Result<()> {
        within("power", f64::from(self.power), 0.0, 4.0)
    }
}

impl Method for MeanDifference {
    fn name(&self) -> &str {
        "mean-difference"
    }

    fn settings(&self) -> Value {
        settings::object(&self.settings)
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        Ok(Box::new(MeanDifference { settings: settings::changed(&self.settings, changes)? }))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, candidates) = (training.x, training.candidates);
        let n = x.rows() as f64;
        let mut scores = vec![0.0; x.cols()];
        for j in 0..candidates.cols() {
            // The observer shows the progress and may stop the fit.
            if !context.observer.progress("labels", j, candidates.cols()) {
                return Err(Error::cancelled());
            }
            let count = (0..x.rows()).filter(|&i| candidates.get(i, j)).count() as f64;
            let weight = (0..self.settings.power).fold(1.0, |w, _| w * count / n);
            for (feature, score) in scores.iter_mut().enumerate() {
                let (mut with, mut without) = (0.0, 0.0);
                for i in 0..x.rows() {
                    let sum = if candidates.get(i, j) { &mut with } else { &mut without };
                    *sum += f64::from(x[(i, feature)]);
                }
                let difference: f64 = with / count.max(1.0) - without / (n - count).max(1.0);
                *score += weight * difference.abs();
            }
        }
        Ok(Fitted { ranking: rank(&scores), ..Fitted::default() })
    }

    /// What `evaluate --tune` tries besides the default.
    fn grid(&self) -> Vec<Value> {
        vec![json!({"power": 0}), json!({"power": 2})]
    }
}

fn main() -> Result<()> {
    // 20 features, of which the first four cause a label each.
    let mut rng = Streams::new(3).stream("data");
    let x = Mat::from_fn(400, 20, |_, _| rng.normal());
    let truth = Labels::from_fn(400, 4, |i, j| x[(i, j)] + 0.3 * rng.normal() > 0.6);
    let names = |word: &str, count| (0..count).map(|k| format!("{word}{k}")).collect();
    let data = Dataset {
        name: "made up".into(),
        x,
        truth: Some(truth),
        feature_names: names("feature", 20),
        label_names: names("label", 4),
        ..Dataset::default()
    };

    let mine = MeanDifference { settings: Power { power: 1 } };
    let methods: Vec<Box<dyn Method>> = vec![Box::new(mine), by_name("random")?, by_name("all")?];
    let scoring = Scoring { budgets: vec![Budget::Count(4)], ..Scoring::default() };
    let results = evaluate(&data, methods, &Protocol::default(), &scoring)?;
    println!("ranking loss with 4 of 20 features, 5 folds, 20 % noise:");
    for entry in results.entries() {
        let (mean, std) = moments(&entry.values(0, 0));
        println!("{:<16} {mean:.3} ± {std:.3}", entry.method);
    }
    Ok(())
}
