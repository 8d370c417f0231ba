//! A column as a file declares it, and the numbers behind nominal values.

use std::collections::HashMap;

/// A column as it is declared.
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What values a column may have.
pub(super) enum Kind {
    Numeric,
    Nominal(Nominal),
    /// Text, dates: no use as a feature.
    Unusable(&'static str),
}

/// Declared values, each with its number.
pub(super) struct Nominal {
    pub(super) values: Vec<(Vec<u8>, f64)>,
    /// Beyond a handful of values a scan is too slow.
    index: Option<HashMap<Vec<u8>, f64>>,
}

impl Nominal {
    /// Numbers the values: yes and no by their meaning, everything else by position.
    pub(super) fn new(values: Vec<Vec<u8>>) -> Self {
        let meanings: Vec<Option<f64>> = values.iter().map(|v| meaning(v)).collect();
        let by_meaning = match meanings[..] {
            [Some(a), Some(b)] => a != b,
            _ => false,
        };
        let number = |(i, v): (usize, Vec<u8>)| {
            let code = if by_meaning { meanings[i] } else { None };
            (v, code.unwrap_or(i as f64))
        };
        let values: Vec<(Vec<u8>, f64)> = values.into_iter().enumerate().map(number).collect();
        let index = (values.len() > 8).then(|| values.iter().cloned().collect());
        Nominal { values, index }
    }

    /// The number of a value.
    pub(super) fn code(&self, value: &[u8]) -> Option<f64> {
        match &self.index {
            Some(index) => index.get(value).copied(),
            None => self.values.iter().find(|(v, _)| v == value).map(|&(_, c)| c),
        }
    }

    /// What an absent entry of a sparse row means: the first declared value.
    pub(super) fn absent(&self) -> f64 {
        self.values.first().map_or(0.0, |&(_, code)| code)
    }
}

/// 0 or 1 for the words that mean it.
fn meaning(value: &[u8]) -> Option<f64> {
    match value.to_ascii_lowercase().as_slice() {
        b"0" | b"-1" | b"no" | b"n" | b"false" | b"f" | b"off" | b"absent" => Some(0.0),
        b"1" | b"+1" | b"yes" | b"y" | b"true" | b"t" | b"on" | b"present" => Some(1.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nominal(values: &[&str]) -> Vec<f64> {
        let values = values.iter().map(|v| v.as_bytes().to_vec()).collect();
        Nominal::new(values).values.iter().map(|&(_, c)| c).collect()
    }

    #[test]
    fn nominal_codes_follow_meaning_or_position() {
        assert_eq!(nominal(&["0", "1"]), [0.0, 1.0]);
        assert_eq!(nominal(&["1", "0"]), [1.0, 0.0]);
        assert_eq!(nominal(&["YES", "NO"]), [1.0, 0.0]);
        assert_eq!(nominal(&["-1", "1"]), [0.0, 1.0]);
        assert_eq!(nominal(&["b", "a"]), [0.0, 1.0]);
        assert_eq!(nominal(&["1", "yes"]), [0.0, 1.0]);
        assert_eq!(nominal(&["7", "3", "5"]), [0.0, 1.0, 2.0]);
        let many: Vec<Vec<u8>> = (0..20).map(|i| format!("v{i}").into_bytes()).collect();
        let many = Nominal::new(many);
        assert_eq!(many.code(b"v13"), Some(13.0));
        assert_eq!(many.code(b"v20"), None);
    }
}
