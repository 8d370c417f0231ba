//! Curves over numeric axes, each linear or logarithmic, as SVG made to stand inside a page.
//!
//! Like [`super::LineChart`] it holds numbers only, and its colours are the page's light ones.

use std::ops::Range;

use plotters::prelude::*;

use super::Colour;
use super::line_chart::{GRID, MUTED, short};
use crate::num::Real;
use crate::{Error, Result};

const SIZE: (u32, u32) = (460, 260);

/// How an axis is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// Equal steps.
    #[default]
    Linear,
    /// Powers of ten; values that are not positive are left out.
    Logarithmic,
}

impl Axis {
    fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Axis::Linear => value,
            Axis::Logarithmic => Real::ln(value) / Real::ln(10.0),
        };
        place.is_finite().then_some(place)
    }

    fn label(self, place: f64, span: f64) -> String {
        match self {
            Axis::Linear => short(place, span),
            // Only whole powers have a name.
            Axis::Logarithmic if (place - place.round()).abs() < 1e-9 => {
                power(place.round() as i32)
            }
            Axis::Logarithmic => String::new(),
        }
    }
}

/// 10ⁿ in few characters.
fn power(n: i32) -> String {
    match n {
        -3..=-1 => {
            format!("{:.*}", n.unsigned_abs() as usize, Real::exp(f64::from(n) * Real::ln(10.0)))
        }
        0..=4 => format!("1{}", "0".repeat(n as usize)),
        _ => format!("1e{n}"),
    }
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// (x, y).
    pub points: Vec<(f64, f64)>,
}

/// What a drawing shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The curves.
    pub curves: Vec<Curve>,
    /// The axis across.
    pub across: Axis,
    /// The axis up.
    pub up: Axis,
    /// A dashed horizontal line to compare with.
    pub reference: Option<f64>,
}

impl Curves {
    /// The drawing as an `<svg>` element.
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|e| Error::numeric(format!("cannot draw a chart: {e}")))?;
        Ok(svg)
    }

    fn draw(
        &self,
        svg: &mut String,
    ) -> std::result::Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        let placed: Vec<Vec<(f64, f64)>> = self
            .curves
            .iter()
            .map(|c| {
                let place = |&(x, y): &(f64, f64)| Some((self.across.place(x)?, self.up.place(y)?));
                c.points.iter().filter_map(place).collect()
            })
            .collect();
        let reference = self.reference.and_then(|y| self.up.place(y));
        let all = || placed.iter().flatten();
        let x = span(all().map(|p| p.0), 0.0);
        let y = span(all().map(|p| p.1).chain(reference), 0.06);
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .margin_right(16)
            .x_label_area_size(26)
            .y_label_area_size(54)
            .build_cartesian_2d(x.clone(), y.clone())?;
        let labels = |axis: Axis, range: &Range<f64>| match axis {
            Axis::Linear => 6,
            // Enough that every whole power is among the marks.
            Axis::Logarithmic => 2 * (range.end - range.start).ceil() as usize + 2,
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .x_labels(labels(self.across, &x))
            .y_labels(labels(self.up, &y))
            .label_style(("sans-serif", 15).into_font().color(&MUTED))
            .x_label_formatter(&|v| self.across.label(*v, x.end - x.start))
            .y_label_formatter(&|v| self.up.label(*v, y.end - y.start))
            .draw()?;
        if let Some(at) = reference {
            let line = [(x.start, at), (x.end, at)];
            chart.draw_series(DashedLineSeries::new(line, 5, 4, MUTED.stroke_width(1)))?;
        }
        for (curve, points) in self.curves.iter().zip(&placed) {
            let colour = curve.colour.rgb();
            chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
            if points.len() <= 16 {
                chart.draw_series(points.iter().map(|&p| Circle::new(p, 3, colour.filled())))?;
            }
        }
        drop(chart);
        area.present()
    }
}

/// From the smallest to the largest value with a share of air on both sides.
fn span(values: impl Iterator<Item = f64>, air: f64) -> Range<f64> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    match high - low {
        _ if low > high => 0.0..1.0,
        d if d > 1e-9 * high.abs().max(low.abs()) => low - air * d..high + air * d,
        _ => low - 0.5..high + 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_values_can_be_drawn_on_any_axes() {
        for points in [vec![], vec![(1.0, 2.0)], vec![(0.0, -1.0), (1e9, 1e-9), (3.0, f64::NAN)]] {
            for (across, up) in
                [(Axis::Linear, Axis::Logarithmic), (Axis::Logarithmic, Axis::Linear)]
            {
                let curve =
                    Curve { name: "a".into(), colour: Colour::Teal, points: points.clone() };
                let curves = Curves { curves: vec![curve], across, up, reference: Some(0.5) };
                let svg = curves.svg().unwrap();
                roxmltree::Document::parse(&svg).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{points:?}");
            }
        }
    }

    #[test]
    fn powers_of_ten_have_short_names() {
        let names: Vec<String> = [-5, -2, 0, 3, 5].into_iter().map(power).collect();
        assert_eq!(names, ["1e-5", "0.01", "1", "1000", "1e5"]);
        assert_eq!(Axis::Logarithmic.label(0.5, 2.0), "");
    }
}
