//! Plots with both axes numeric: lines with bands, and points. Plain SVG with fixed colours, which a
//! page can override for a dark background.

use std::fmt::Write;
use std::ops::Range;

/// Colours of lines and points, in the order in which they are given out.
pub const INKS: [&str; 7] =
    ["#2F6FDE", "#D9731A", "#2E8B57", "#8250C8", "#C2410C", "#0E7C86", "#6B7280"];

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 42.0;
const MUTED: &str = "#6B7280";
const GRID: &str = "#E3E6EA";

/// A line with a band around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// What it is.
    pub name: String,
    /// Colour.
    pub ink: &'static str,
    /// Drawn as dashes.
    pub dashed: bool,
    /// x, y, lower and upper end of the band.
    pub points: Vec<[f64; 4]>,
}

/// Points of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    /// What they are.
    pub name: String,
    /// Colour.
    pub ink: &'static str,
    /// x, y.
    pub points: Vec<[f64; 2]>,
}

/// A plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// What the x axis is.
    pub x: String,
    /// What the y axis is.
    pub y: String,
    /// Lines.
    pub bands: Vec<Band>,
    /// Points.
    pub clouds: Vec<Cloud>,
    /// Equal axes with the line x = y.
    pub diagonal: bool,
}

struct Frame {
    x: Range<f64>,
    y: Range<f64>,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = (x - self.x.start) / (self.x.end - self.x.start);
        let up = (y - self.y.start) / (self.y.end - self.y.start);
        let place = (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        );
        ((10.0 * place.0).round() / 10.0, (10.0 * place.1).round() / 10.0)
    }
}

impl Plot {
    /// The plot as an `<svg>` element, which is also a file of its own.
    pub fn svg(&self) -> String {
        let frame = self.frame();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n"
        );
        self.axes(&frame, &mut svg);
        for band in &self.bands {
            draw_band(band, &frame, &mut svg);
        }
        for cloud in &self.clouds {
            for [x, y] in finite(&cloud.points) {
                let (cx, cy) = frame.at(*x, *y);
                let ink = cloud.ink;
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"3\" fill=\"{ink}\" fill-opacity=\"0.6\"/>"
                );
            }
        }
        svg + "</svg>\n"
    }

    fn frame(&self) -> Frame {
        let lines = || self.bands.iter().flat_map(|b| finite(&b.points));
        let points = || self.clouds.iter().flat_map(|c| finite(&c.points));
        let x = span(lines().map(|p| p[0]).chain(points().map(|p| p[0])));
        let y = span(lines().flat_map(|p| [p[2], p[3]]).chain(points().map(|p| p[1])));
        if self.diagonal {
            let both = x.start.min(y.start)..x.end.max(y.end);
            return Frame { x: both.clone(), y: both };
        }
        Frame { x, y }
    }

    fn axes(&self, frame: &Frame, svg: &mut String) {
        for tick in ticks(&frame.y) {
            let ((x, y), (end, _)) = (frame.at(frame.x.start, tick), frame.at(frame.x.end, tick));
            let _ = writeln!(
                svg,
                "<path d=\"M{x} {y}H{end}\" stroke=\"{GRID}\"/><text x=\"{}\" y=\"{}\" \
                 text-anchor=\"end\" fill=\"{MUTED}\">{}</text>",
                x - 6.0,
                y + 4.0,
                label(tick)
            );
        }
        for tick in ticks(&frame.x) {
            let (x, y) = frame.at(tick, frame.y.start);
            let _ = writeln!(
                svg,
                "<path d=\"M{x} {y}v4\" stroke=\"{MUTED}\"/><text x=\"{x}\" y=\"{}\" \
                 text-anchor=\"middle\" fill=\"{MUTED}\">{}</text>",
                y + 17.0,
                label(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{MUTED}\">{}</text>\
             <text transform=\"translate(12 {}) rotate(-90)\" text-anchor=\"middle\" \
             fill=\"{MUTED}\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 6.0,
            escape(&self.x),
            (TOP + HEIGHT - BOTTOM) / 2.0,
            escape(&self.y)
        );
        if self.diagonal {
            let (from, to) =
                (frame.at(frame.x.start, frame.y.start), frame.at(frame.x.end, frame.y.end));
            let _ = writeln!(
                svg,
                "<path d=\"M{} {}L{} {}\" stroke=\"{MUTED}\" stroke-dasharray=\"5 4\"/>",
                from.0, from.1, to.0, to.1
            );
        }
    }
}

fn draw_band(band: &Band, frame: &Frame, svg: &mut String) {
    let place = |x: f64, y: f64| {
        let (x, y) = frame.at(x, y);
        format!("{x} {y}")
    };
    let points: Vec<&[f64; 4]> = finite(&band.points).collect();
    let path = |ends: Vec<String>| ends.join("L");
    let ink = band.ink;
    if points.iter().any(|p| p[2] < p[3]) {
        let upper = points.iter().map(|p| place(p[0], p[3]));
        let lower = points.iter().rev().map(|p| place(p[0], p[2]));
        let outline = path(upper.chain(lower).collect());
        let _ = writeln!(svg, "<path d=\"M{outline}Z\" fill=\"{ink}\" fill-opacity=\"0.13\"/>");
    }
    let line = path(points.iter().map(|p| place(p[0], p[1])).collect());
    let dashes = if band.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
    if !line.is_empty() {
        let _ = writeln!(
            svg,
            "<path d=\"M{line}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"2\"{dashes}/>"
        );
    }
}

/// Points without a NaN or an infinity.
fn finite<const N: usize>(points: &[[f64; N]]) -> impl Iterator<Item = &[f64; N]> {
    points.iter().filter(|p| p.iter().all(|v| v.is_finite()))
}

/// From the smallest to the largest value, with some air.
fn span(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return 0.0..1.0;
    }
    let air = if high > low { 0.05 * (high - low) } else { 0.5 * high.abs().max(0.01) };
    // A quantity that is never negative has no axis below 0.
    let start = if low >= 0.0 { (low - air).max(0.0) } else { low - air };
    start..high + air
}

