//! How long it will take, from the work that was done since one began to look.

use std::time::{Duration, Instant};

/// Measures units of work against the clock. Work that was done before the first look, by an earlier
/// run, says nothing about the speed of this one.
#[derive(Default)]
pub struct Pace {
    begun: Option<(Instant, f64)>,
}

impl Pace {
    /// Time left when `done` of `total` units are done now; None until a unit was seen to be done.
    pub fn left(&mut self, done: f64, total: f64, now: Instant) -> Option<Duration> {
        let &mut (start, before) = self.begun.get_or_insert((now, done));
        let seen = done - before;
        let seconds = now.duration_since(start).as_secs_f64() * (total - done).max(0.0) / seen;
        (seen > 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}

/// In words for a progress bar.
pub fn left_in_words(left: Option<Duration>) -> String {
    match left.map(|l| l.as_secs()) {
        None => "time left not known yet".to_owned(),
        Some(s @ 0..100) => format!("{} s left", s.max(1)),
        Some(s @ 100..6000) => format!("{} min left", s.div_ceil(60)),
        Some(s) => format!("{:.1} h left", s as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resumed_work_does_not_count() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let after = |s: u64| start + Duration::from_secs(s);
        assert_eq!(pace.left(90.0, 100.0, start), None, "90 units of an earlier run");
        assert_eq!(pace.left(90.0, 100.0, after(5)), None);
        assert_eq!(pace.left(92.0, 100.0, after(10)), Some(Duration::from_secs(40)));
        assert_eq!(pace.left(100.0, 100.0, after(50)), Some(Duration::ZERO));
    }

    #[test]
    fn with_an_even_speed_it_never_rises() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let mut before = Duration::MAX;
        for unit in 0..=60u64 {
            let left = pace.left(unit as f64, 60.0, start + Duration::from_secs(3 * unit));
            let left = left.unwrap_or(Duration::MAX);
            assert!(left <= before, "unit {unit}");
            assert!(unit == 0 || left == Duration::from_secs(3 * (60 - unit)));
            before = left;
        }
    }

    #[test]
    fn words() {
        let words = |s| left_in_words(Some(Duration::from_secs_f64(s)));
        assert_eq!((words(0.0).as_str(), words(61.0).as_str()), ("1 s left", "61 s left"));
        assert_eq!((words(150.0).as_str(), words(9000.0).as_str()), ("3 min left", "2.5 h left"));
        assert_eq!(left_in_words(None), "time left not known yet");
    }
}
