//! A small line chart as SVG, made to stand inside a page.
//!
//! It holds numbers only, never names, so it needs no escaping. Its colours are the page's light
//! ones; the page's style sheet replaces them by attribute when the reader prefers a dark page.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::{Error, Result};

const SIZE: (u32, u32) = (460, 220);
const WIDE: (u32, u32) = (960, 230);
pub(super) const GRID: RGBColor = RGBColor(0xE3, 0xE6, 0xEA);
pub(super) const MUTED: RGBColor = RGBColor(0x6B, 0x72, 0x80);
/// More points than this are drawn as a line alone.
const MARKED: usize = 40;

/// A colour of a series; the page knows each by class and by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The first series.
    Blue,
    /// The second.
    Orange,
    /// The third.
    Green,
    /// The fourth.
    Purple,
    /// The fifth.
    Teal,
    /// The sixth.
    Red,
}

impl Colour {
    /// All, in the order in which they are given out.
    pub const ALL: [Colour; 6] =
        [Colour::Blue, Colour::Orange, Colour::Green, Colour::Purple, Colour::Teal, Colour::Red];

    /// Class of the key in the page's style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Colour::Blue => "blue",
            Colour::Orange => "orange",
            Colour::Green => "green",
            Colour::Purple => "purple",
            Colour::Teal => "teal",
            Colour::Red => "red",
        }
    }

    pub(super) fn rgb(self) -> RGBColor {
        match self {
            Colour::Blue => RGBColor(0x2F, 0x6F, 0xDE),
            Colour::Orange => RGBColor(0xD9, 0x73, 0x1A),
            Colour::Green => RGBColor(0x2E, 0x8B, 0x57),
            Colour::Purple => RGBColor(0x82, 0x50, 0xC8),
            Colour::Teal => RGBColor(0x0E, 0x7C, 0x86),
            Colour::Red => RGBColor(0xC2, 0x41, 0x0C),
        }
    }
}

/// Values at x = 1, 2, 3, …
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// Its values.
    pub values: Vec<f64>,
}

/// What a chart shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// Lines.
    pub series: Vec<Series>,
    /// A dashed horizontal line to compare with.
    pub reference: Option<f64>,
    /// A dashed vertical line.
    pub mark: Option<usize>,
    /// As wide as the page, instead of half of it.
    pub wide: bool,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = std::result::Result<(), DrawingAreaErrorKind<std::io::Error>>;

impl LineChart {
    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        {
            let size = if self.wide { WIDE } else { SIZE };
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            self.draw(&area)
                .and_then(|()| area.present())
                .map_err(|e| Error::numeric(format!("cannot draw a chart: {e}")))?;
        }
        Ok(svg)
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let (across, up) = (self.across(), self.up());
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .x_label_area_size(26)
            .y_label_area_size(66)
            .build_cartesian_2d(across.clone(), up.clone())?;
        let whole = |x: &f64| if x.fract() == 0.0 { format!("{x}") } else { String::new() };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .x_labels(8)
            .y_labels(5)
            .label_style(("sans-serif", 16).into_font().color(&MUTED))
            .x_label_formatter(&whole)
            .y_label_formatter(&|y| short(*y, up.end - up.start))
            .draw()?;
        let reference = self.reference.map(|y| [(across.start, y), (across.end, y)]);
        let mark = self.mark.map(|x| [(x as f64, up.start), (x as f64, up.end)]);
        for line in [reference, mark].into_iter().flatten() {
            chart.draw_series(DashedLineSeries::new(line, 5, 4, MUTED.stroke_width(1)))?;
        }
        for series in &self.series {
            let colour = series.colour.rgb();
            let points = || series.values.iter().enumerate().map(|(k, &y)| ((k + 1) as f64, y));
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
            if series.values.len() <= MARKED {
                chart.draw_series(points().map(|p| Circle::new(p, 3, colour.filled())))?;
            }
        }
        Ok(())
    }

    fn across(&self) -> Range<f64> {
        let longest = self.series.iter().map(|s| s.values.len()).max().unwrap_or(0);
        // A single point stands in the middle.
        if longest <= 1 { 0.0..2.0 } else { 1.0..longest as f64 }
    }

    /// From the smallest to the largest value, with some air.
    fn up(&self) -> Range<f64> {
        let values = || self.series.iter().flat_map(|s| &s.values).chain(&self.reference);
        let low = values().copied().fold(f64::INFINITY, f64::min);
        let high = values().copied().fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return 0.0..1.0;
        }
        let air = match high - low {
            span if span > 1e-9 * high.abs().max(low.abs()) => 0.08 * span,
            _ => (0.1 * high.abs()).max(0.01),
        };
        low - air..high + air
    }
}

/// As many digits as the span of the axis needs.
pub(super) fn short(value: f64, span: f64) -> String {
    let digits = match span {
        s if s >= 20.0 => 0,
        s if s >= 2.0 => 1,
        s if s >= 0.2 => 2,
        s if s >= 0.02 => 3,
        s if s >= 0.002 => 4,
        s if s >= 0.0002 => 5,
        s if s >= 0.00002 => 6,
        _ if value.abs() < 1e-9 * span => return "0".to_owned(),
        _ => return format!("{value:.1e}"),
    };
    // A rounded −0 reads like a number below zero.
    let text = format!("{value:.digits$}");
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64]) -> LineChart {
        let series = Series { name: "loss".into(), colour: Colour::Blue, values: values.to_vec() };
        LineChart { series: vec![series], reference: Some(0.5), ..LineChart::default() }
    }

    #[test]
    fn any_number_of_points_and_any_values_can_be_drawn() {
        let many: Vec<f64> = (0..1836).map(|k| 1.0 / f64::from(k + 1)).collect();
        let cases: [&[f64]; 7] =
            [&[], &[0.3], &[2.0, 2.0], &[0.0; 3], &[-1e-9, 1e-9], &[1e30, -1e30], &many];
        for values in cases {
            let svg = chart(values).svg().unwrap();
            roxmltree::Document::parse(&svg).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{values:?}");
            assert_eq!(svg, chart(values).svg().unwrap(), "the same bytes");
        }
    }

    #[test]
    fn numbers_on_the_axis_are_short() {
        assert_eq!(short(123.4, 50.0), "123");
        assert_eq!(short(0.1234, 0.5), "0.12");
        assert_eq!(short(-1e-18, 0.5), "0.00");
        assert_eq!((short(3e-6, 1e-5), short(1e-20, 1e-5)), ("3.0e-6".into(), "0".into()));
    }
}
