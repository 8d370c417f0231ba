//! All parameters in one flat arena, each found by a named range.
//!
//! Gradients, Adam's moments and saved models are slices of the same length, so that clipping,
//! updating and writing are one loop each.

use std::ops::Range;

use super::init::Init;
use crate::linalg::{View, ViewMut};
use crate::num::{Real, all_finite, vectorize};
use crate::{Error, Result};

/// A matrix inside the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    start: usize,
    rows: usize,
    cols: usize,
}

impl Param {
    /// Where it lies in the arena.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.rows * self.cols
    }

    /// Its values in `arena`, row after row.
    pub fn slice<'a, T>(&self, arena: &'a [T]) -> &'a [T] {
        &arena[self.range()]
    }

    /// Its values in `arena`, writable.
    pub fn slice_mut<'a, T>(&self, arena: &'a mut [T]) -> &'a mut [T] {
        &mut arena[self.range()]
    }

    /// It as a matrix.
    pub fn view<'a, T: Real>(&self, arena: &'a [T]) -> View<'a, T> {
        View::new(self.slice(arena), self.rows, self.cols)
    }

    /// It as a writable matrix.
    pub fn view_mut<'a, T: Real>(&self, arena: &'a mut [T]) -> ViewMut<'a, T> {
        let range = self.range();
        ViewMut::new(&mut arena[range], self.rows, self.cols)
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }
}

/// The names and places of all parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    entries: Vec<(String, Param, Init)>,
    len: usize,
}

impl Layout {
    /// Appends a matrix that starts as `init` says; the name must be new.
    pub fn add(&mut self, name: impl Into<String>, rows: usize, cols: usize, init: Init) -> Param {
        let name = name.into();
        assert!(self.find(&name).is_none(), "parameter {name} exists");
        let param = Param { start: self.len, rows, cols };
        self.len += rows * cols;
        self.entries.push((name, param, init));
        param
    }

    /// Length of the arena.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True before the first `add`.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Names and places, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Param)> {
        self.entries.iter().map(|(n, p, _)| (n.as_str(), *p))
    }

    /// Names, places and initial values, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, Param, Init)> {
        self.entries.iter().map(|(n, p, i)| (n.as_str(), *p, *i))
    }

    /// The ranges of 0..`len` whose gradients are summed row by row, in order; the gradients of all others,
    /// the weights `….w`, are products that are added once in a backward pass.
    pub fn summed_by_rows(&self, len: usize) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let by_rows = self.iter().filter(|(name, _)| !name.ends_with(".w"));
        for range in by_rows.map(|(_, param)| param.range()).filter(|r| r.end <= len) {
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => ranges.push(range),
            }
        }
        ranges
    }

    /// The parameter called `name`.
    pub fn find(&self, name: &str) -> Option<Param> {
        self.iter().find(|(n, _)| *n == name).map(|(_, p)| p)
    }

    /// Fails with the tensor's name if a value is infinite or NaN. `what` says whose values these
    /// are ("gradient", "weight").
    pub fn check_finite<T: Real>(&self, values: &[T], what: &str) -> Result<()> {
        assert_eq!(values.len(), self.len);
        let finite = vectorize(
            #[inline(always)]
            || all_finite(values),
        );
        if finite {
            return Ok(());
        }
        for (name, param) in self.iter() {
            let slice = param.slice(values);
            if let Some(k) = slice.iter().position(|x| !x.is_finite()) {
                return Err(Error::numeric(format!(
                    "the {what} of {name} at ({}, {}) is {}",
                    k / param.cols,
                    k % param.cols,
                    slice[k]
                ))
                .hint("lower the learning rate, or look for extreme values in the features"));
            }
        }
        unreachable!("every value belongs to a parameter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_tile_the_arena() {
        let mut layout = Layout::default();
        assert!(layout.is_empty());
        let a = layout.add("a", 2, 3, Init::Zero);
        let b = layout.add("b", 1, 4, Init::Zero);
        assert_eq!((a.range(), b.range(), layout.len()), (0..6, 6..10, 10));
        assert!(!layout.is_empty());
        let arena: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(a.view(&arena).get(1, 2), 5.0);
        assert_eq!(b.slice(&arena), &[6.0, 7.0, 8.0, 9.0]);
        assert_eq!(layout.find("b"), Some(b));
        assert_eq!(layout.find("c"), None);
        assert_eq!(a.shape(), (2, 3));
    }

    #[test]
    fn what_is_summed_by_rows() {
        let mut layout = Layout::default();
        for (name, rows) in [("cls", 1), ("l.w", 3), ("l.b", 1), ("norm.gain", 1), ("k.w", 2)] {
            layout.add(name, rows, 2, Init::Zero);
        }
        layout.add("later.b", 1, 2, Init::Zero);
        assert_eq!(layout.summed_by_rows(layout.len()), [0..2, 8..12, 16..18]);
        assert_eq!(layout.summed_by_rows(16), [0..2, 8..12]);
    }

    #[test]
    fn non_finite_values_are_named() {
        let mut layout = Layout::default();
        layout.add("first", 2, 2, Init::Zero);
        layout.add("second", 2, 3, Init::Zero);
        let mut values = vec![0.0f32; 10];
        layout.check_finite(&values, "gradient").unwrap();
        values[8] = f32::NAN;
        let e = layout.check_finite(&values, "gradient").unwrap_err();
        assert_eq!(e.message(), "the gradient of second at (1, 1) is NaN");
        values[8] = 0.0;
        values[0] = f32::INFINITY;
        let e = layout.check_finite(&values, "weight").unwrap_err();
        assert_eq!(e.message(), "the weight of first at (0, 0) is inf");
    }
}
