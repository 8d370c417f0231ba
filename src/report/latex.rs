//! Results as LaTeX tables (booktabs).

use super::tables::{headline, remarks, tables};
use super::{Exporter, TextTable};
use crate::Result;
use crate::experiment::Results;

/// LaTeX; needs `\usepackage{booktabs}`.
pub struct Latex;

impl Exporter for Latex {
    fn file(&self) -> &'static str {
        "results.tex"
    }

    fn export(&self, results: &Results) -> Result<String> {
        let mut text = format!("% {}\n% \\usepackage{{booktabs}}\n", one_line(&headline(results)));
        for t in tables(results) {
            let caption = format!("{}: {}", results.about.dataset, t.title);
            text += &table(&t.table, &escape(&caption));
        }
        for remark in remarks(results) {
            text += &format!("% {}\n", one_line(&remark));
        }
        Ok(text)
    }
}

/// A table with its caption, which is LaTeX already.
pub(super) fn table(table: &TextTable, caption: &str) -> String {
    let columns = "r".repeat(table.header().len() - 1);
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| escape(c)).collect();
        format!("{} \\\\\n", cells.join(" & "))
    };
    let rows: String = table.rows().iter().map(|row| line(row)).collect();
    format!(
        "\n\\begin{{table}}\n\\caption{{{caption}}}\n\\begin{{tabular}}{{l{columns}}}\n\\toprule\n\
         {}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n",
        line(table.header())
    )
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Names come from the user's file: nothing in them is a command.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '±' => out += "$\\pm$",
            '×' => out += "$\\times$",
            '↑' => out += "$\\uparrow$",
            '↓' => out += "$\\downarrow$",
            'ε' => out += "$\\varepsilon$",
            'ρ' => out += "$\\rho$",
            'χ' => out += "$\\chi$",
            '²' => out += "$^2$",
            '≤' => out += "$\\le$",
            '≥' => out += "$\\ge$",
            '−' => out += "$-$",
            '\n' | '\r' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}
