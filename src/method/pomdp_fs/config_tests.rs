use super::*;
use crate::method::settings::changed;
use serde_json::{Value, json};

#[test]
fn what_a_preset_does_not_read_are_settings() {
    let [ours, paper] = [Preset::Observation, Preset::Paper].map(Preset::unread);
    let known = crate::method::settings::object(&Config::default());
    assert!(ours.iter().chain(paper).all(|key| known.get(key).is_some()));
    assert!(ours.iter().all(|key| !paper.contains(key)));
}

#[test]
fn both_presets_are_valid_and_the_paper_has_its_values() {
    Config::default().check().unwrap();
    let c = Config::new(Preset::Paper);
    c.check().unwrap();
    assert_eq!((c.width, c.heads, c.layers, c.ffn_factor), (128, 4, 2, 4));
    assert_eq!((c.rate_disc, c.rate_policy), (1e-3, 1e-4));
    assert_eq!((c.lambda_struct, c.neighbours, c.beta, c.temperature), (0.01, 5, 0.9, 1.0));
    assert!(c.network(5, 3).candidate_token);
    Config::default().belief_network(5, 3).unwrap();
}

#[test]
fn changes_are_checked() {
    let c = Config::default();
    let other = changed(&c, &json!({"epochs1": 3, "ranking": "score"})).unwrap();
    assert_eq!((other.epochs1, other.ranking), (3, Ranking::Score));
    let message = |v: Value| changed(&c, &v).err().unwrap().message().to_owned();
    assert_eq!(message(json!({"epoch": 3})), "found setting 'epoch', which does not exist");
    assert_eq!(message(json!({"rho": 0.9})), "rho is 0.9, allowed: 0.01 to 0.6");
    assert_eq!(message(json!({"batch": 0})), "batch is 0, allowed: 1 to 65536");
    assert_eq!(message(json!({"cross_fit": 1})), "cross_fit is 1, allowed: 2 to 100");
    assert_eq!(message(json!({"rollout": 0})), "rollout is 0, allowed: 1 to 1000000");
    let open = json!({"rollout": null, "rho": null, "cross_fit": null});
    let open = changed(&changed(&c, &json!({"rho": 0.2, "cross_fit": 3})).unwrap(), &open);
    assert_eq!(open.unwrap(), c.clone());
    assert!(message(json!({"temperature": 0.0})).starts_with("temperature is 0, allowed"));
    assert!(message(json!({"width": 30})).contains("width is 30 and heads is 4"));
    assert!(message(json!({"context_width": 3})).contains("context_width is 3"));
    assert!(message(json!({"batch": "many"})).contains("setting 'batch'"));
    assert!(message(json!(3)).starts_with("found a value"));
}
