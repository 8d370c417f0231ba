//! Critical-difference diagram (Demšar 2006, figure 1) as SVG.
//!
//! Best rank on the right of the axis, as in the original: methods hang from their average rank,
//! half of them to each side; a bar joins those that the test cannot tell apart; the critical
//! difference is drawn to scale above the axis.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::{Error, Result};

/// What a diagram shows.
#[derive(Clone, Debug)]
pub struct CdDiagram<'a> {
    /// A line of text above everything.
    pub title: &'a str,
    /// Names of the methods.
    pub methods: &'a [String],
    /// Their average ranks.
    pub ranks: &'a [f64],
    /// The critical difference.
    pub cd: f64,
    /// The sets of methods that are not told apart.
    pub groups: &'a [Vec<usize>],
}

const WIDTH: i32 = 760;
const MARGIN: i32 = 190;
const AXIS: i32 = 84;
const LINE: i32 = 20;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The diagram as a stand-alone SVG file.
pub fn cd_diagram(diagram: &CdDiagram<'_>) -> Result<String> {
    let half = diagram.methods.len().div_ceil(2) as i32;
    let bars = diagram.groups.len() as i32;
    let height = AXIS + 12 * bars + LINE * (half + 2);
    let mut svg = String::new();
    {
        let size = (WIDTH as u32, height as u32);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(diagram, &area)
            .and_then(|()| area.present())
            .map_err(|e| Error::numeric(format!("cannot draw the diagram: {e}")))?;
    }
    Ok(svg)
}

type Drawn = std::result::Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// x of a rank; the best rank, 1, is on the right.
fn place(rank: f64, k: usize) -> i32 {
    let share = (rank - 1.0) / (k as f64 - 1.0).max(1.0);
    WIDTH - MARGIN - (share * f64::from(WIDTH - 2 * MARGIN)).round() as i32
}

fn draw(diagram: &CdDiagram<'_>, area: &Area<'_>) -> Drawn {
    let k = diagram.methods.len();
    area.fill(&WHITE)?;
    text(area, diagram.title, (WIDTH / 2, 16), HPos::Center)?;
    // The critical difference, to scale, from the left end of the axis.
    let left = place(k as f64, k);
    let right = place(k as f64 - diagram.cd, k);
    line(area, (left, 46), (right, 46), 2)?;
    for x in [left, right] {
        line(area, (x, 42), (x, 50), 1)?;
    }
    let cd = format!("CD = {:.3}", diagram.cd);
    text(area, &cd, ((left + right) / 2, 34), HPos::Center)?;
    // The axis with a tick for each rank.
    line(area, (left, AXIS), (place(1.0, k), AXIS), 1)?;
    for rank in 1..=k {
        let x = place(rank as f64, k);
        line(area, (x, AXIS - 5), (x, AXIS), 1)?;
        text(area, &rank.to_string(), (x, AXIS - 13), HPos::Center)?;
    }
    for (level, group) in diagram.groups.iter().enumerate() {
        let y = AXIS + 9 + 12 * level as i32;
        let ends = group.iter().map(|&m| place(diagram.ranks[m], k));
        let (from, to) = (ends.clone().min(), ends.max());
        if let (Some(from), Some(to)) = (from, to) {
            line(area, (from - 3, y), (to + 3, y), 4)?;
        }
    }
    methods(diagram, area)
}

/// Better half to the right, worse half to the left, each from the outside to the middle.
fn methods(diagram: &CdDiagram<'_>, area: &Area<'_>) -> Drawn {
    let k = diagram.methods.len();
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&a, &b| diagram.ranks[a].total_cmp(&diagram.ranks[b]));
    let top = AXIS + 12 * diagram.groups.len() as i32 + LINE;
    for (position, &m) in order.iter().enumerate() {
        let better = position < k.div_ceil(2);
        let row = if better { position } else { k - 1 - position };
        let y = top + LINE * row as i32;
        let x = place(diagram.ranks[m], k);
        let end = if better { WIDTH - MARGIN + 12 } else { MARGIN - 12 };
        line(area, (x, AXIS), (x, y), 1)?;
        line(area, (x, y), (end, y), 1)?;
        let label = format!("{} ({:.3})", diagram.methods[m], diagram.ranks[m]);
        let (at, side) = if better { (end + 5, HPos::Left) } else { (end - 5, HPos::Right) };
        text(area, &label, (at, y), side)?;
    }
    Ok(())
}

fn line(area: &Area<'_>, from: (i32, i32), to: (i32, i32), width: u32) -> Drawn {
    area.draw(&PathElement::new(vec![from, to], BLACK.stroke_width(width)))
}

fn text(area: &Area<'_>, text: &str, at: (i32, i32), side: HPos) -> Drawn {
    let style = TextStyle::from(("sans-serif", 13).into_font()).pos(Pos::new(side, VPos::Center));
    area.draw_text(text, &style, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_every_method_and_every_bar() {
        let methods: Vec<String> = ["a", "b<", "c"].map(String::from).to_vec();
        let groups = vec![vec![0, 1]];
        let svg = cd_diagram(&CdDiagram {
            title: "test",
            methods: &methods,
            ranks: &[1.0, 1.5, 3.0],
            cd: 0.7,
            groups: &groups,
        })
        .unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        roxmltree::Document::parse(&svg).unwrap();
        for label in ["a (1.000)", "b&lt; (1.500)", "c (3.000)", "CD = 0.700"] {
            assert!(svg.contains(label), "{label} in {svg}");
        }
        assert_eq!(svg.matches("stroke-width=\"4\"").count(), 1);
    }
}
