use super::super::function::{Function, Wanted};
use super::*;

/// f = x² + 3xy at (1, 2), with a gradient that is off by a factor in x and a number in y.
struct Toy {
    factor: f64,
    more: f64,
}

impl Function for Toy {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let number = T::from_f64;
        if let Some((dz, _)) = wanted {
            dz[0] += number(self.factor) * (number(2.0) * z[0] + number(3.0) * z[1]);
            dz[1] += number(3.0) * z[0] + number(self.more);
        }
        z[0] * z[0] + number(3.0) * z[0] * z[1]
    }
}

fn case(factor: f64, more: f64, detached: &[&str]) -> Case {
    Case {
        name: "toy".into(),
        shape: "2".into(),
        blocks: vec![("x".into(), 0..1), ("y".into(), 1..2)],
        start: vec![1.0, 2.0],
        function: Box::new(Toy { factor, more }),
        closed_form: None,
        detached: detached.iter().map(|&s| s.into()).collect(),
        sample: None,
    }
}

#[test]
fn a_right_gradient_passes_and_wrong_ones_are_named() {
    let good = check(&case(1.0, 0.0, &[]), None);
    assert!(good.pass && good.checked == 2 && good.exact_rel_err == 0.0, "{good:?}");
    assert_eq!((good.slope, good.asymmetry), (Some(0.0), Some(0.0)));
    let off = check(&case(1.0, 3e-6, &[]), None);
    let worst = off.worst.unwrap();
    assert!(!off.pass && worst.parameter == "y" && worst.index == 0);
    assert!((worst.numeric - 3.0).abs() < 1e-9 && worst.exact == 3.0);
    assert!(!check(&case(1.0, f64::NAN, &[]), None).pass);
    let missing = check(&case(1.0, -3.0, &[]), None);
    assert_eq!(missing.unreached, ["y"]);
    assert!(!missing.pass);
    let leaking = check(&case(1.0, 0.0, &["y"]), None);
    assert!(!leaking.pass);
}

/// What differences cannot see: an error of 10⁻⁹ is below their limit and 100 times above that of
/// forward mode.
#[test]
fn forward_mode_sees_what_differences_do_not() {
    let off = check(&case(1.0, 3e-9, &[]), None);
    assert!(off.max_rel_err <= TOLERANCE && !off.pass, "{off:?}");
    assert!((off.exact_rel_err - 1e-9).abs() < 1e-12, "{off:?}");
}

/// A field that is no gradient has a Jacobian that is not symmetric; one that is off by a constant
/// has.
#[test]
fn symmetry_tells_a_gradient_from_a_field() {
    let scaled = check(&case(1.5, 0.0, &[]), None);
    assert!(scaled.asymmetry.unwrap() > 1e-3, "{scaled:?}");
    let shifted = check(&case(1.0, 1.0, &[]), None);
    assert_eq!(shifted.asymmetry, Some(0.0));
    assert!(shifted.slope.unwrap() > 1e-3, "the loss knows: {shifted:?}");
}

#[test]
fn an_uncaught_control_fails_the_report() {
    let cases = [case(1.0, 0.0, &[])];
    let report = check_all(&cases, None, |_| {});
    assert!(report.cases[0].pass && !report.pass(), "the toy ignores every control");
    assert_eq!(report.controls.len(), Control::ALL.len());
    assert_eq!(report.count(|c| c.caught || c.caught_exact || c.asymmetric), 0);
}

#[test]
fn sampling_takes_the_stated_number() {
    let mut c = case(1.0, 0.0, &[]);
    c.sample = Some(1);
    let report = check(&c, None);
    assert!(report.pass && report.checked == 1);
    // A mistake outside the sample is found along directions through all coordinates.
    let wrong = |at: usize| {
        let mut c = case(1.0, 0.0, &[]);
        c.sample = Some(1);
        c.function = Box::new(Toy { factor: 1.0 + (1 - at) as f64, more: at as f64 });
        check(&c, None)
    };
    let outside = [wrong(0), wrong(1)].into_iter().find(|r| r.exact_rel_err == 0.0);
    assert!(outside.is_some_and(|r| !r.pass && r.slope.unwrap() > 1e-3));
}