/// Four to eight round numbers.
fn ticks(range: &Range<f64>) -> Vec<f64> {
    let width = range.end - range.start;
    let mut step = 1e-6;
    'found: loop {
        for factor in [1.0, 2.0, 5.0] {
            if width / (step * factor) <= 7.0 {
                step *= factor;
                break 'found;
            }
        }
        step *= 10.0;
    }
    let first = (range.start / step - 1e-9).ceil() as i64;
    let last = (range.end / step + 1e-9).floor() as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

fn label(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_points_can_be_drawn() {
        let cases: [&[[f64; 4]]; 5] = [
            &[],
            &[[1.0, 0.5, 0.5, 0.5]],
            &[[1.0, 0.5, 0.4, 0.6], [2.0, f64::NAN, 0.0, 1.0], [3.0, 0.2, 0.1, 0.3]],
            &[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            &[[-1e9, 1e9, -1e9, 1e9], [1e9, 0.0, 0.0, 0.0]],
        ];
        for points in cases {
            let band =
                Band { name: "a<b".into(), ink: INKS[0], dashed: true, points: points.to_vec() };
            let clouds = vec![Cloud { name: "c".into(), ink: INKS[1], points: vec![[0.3, 0.4]] }];
            for diagonal in [false, true] {
                let bands = vec![band.clone()];
                let plot = Plot {
                    x: "x <".into(),
                    y: "y".into(),
                    bands,
                    clouds: clouds.clone(),
                    diagonal,
                };
                let svg = plot.svg();
                roxmltree::Document::parse(&svg).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn ticks_are_round_and_few() {
        for (range, want) in [(0.0..1.0, 6), (0.17..0.19, 5), (0.0..100.0, 6), (-3.0..3.0, 7)] {
            let found = ticks(&range);
            assert_eq!(found.len(), want, "{range:?}: {found:?}");
            assert!(found.iter().all(|t| range.start <= t + 1e-9 && t - 1e-9 <= range.end));
        }
        assert_eq!((label(0.2), label(-0.0), label(20.0)), ("0.2".into(), "0".into(), "20".into()));
    }
}
