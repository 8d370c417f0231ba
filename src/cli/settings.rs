//! Settings of methods on the command line: preset, file, `--set`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};

use crate::method::pomdp_fs::Preset;
use crate::method::{self, Method};
use crate::text::name;
use crate::{Error, Result, io};

/// Which settings differ from the defaults.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// Reading of the paper by pomdp-fs: observation (works) or paper (to the letter)
    #[arg(long, value_name = "NAME", value_parser = parse_preset)]
    preset: Option<Preset>,
    /// Settings as a TOML file: KEY = VALUE lines for every method that has the setting, a table
    /// [METHOD] for one of them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, e.g. --set epochs1=50, or --set METHOD.KEY=VALUE for one of several methods; may
    /// be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

fn parse_preset(text: &str) -> Result<Preset> {
    serde_json::from_value(Value::String(text.into()))
        .map_err(|_| Error::config(format!("found '{text}', expected observation or paper")))
}

/// A change: of one method, or of every method that has the setting.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    method: Option<String>,
    key: String,
    value: Value,
}

impl Settings {
    /// The methods of these names with their settings: preset, then the file, then `--set`, then
    /// `flags`, options of their own.
    pub fn methods(
        &self,
        names: &[String],
        flags: Map<String, Value>,
    ) -> Result<Vec<Box<dyn Method>>> {
        let mut methods: Vec<Box<dyn Method>> = Vec::new();
        for name in self.with_preset(names)? {
            if methods.iter().any(|m| m.name() == name) {
                return Err(Error::config(format!(
                    "found method '{name}' twice, expected it once"
                )));
            }
            methods.push(method::by_name(&name)?);
        }
        if let Some(path) = &self.config {
            apply(&mut methods, &from_file(path, names)?).map_err(|e| e.in_file(path))?;
        }
        let mut changes =
            self.set.iter().map(|text| from_text(text)).collect::<Result<Vec<_>>>()?;
        apply(&mut methods, &changes).map_err(|e| e.about("--set"))?;
        changes.clear();
        changes.extend(flags.into_iter().map(|(key, value)| Change { method: None, key, value }));
        apply(&mut methods, &changes)?;
        Ok(methods)
    }

    /// The names, with pomdp-fs in the reading that was asked for.
    fn with_preset(&self, names: &[String]) -> Result<Vec<String>> {
        let Some(preset) = self.preset else {
            return Ok(names.to_vec());
        };
        if !names.iter().any(|n| n == "pomdp-fs") {
            return Err(Error::config("--preset is for pomdp-fs, which is not among the methods"));
        }
        let name = match preset {
            Preset::Observation => "pomdp-fs",
            Preset::Paper => "pomdp-fs-paper",
        };
        Ok(names.iter().map(|n| if n == "pomdp-fs" { name } else { n }.to_owned()).collect())
    }
}

/// `KEY=VALUE` or `METHOD.KEY=VALUE`; the value is JSON, or else text.
fn from_text(text: &str) -> Result<Change> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| Error::config(format!("found --set {text}, expected KEY=VALUE")))?;
    let (key, value) = (key.trim(), value.trim());
    let (method, key) = match key.split_once('.') {
        Some((method, key)) => (Some(method.to_owned()), key),
        None => (None, key),
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
    Ok(Change { method, key: key.to_owned(), value })
}

