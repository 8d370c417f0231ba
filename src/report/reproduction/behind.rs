//! Whether a method is behind another one beyond noise.

use crate::experiment::moments;
use crate::measure::statistics::{holm, wilcoxon};

/// One metric on one set: how far the method is behind on each fold, in the metric's units.
pub struct Comparison {
    /// Set and metric.
    pub label: String,
    /// Positive where the method is the worse one.
    pub behind: Vec<f64>,
}

/// Family-wise level of the tests.
const LEVEL: f64 = 0.05;
/// Means up to this are no difference that anyone would care about.
const LEAST: f64 = 0.005;

/// Behind beyond noise: by more than [`LEAST`] on the mean of the folds, and by Wilcoxon's test over the folds of
/// all seeds after Holm's correction for the number of comparisons. Folds share rows, so the test is somewhat too
/// ready to see a difference. Returns what was found, and whether the method is behind nowhere; None where so few
/// folds prove nothing.
pub fn beyond_noise(all: &[Comparison]) -> (String, Option<bool>) {
    if all.is_empty() {
        return ("-".to_owned(), None);
    }
    let tests: Vec<_> =
        all.iter().map(|c| wilcoxon(&c.behind, &vec![0.0; c.behind.len()])).collect();
    let adjusted = holm(&tests.iter().map(|t| t.p).collect::<Vec<_>>());
    let mut larger: Vec<(f64, bool, String)> = Vec::new();
    for ((comparison, test), p) in all.iter().zip(&tests).zip(adjusted) {
        let mean = moments(&comparison.behind).0;
        if mean > LEAST {
            let text = format!("{} by {mean:.3} (Holm p {p:.2})", comparison.label);
            larger.push((p, p < LEVEL && test.positive > test.negative, text));
        }
    }
    let proven: Vec<&str> = larger.iter().filter(|l| l.1).map(|l| l.2.as_str()).collect();
    if !proven.is_empty() {
        return (proven.join(", "), Some(false));
    }
    // A defeat on all folds must be able to stand the correction, or finding none says nothing.
    let folds = all.iter().map(|c| c.behind.len()).min().unwrap_or(0);
    let least_p = 2.0 * 0.5f64.powi(folds.min(100) as i32) * all.len() as f64;
    if least_p >= LEVEL {
        return ("too few folds for the test".to_owned(), None);
    }
    let nearest = larger.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let nearest = nearest.map_or_else(String::new, |l| format!("; nearest to it {}", l.2));
    (format!("nowhere in {} comparisons{nearest}", all.len()), Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(label: &str, behind: impl Fn(usize) -> f64, folds: usize) -> Comparison {
        Comparison { label: label.to_owned(), behind: (0..folds).map(behind).collect() }
    }

    /// Zero on the mean, small and large in turn.
    fn level(k: usize) -> f64 {
        let size = 0.001 * (k / 2 + 1) as f64;
        if k.is_multiple_of(2) { size } else { -size }
    }

    #[test]
    fn a_defeat_on_all_folds_is_found_among_many_comparisons() {
        let mut all: Vec<_> = (0..47).map(|k| comparison(&format!("tie {k}"), level, 14)).collect();
        assert_eq!(beyond_noise(&all).1, Some(true));
        all.push(comparison("lost", |k| 0.01 + 0.001 * k as f64, 14));
        let (found, met) = beyond_noise(&all);
        assert_eq!(met, Some(false));
        assert!(found.starts_with("lost by 0.0"), "{found}");
        // The same distance ahead, or too small to care, is no defeat.
        all.pop();
        all.push(comparison("won", |k| -0.01 - 0.001 * k as f64, 14));
        all.push(comparison("small", |k| 0.001 + 0.0001 * k as f64, 14));
        assert_eq!(beyond_noise(&all), ("nowhere in 49 comparisons".to_owned(), Some(true)));
    }

    #[test]
    fn chance_is_named_and_few_folds_prove_nothing() {
        let all = [comparison("shaky", |k| level(k) + 0.006 * f64::from(k < 12), 15)];
        let (found, met) = beyond_noise(&[comparison("tie", level, 15)]);
        assert_eq!((found.as_str(), met), ("nowhere in 1 comparisons", Some(true)));
        assert_eq!(beyond_noise(&[]).1, None);
        assert_eq!(beyond_noise(&[comparison("lost", |_| 0.02, 4)]).1, None);
        // One fold that is far off makes the mean, not the test.
        let outlier = |k: usize| if k == 0 { 0.5 } else { level(k) };
        let (found, met) = beyond_noise(&[comparison("outlier", outlier, 15)]);
        assert!(found.contains("nearest to it outlier by 0.03"), "{found}");
        assert_eq!(met, Some(true));
        assert_eq!(beyond_noise(&all).1, Some(false), "a lead on most folds does");
    }
}
