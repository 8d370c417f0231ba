//! Columns of new data for the features and labels of a model: by name, whatever their order.

use std::collections::HashMap;

use super::model::{Description, Model};
use crate::data::{Dataset, Needed};
use crate::text::name;
use crate::{Error, Result};

/// How the columns were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// By their names.
    Name,
    /// By their places, since one side has numbers instead of names.
    Position,
}

impl Model {
    /// What a file must have for this model, and what its missing values become.
    pub fn needs(&self) -> Needed {
        let d = &self.description;
        Needed {
            features: d.features.clone(),
            numbered: d.numbered_features,
            labels: d.labels.clone(),
            one_hot: d.reading.one_hot.clone(),
            id: d.reading.id.clone(),
            tags: d.reading.tags.clone(),
            means: d.features.iter().cloned().zip(self.means.iter().copied()).collect(),
        }
    }
}

impl Description {
    /// For each feature of the model its column in `data`.
    pub fn feature_columns(&self, data: &Dataset) -> Result<(Vec<usize>, Matched)> {
        let (columns, matched) = self.columns(data)?;
        // The number of a nominal value is its place among the declared ones.
        for (feature, known) in &self.nominal {
            let declared = columns.get(*feature).and_then(|c| data.nominal.get(c));
            if let Some(declared) = declared.filter(|d| *d != known) {
                return Err(Error::found(
                    format!(
                        "the values {{{}}} of the feature '{}'",
                        declared.join(","),
                        self.features[*feature]
                    ),
                    format!("{{{}}} as in the data of the model", known.join(",")),
                ));
            }
        }
        Ok((columns, matched))
    }

    fn columns(&self, data: &Dataset) -> Result<(Vec<usize>, Matched)> {
        let (wanted, names) = (&self.features, &data.feature_names);
        if wanted == names {
            return Ok(((0..names.len()).collect(), Matched::Name));
        }
        let place: HashMap<&str, usize> =
            names.iter().enumerate().rev().map(|(c, n)| (n.as_str(), c)).collect();
        let found: Vec<Option<usize>> =
            wanted.iter().map(|n| place.get(n.as_str()).copied()).collect();
        let Some(first) = found.iter().position(Option::is_none) else {
            return Ok((found.into_iter().flatten().collect(), Matched::Name));
        };
        let nameless = data.source.numbered_features || self.numbered_features;
        if nameless && names.len() == wanted.len() {
            return Ok(((0..names.len()).collect(), Matched::Position));
        }
        let missing = found.iter().filter(|c| c.is_none()).count();
        let others = if missing > 1 {
            format!(" (and {} more of {})", missing - 1, wanted.len())
        } else {
            String::new()
        };
        let hint = if nameless {
            format!(
                "without names the columns are taken by position: {} features are expected and {} \
                 were found; which columns are labels?",
                wanted.len(),
                names.len()
            )
        } else {
            "the model needs every feature that it was trained with; names must be spelled alike"
                .to_owned()
        };
        let message = format!("the data have no feature '{}'{others}", name(&wanted[first]));
        Err(Error::input(message).hint(hint))
    }

    /// For each label of the model its column in `data`.
    pub fn label_columns(&self, data: &Dataset) -> Result<Vec<usize>> {
        let names = &data.label_names;
        if let Some(unknown) = names.iter().find(|n| !self.labels.contains(n)) {
            return Err(Error::input(format!("the model knows no label '{}'", name(unknown)))
                .hint(format!(
                    "its labels are {}",
                    self.labels.iter().map(|l| name(l)).collect::<Vec<_>>().join(", ")
                )));
        }
        let place = |label: &String| {
            names.iter().position(|n| n == label).ok_or_else(|| {
                Error::input(format!("the data have no label '{}'", name(label))).hint(
                    "every label of the model is needed; a label that is never a candidate is a \
                     column of zeros",
                )
            })
        };
        self.labels.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::method::pomdp_fs::Config;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|s| (*s).to_owned()).collect()
    }

    fn model(features: &[&str]) -> Description {
        Description {
            budget: 1,
            features: names(features),
            numbered_features: false,
            labels: names(&["x", "y"]),
            nominal: BTreeMap::from([(0, names(&["no", "yes"]))]),
            ranking: (0..features.len()).collect(),
            reading: Default::default(),
            settings: Config::default(),
        }
    }

    fn data(features: &[&str], labels: &[&str]) -> Dataset {
        Dataset { feature_names: names(features), label_names: names(labels), ..Dataset::default() }
    }

    #[test]
    fn by_name_in_any_order_with_others_between() {
        let m = model(&["a", "b"]);
        let found = m.feature_columns(&data(&["b", "other", "a"], &[])).unwrap();
        assert_eq!(found, (vec![2, 0], Matched::Name));
        let e = m.feature_columns(&data(&["b", "c"], &[])).unwrap_err();
        assert_eq!(e.message(), "the data have no feature 'a'");
        let e = m.feature_columns(&data(&["c", "d"], &[])).unwrap_err();
        assert_eq!(e.message(), "the data have no feature 'a' (and 1 more of 2)");
    }

    #[test]
    fn by_position_only_without_names() {
        let m = model(&["a", "b"]);
        let numbered = |features: &[&str]| {
            let mut numbered = data(features, &[]);
            numbered.source.numbered_features = true;
            numbered
        };
        let found = m.feature_columns(&numbered(&["column3", "column4"])).unwrap();
        assert_eq!(found, (vec![0, 1], Matched::Position));
        let without_names =
            Description { numbered_features: true, ..model(&["feature0", "feature1"]) };
        let found = without_names.feature_columns(&data(&["p", "q"], &[])).unwrap();
        assert_eq!(found.1, Matched::Position);
        let e = m.feature_columns(&numbered(&["column1", "column2", "column3"])).unwrap_err();
        assert!(e.to_string().contains("2 features are expected and 3 were found"), "{e}");
        assert!(m.feature_columns(&data(&["column3", "column4"], &[])).is_err(), "real names");
    }

    #[test]
    fn nominal_values_must_have_the_same_numbers() {
        let m = model(&["a", "b"]);
        let mut d = data(&["a", "b"], &[]);
        d.nominal.insert(0, names(&["no", "yes"]));
        assert!(m.feature_columns(&d).is_ok());
        d.nominal.insert(0, names(&["yes", "no"]));
        let e = m.feature_columns(&d).unwrap_err();
        assert!(e.message().starts_with("found the values {yes,no} of the feature 'a'"), "{e}");
    }

    #[test]
    fn labels_by_name() {
        let m = model(&["a"]);
        assert_eq!(m.label_columns(&data(&[], &["y", "x"])).unwrap(), [1, 0]);
        let message =
            |labels| m.label_columns(&data(&[], labels)).unwrap_err().message().to_owned();
        assert_eq!(message(&["x"]), "the data have no label 'y'");
        assert_eq!(message(&["x", "y", "z"]), "the model knows no label 'z'");
    }
}
