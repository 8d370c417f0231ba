//! Settings of methods: typed values that can be changed by name.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result};

/// Settings of a method. Field names are the names on the command line.
pub trait Settings: Serialize + DeserializeOwned {
    /// Refuses values out of range, with the range.
    fn check(&self) -> Result<()>;
}

/// A method without settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct NoSettings {}

impl Settings for NoSettings {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The settings as a JSON object.
pub fn object<S: Settings>(settings: &S) -> Value {
    serde_json::to_value(settings).expect("plain values")
}

/// The same settings with those of `changes` (a JSON object, or a TOML file read as one) replaced;
/// unknown names are refused with the list of known ones, values of the wrong kind with the name.
pub fn changed<S: Settings>(settings: &S, changes: &Value) -> Result<S> {
    let mut all = object(settings);
    let known = all.as_object_mut().expect("a struct is an object");
    let changes = changes
        .as_object()
        .ok_or_else(|| Error::config("found a value, expected settings as KEY = VALUE"))?;
    for (key, value) in changes {
        if !known.contains_key(key) {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let hint = match names[..] {
                [] => "this method has no settings".to_owned(),
                _ => format!("the settings are: {}", names.join(", ")),
            };
            return Err(
                Error::config(format!("found setting '{key}', which does not exist")).hint(hint)
            );
        }
        let before = known.insert(key.clone(), value.clone()).expect("a known name");
        let trial = Value::Object(known.clone());
        if let Err(e) = serde_json::from_value::<S>(trial) {
            let expected = expected(&e.to_string());
            return Err(Error::config(format!(
                "setting '{key}' has the value {value}, expected {expected}"
            ))
            .hint(format!("its value now is {before}")));
        }
    }
    let settings: S = serde_json::from_value(all).expect("each change was tried");
    settings.check()?;
    Ok(settings)
}

/// What the deserializer expected, in plain words.
fn expected(message: &str) -> String {
    let what = message.rsplit_once("expected ").map_or(message, |(_, what)| what);
    match what {
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number, 0 or more".to_owned(),
        "f64" | "f32" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    }
}

/// Refuses a value outside of `low` to `high`.
pub fn within(name: &str, value: f64, low: f64, high: f64) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Error::config(format!("{name} is {value}, allowed: {low} to {high}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Serialize, serde::Deserialize)]
    struct Two {
        alpha: f64,
        steps: usize,
    }

    impl Settings for Two {
        fn check(&self) -> Result<()> {
            within("alpha", self.alpha, 0.0, 1.0)
        }
    }

    #[test]
    fn changes_are_named_and_checked() {
        let two = Two { alpha: 0.5, steps: 3 };
        assert_eq!(changed(&two, &json!({"steps": 4})).unwrap().steps, 4);
        let message = |v: Value| changed(&two, &v).err().unwrap().to_string();
        assert!(message(json!({"alpha": 2.0})).contains("alpha is 2, allowed: 0 to 1"));
        let wrong = message(json!({"steps": "many"}));
        let steps = "setting 'steps' has the value \"many\", expected a whole number, 0 or more";
        assert!(wrong.contains(steps), "{wrong}");
        let wrong = message(json!({"alpha": true}));
        assert!(wrong.contains("setting 'alpha' has the value true, expected a number"), "{wrong}");
        assert!(message(json!({"steps": -1})).contains("expected a whole number, 0 or more"));
        assert!(message(json!({"beta": 1})).contains("found setting 'beta', which does not exist"));
        assert!(message(json!(3)).contains("found a value"));
        let none = changed(&NoSettings {}, &json!({"a": 1})).err().unwrap().to_string();
        assert!(none.contains("found setting 'a'"), "{none}");
    }
}