fn from_file(path: &Path, names: &[String]) -> Result<Vec<Change>> {
    let bytes = io::read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let broken = |e: toml::de::Error| {
        let at = e.span().map_or(0, |s| s.start);
        let before = &text[..at.min(text.len())];
        let line = before.matches('\n').count() as u64 + 1;
        let column = (at - before.rfind('\n').map_or(0, |k| k + 1)) as u64 + 1;
        Error::config(e.message().to_owned()).in_file(path).at(line, column)
    };
    let table: toml::Table = toml::from_str(&text).map_err(broken)?;
    if let Some(key) = without_json(&table) {
        let expected = "a finite number, a text, true or false";
        return Err(Error::config(format!(
            "setting '{}' has no such value, expected {expected}",
            name(&key)
        ))
        .in_file(path));
    }
    let table: Map<String, Value> = toml::from_str(&text).map_err(broken)?;
    let mut changes = Vec::new();
    for (key, value) in table {
        match value {
            // Tables of methods that are not run now are for other runs.
            Value::Object(table) if method::NAMES.contains(&key.as_str()) => {
                let own = table.into_iter();
                let own = own.map(|(k, value)| Change { method: Some(key.clone()), key: k, value });
                changes.extend(own.filter(|_| names.contains(&key)));
            }
            value => changes.push(Change { method: None, key, value }),
        }
    }
    Ok(changes)
}

/// A key whose value JSON cannot hold: it would become null, which means "as by default", or a table.
fn without_json(table: &toml::Table) -> Option<String> {
    table.iter().find_map(|(key, value)| match value {
        toml::Value::Float(number) => (!number.is_finite()).then(|| key.clone()),
        toml::Value::Datetime(_) => Some(key.clone()),
        toml::Value::Table(inner) => without_json(inner),
        _ => None,
    })
}

fn apply(methods: &mut [Box<dyn Method>], changes: &[Change]) -> Result<()> {
    // All changes of a method at once: some settings are valid only together.
    let mut of_method: Vec<Map<String, Value>> = vec![Map::new(); methods.len()];
    for change in changes {
        let mut used = false;
        for (method, own) in methods.iter().zip(&mut of_method) {
            let meant = match &change.method {
                Some(name) => name == method.name(),
                // A single method tells itself what is wrong with an unknown name.
                None => methods.len() == 1 || reads(method.as_ref(), &change.key),
            };
            if meant {
                if method.unread().contains(&&*change.key) {
                    return Err(unread(method.name(), &change.key));
                }
                own.insert(change.key.clone(), change.value.clone());
                used = true;
            }
        }
        if !used {
            return Err(unused(methods, change));
        }
    }
    for (method, own) in methods.iter_mut().zip(of_method) {
        if !own.is_empty() {
            let changed = method.with(&Value::Object(own));
            *method = changed.map_err(|e| e.about(format!("method {}", method.name())))?;
        }
    }
    Ok(())
}

/// Whether a setting of this name makes a difference.
fn reads(method: &dyn Method, key: &str) -> bool {
    method.settings().get(key).is_some() && !method.unread().contains(&key)
}

/// A setting without effect is a mistake that nobody would see.
fn unread(method: &str, key: &str) -> Error {
    let other = if method == "pomdp-fs" { "paper" } else { "observation" };
    Error::config(format!("found setting '{key}', which {method} does not read"))
        .hint(format!("it belongs to preset {other}"))
}

