//! The engine against numbers that PyTorch computed: outputs, losses, every gradient, Adam.
//!
//! `tests/golden/README.md` says how the files were made. Two values agree when
//! |a − b| ≤ limit · max(|a|, |b|, floor · largest of the tensor): below the floor a value is the
//! difference of much larger ones, and its own digits are rounding noise.
//!
//! One tensor needs a word. A bias of the keys adds the same number to all scores of a query, which
//! the softmax ignores, so its true gradient is exactly zero and both programs return rounding noise
//! of their own. The test asks that both be zero up to rounding, and that Adam, which divides noise
//! by noise, move these entries no further than noise can.

use pomdp_fs::audit::export::{self, Export, Tensor};
use pomdp_fs::num::Real;
use safetensors::SafeTensors;

const CASES: [&str; 6] =
    ["pre-gelu", "pre-relu", "post-gelu", "post-relu", "stage2-pre-gelu", "stage2-post-relu"];
/// Groups that the golden files hold.
const GROUPS: [&str; 5] = ["out", "loss", "grad", "adam", "adam_losses"];

/// How exact a precision must be.
struct Limits {
    values: f64,
    losses: f64,
    floor: f64,
    /// How far apart Adam may leave two key biases.
    key_bias: f64,
}

const DOUBLE: Limits = Limits { values: 1e-10, losses: 1e-9, floor: 1e-6, key_bias: 1e-11 };
const SINGLE: Limits = Limits { values: 1e-4, losses: 1e-4, floor: 1e-2, key_bias: 2e-3 };

fn golden(case: &str) -> Vec<Tensor> {
    let path = format!("{}/tests/golden/engine/{case}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = |(name, view): (String, safetensors::tensor::TensorView<'_>)| Tensor {
        name,
        shape: view.shape().to_vec(),
        values: view
            .data()
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect(),
    };
    let mut tensors: Vec<Tensor> = file.tensors().into_iter().map(tensor).collect();
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    tensors
}

/// Largest relative difference of two tensors; NaN counts as infinite.
fn difference(a: &[f64], b: &[f64], floor: f64) -> f64 {
    let size = a.iter().chain(b).fold(0.0f64, |m, v| m.max(v.abs()));
    let relative = |(a, b): (&f64, &f64)| {
        let scale = a.abs().max(b.abs()).max(floor * size);
        let error = if a == b { 0.0 } else { (a - b).abs() / scale };
        if error.is_nan() { f64::INFINITY } else { error }
    };
    a.iter().zip(b).map(relative).fold(0.0, f64::max)
}

/// Largest difference of the key biases, in units of `Limits::values`: the first half of
/// `key_value.b`, gradient or weight.
fn key_bias_difference(name: &str, got: &[f64], want: &[f64], limits: &Limits) -> f64 {
    let size = want.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let zero_or_near = |(a, b): (&f64, &f64)| {
        let share = if name.starts_with("grad") {
            (a.abs() + b.abs()) / size
        } else {
            (a - b).abs() / limits.key_bias * limits.values
        };
        if share.is_nan() { f64::INFINITY } else { share }
    };
    let keys = got.len() / 2;
    got[..keys].iter().zip(&want[..keys]).map(zero_or_near).fold(0.0, f64::max)
}

/// What differs: one line for each tensor that is missing, misshapen or too far off.
fn compare(ours: &Export, golden: &[Tensor], limits: &Limits) -> Vec<String> {
    let group = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let mut wrong = Vec::new();
    for want in golden {
        let Some(got) = ours.get(&want.name) else {
            wrong.push(format!("{} is missing", want.name));
            continue;
        };
        if got.shape != want.shape {
            wrong.push(format!("{}: {:?}, expected {:?}", want.name, got.shape, want.shape));
            continue;
        }
        let limit = if group(&want.name) == "adam_losses" { limits.losses } else { limits.values };
        let keys = if want.name.ends_with("key_value.b") { want.values.len() / 2 } else { 0 };
        let error = difference(&got.values[keys..], &want.values[keys..], limits.floor);
        let error = error.max(match keys {
            0 => 0.0,
            _ => key_bias_difference(&want.name, &got.values, &want.values, limits),
        });
        if error > limit {
            wrong.push(format!("{}: off by {error:.1e}, limit {limit:.0e}", want.name));
        }
    }
    let expected = |t: &&Tensor| GROUPS.contains(&group(&t.name).as_str());
    let known = |t: &Tensor| golden.iter().any(|g| g.name == t.name);
    for t in ours.tensors.iter().filter(expected).filter(|t| !known(t)) {
        wrong.push(format!("{} has no golden value", t.name));
    }
    wrong
}

