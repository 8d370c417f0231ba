//! Charts in words, for whoever cannot see them.

/// What a chart of lines shows: where each begins and ends, and between which values it stays.
pub(super) fn spoken<'a>(
    title: &str,
    lines: impl Iterator<Item = (&'a str, Vec<f64>)>,
    dashed: Option<&str>,
) -> String {
    let mut text = format!("{title}: a line chart.");
    for (name, values) in lines {
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        text += &format!(
            " {name}: {} values, from {} to {}, at least {}, at most {}.",
            values.len(),
            figure(*first),
            figure(*last),
            figure(least),
            figure(most)
        );
    }
    text.extend(dashed.map(|d| format!(" Dashed line: {d}.")));
    text
}

/// Four decimals, unless they would hide the number.
fn figure(value: f64) -> String {
    match value.abs() {
        a if a == 0.0 || (0.001..1e6).contains(&a) => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_told_by_its_ends_and_limits() {
        let lines = [("gap", vec![0.5, 2.0, 1e-9]), ("nothing", vec![])];
        let text = spoken("Gaps", lines.into_iter(), Some("limit"));
        assert_eq!(
            text,
            "Gaps: a line chart. gap: 3 values, from 0.5000 to 1.00e-9, at least 1.00e-9, at most \
             2.0000. Dashed line: limit."
        );
    }
}