fn unused(methods: &[Box<dyn Method>], change: &Change) -> Error {
    let names: Vec<&str> = methods.iter().map(|m| m.name()).collect();
    if let Some(method) = &change.method {
        return Error::config(format!(
            "found a setting of method '{method}', which is not among the methods: {}",
            names.join(", ")
        ));
    }
    let known = methods.iter().filter_map(|m| {
        let settings = m.settings();
        let keys = settings.as_object()?.keys().filter(|key| !m.unread().contains(&&***key));
        let keys: Vec<String> = keys.cloned().collect();
        (!keys.is_empty()).then(|| format!("{} has {}", m.name(), keys.join(", ")))
    });
    let known: Vec<String> = known.collect();
    Error::config(format!("found setting '{}', which no listed method has", change.key)).hint(
        if known.is_empty() { "no listed method has settings".into() } else { known.join("; ") },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(names: &[&str], set: &[&str]) -> Result<Vec<Box<dyn Method>>> {
        let set = set.iter().map(|s| (*s).to_owned()).collect();
        let names: Vec<String> = names.iter().map(|s| (*s).to_owned()).collect();
        Settings { preset: None, config: None, set }.methods(&names, Map::new())
    }

    #[test]
    fn settings_reach_the_methods_they_are_for() {
        let names = ["pomdp-fs", "pomdp-fs-paper", "random"];
        let methods = with(&names, &["epochs1=3", "pomdp-fs-paper.epochs1=4"]).unwrap();
        assert_eq!(methods[0].settings()["epochs1"], 3);
        assert_eq!(methods[1].settings()["epochs1"], 4);
        let message = |set: &str| with(&names, &[set]).err().unwrap().to_string();
        assert!(message("none=1").contains("found setting 'none', which no listed method has"));
        assert!(message("zeros.a=1").contains("method 'zeros', which is not among the methods"));
        assert!(message("random.a=1").contains("method random: found setting 'a'"));
        assert!(message("epochs1").contains("found --set epochs1, expected KEY=VALUE"));
        assert!(message("epochs1=0").contains("epochs1 is 0"));
        // What a preset does not read is for those that do, and refused where nobody does.
        let methods = with(&names, &["epochs2=3"]).unwrap();
        assert_ne!(methods[0].settings()["epochs2"], 3);
        assert_eq!(methods[1].settings()["epochs2"], 3);
        for (name, key, preset) in
            [("pomdp-fs", "epochs2", "paper"), ("pomdp-fs-paper", "gamma", "observation")]
        {
            for set in [format!("{key}=1"), format!("{name}.{key}=1")] {
                let e = with(&[name], &[&set]).err().unwrap().to_string();
                assert!(e.contains(&format!("'{key}', which {name} does not read")), "{e}");
                assert!(e.contains(&format!("preset {preset}")), "{e}");
            }
        }
        assert!(with(&["pomdp-fs", "all"], &["epochs2=1"]).is_err());
        // Alone, a method lists its settings.
        let alone = with(&["pomdp-fs"], &["epoch=1"]).err().unwrap().to_string();
        assert!(alone.contains("found setting 'epoch'") && alone.contains("epochs1"), "{alone}");
        assert!(with(&["all", "all"], &[]).err().unwrap().to_string().contains("'all' twice"));
    }

    #[test]
    fn the_preset_changes_pomdp_fs() {
        let preset = Settings { preset: Some(Preset::Paper), config: None, set: Vec::new() };
        let methods = preset.methods(&["pomdp-fs".into(), "all".into()], Map::new()).unwrap();
        assert_eq!(methods[0].name(), "pomdp-fs-paper");
        assert!(preset.methods(&["all".into()], Map::new()).is_err());
    }

    #[test]
    fn a_file_has_settings_for_all_and_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.toml");
        std::fs::write(&path, "batch = 7\n[pomdp-fs-paper]\nepochs1 = 4\n[pomdp-fs]\nepochs1 = 5")
            .unwrap();
        let settings = Settings { preset: None, config: Some(path), set: Vec::new() };
        let methods = settings.methods(&["pomdp-fs".into(), "all".into()], Map::new()).unwrap();
        let found = methods[0].settings();
        assert_eq!((&found["batch"], &found["epochs1"]), (&7.into(), &5.into()));
    }

    /// JSON would take them for null, which is "as by default".
    #[test]
    fn a_file_with_values_that_are_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.toml");
        for text in ["rho = nan", "[pomdp-fs]\nrho = -inf", "rho = 1979-05-27", "batch = [1"] {
            std::fs::write(&path, text).unwrap();
            let settings = Settings { preset: None, config: Some(path.clone()), set: Vec::new() };
            let e = settings.methods(&["pomdp-fs".into()], Map::new()).err().unwrap().to_string();
            assert!(e.contains("settings.toml"), "{e}");
            assert_eq!(e.contains("'rho' has no such value"), text.contains("rho"), "{e}");
        }
    }
}