fn check<T: Real>(limits: &Limits) {
    for case in CASES {
        let wrong = compare(&export::build::<T>(case).unwrap(), &golden(case), limits);
        assert!(wrong.is_empty(), "{case} in {}: {wrong:#?}", T::NAME);
    }
}

#[test]
fn f64_equals_autograd_to_1e_10() {
    check::<f64>(&DOUBLE);
}

#[test]
fn f32_equals_autograd_to_1e_4() {
    check::<f32>(&SINGLE);
}

#[test]
fn the_files_hold_what_they_should() {
    for case in CASES {
        let tensors = golden(case);
        let count = |group: &str| {
            let in_group = |t: &&Tensor| t.name.split('.').next() == Some(group);
            tensors.iter().filter(in_group).count()
        };
        let parameters = export::build::<f64>(case).unwrap().tensors;
        let parameters = parameters.iter().filter(|t| t.name.starts_with("param.")).count();
        let stage2 = case.starts_with("stage2");
        assert_eq!(count("out"), if stage2 { 0 } else { 3 }, "{case}");
        assert_eq!(count("loss"), if stage2 { 2 } else { 3 }, "{case}");
        assert_eq!((count("grad"), count("adam")), (parameters, parameters), "{case}");
        let losses = tensors.iter().find(|t| t.name == "adam_losses").unwrap();
        assert_eq!(losses.values.len(), 10, "{case}");
    }
}

/// The comparison must see one wrong digit in one value of one tensor, whatever the tensor.
#[test]
fn a_wrong_golden_value_is_reported() {
    let ours = export::build::<f64>("pre-gelu").unwrap();
    let golden = golden("pre-gelu");
    for k in 0..golden.len() {
        let mut bent = golden.clone();
        let values = &mut bent[k].values;
        let at = (0..values.len()).max_by(|&a, &b| values[a].abs().total_cmp(&values[b].abs()));
        let value = &mut values[at.unwrap()];
        *value = if *value == 0.0 { 1e-30 } else { *value * (1.0 + 1e-8) };
        let wrong = compare(&ours, &bent, &DOUBLE);
        assert_eq!(wrong.len(), 1, "{}", bent[k].name);
        assert!(wrong[0].starts_with(&bent[k].name), "{}", wrong[0]);
        bent[k].values[0] = f64::NAN;
        assert_eq!(compare(&ours, &bent, &DOUBLE).len(), 1, "NaN in {}", bent[k].name);
    }
    let mut bent = golden.clone();
    bent[0].shape.push(1);
    assert_eq!(compare(&ours, &bent, &DOUBLE).len(), 1, "another shape");
    let key_bias = golden.iter().position(|t| t.name == "grad.block0.key_value.b").unwrap();
    let mut bent = golden.clone();
    bent[key_bias].values[0] = 1e-9;
    assert_eq!(compare(&ours, &bent, &DOUBLE).len(), 1, "a key bias with a gradient");
    let fewer = &golden[1..];
    assert_eq!(compare(&ours, fewer, &DOUBLE).len(), 1, "a tensor without a golden value");
    let mut renamed = golden.clone();
    renamed[0].name = "grad.nothing".into();
    assert_eq!(compare(&ours, &renamed, &DOUBLE).len(), 2, "a missing and an extra tensor");
}
