//! `pomdp-fs stats`: ranks and tests for any table of results.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::Context;
use crate::measure::Metric;
use crate::measure::statistics::{
    Friedman, Ranks, Table, TableKind, average_ranks, bonferroni_dunn_q, critical_difference,
    groups, holm, nemenyi_q, wilcoxon,
};
use crate::report::{CdDiagram, TextTable, cd_diagram};
use crate::{Error, Result, io};

/// Average ranks, Friedman, Iman-Davenport, critical differences and Wilcoxon-Holm of a table
///
/// The table is CSV: either one row a data set and one column a method, or the columns dataset,
/// method, mean and (if there are several) metric. A table with the columns method and average_rank
/// holds printed average ranks; say over how many data sets with --datasets.
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs stats data/paper/table1.csv --metric RL --svg rl.svg")]
pub struct Stats {
    /// The table of results
    #[arg(value_name = "TABLE.csv")]
    table: PathBuf,
    /// Which metric, when the table holds several
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Larger results are better [default: known for the usual metrics, else smaller is better]
    #[arg(long, conflicts_with = "lower_is_better")]
    higher_is_better: bool,
    /// Smaller results are better
    #[arg(long)]
    lower_is_better: bool,
    /// Number of data sets behind a table of average ranks
    #[arg(long, value_name = "N")]
    datasets: Option<usize>,
    /// Significance level of the critical differences
    #[arg(long, value_name = "ALPHA", default_value_t = 0.05)]
    alpha: f64,
    /// The method that Bonferroni-Dunn and Wilcoxon-Holm compare with [default: the best rank]
    #[arg(long, value_name = "METHOD")]
    control: Option<String>,
    /// Write the critical-difference diagram (Nemenyi)
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
}

/// The result; the first nine keys are the contract.
#[derive(Serialize)]
struct Outcome {
    methods: Vec<String>,
    average_ranks: Vec<f64>,
    friedman_chi2: f64,
    friedman_p: f64,
    friedman_chi2_tie_corrected: Option<f64>,
    iman_davenport_f: f64,
    iman_davenport_p: f64,
    df: [usize; 2],
    #[serde(rename = "nemenyi_cd_0.05")]
    nemenyi_cd_05: f64,
    metric: Option<String>,
    higher_is_better: bool,
    datasets: usize,
    missing: usize,
    alpha: f64,
    nemenyi_cd: f64,
    bonferroni_dunn_cd: f64,
    not_told_apart: Vec<Vec<String>>,
    control: String,
    wilcoxon: Vec<Pair>,
}

/// One method against the control.
#[derive(Serialize)]
struct Pair {
    method: String,
    rank_difference: f64,
    w_plus: f64,
    w_minus: f64,
    p: f64,
    p_holm: f64,
}

impl Stats {
    /// Computes and shows everything.
    pub fn run(&self, context: &Context) -> Result<bool> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Error::config(format!(
                "found --alpha {}, expected a level between 0 and 1",
                self.alpha
            )));
        }
        if let Some(path) = &self.svg {
            io::check_writable(path)?;
        }
        let table = Table::read(&self.table, self.metric.as_deref())?;
        let outcome = self.compute(&table)?;
        if let Some(path) = &self.svg {
            io::write_atomic(path, self.diagram(&outcome)?.as_bytes())?;
        }
        show(context, &outcome);
        context.emit(&outcome)?;
        Ok(true)
    }

    fn higher_is_better(&self, table: &Table) -> bool {
        let known = table.metric.as_deref().and_then(Metric::find);
        self.higher_is_better
            || (!self.lower_is_better && known.is_some_and(|m| m.higher_is_better))
    }

    fn ranks(&self, table: &Table) -> Result<(Ranks, Friedman)> {
        if table.kind == TableKind::Results {
            let ranks = average_ranks(&table.values, self.higher_is_better(table));
            let test = Friedman::of(&ranks)?;
            return Ok((ranks, test));
        }
        let datasets = self.datasets.ok_or_else(|| {
            Error::config("found a table of average ranks, expected --datasets N with it")
                .hint("N is the number of data sets the ranks were averaged over")
        })?;
        let average = table.values.row(0).to_vec();
        let test = Friedman::of_average_ranks(&average, datasets)?;
        let ranks = Ranks { average, datasets, tie_term: 0.0, missing: 0 };
        Ok((ranks, test))
    }

    fn control(&self, table: &Table, ranks: &Ranks) -> Result<usize> {
        let best = (0..ranks.average.len())
            .min_by(|&a, &b| ranks.average[a].total_cmp(&ranks.average[b]))
            .unwrap_or(0);
        let Some(name) = &self.control else {
            return Ok(best);
        };
        let found = table.methods.iter().position(|m| m.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            Error::config(format!("found --control {name}, expected a method of the table"))
                .hint(table.methods.join(", "))
        })
    }

    fn compute(&self, table: &Table) -> Result<Outcome> {
        let (ranks, test) = self.ranks(table)?;
        let (k, n) = (table.methods.len(), ranks.datasets);
        let control = self.control(table, &ranks)?;
        let cd = critical_difference(nemenyi_q(k, self.alpha), k, n);
        let name = |&m: &usize| table.methods[m].clone();
        Ok(Outcome {
            methods: table.methods.clone(),
            friedman_chi2: test.chi2,
            friedman_p: test.p,
            friedman_chi2_tie_corrected: test.chi2_tie_corrected,
            iman_davenport_f: test.f,
            iman_davenport_p: test.f_p,
            df: test.df,
            nemenyi_cd_05: critical_difference(nemenyi_q(k, 0.05), k, n),
            metric: table.metric.clone(),
            higher_is_better: self.higher_is_better(table),
            datasets: n,
            missing: ranks.missing,
            alpha: self.alpha,
            nemenyi_cd: cd,
            bonferroni_dunn_cd: critical_difference(bonferroni_dunn_q(k, self.alpha), k, n),
            not_told_apart: groups(&ranks.average, cd)
                .iter()
                .map(|g| g.iter().map(name).collect())
                .collect(),
            control: name(&control),
            wilcoxon: pairs(table, &ranks, control),
            average_ranks: ranks.average,
        })
    }

    fn diagram(&self, outcome: &Outcome) -> Result<String> {
        let title = format!(
            "{}average ranks over {} data sets, Nemenyi at {}",
            outcome.metric.as_ref().map_or(String::new(), |m| format!("{m}: ")),
            outcome.datasets,
            self.alpha
        );
        cd_diagram(&CdDiagram {
            title: &title,
            methods: &outcome.methods,
            ranks: &outcome.average_ranks,
            cd: outcome.nemenyi_cd,
            groups: &groups(&outcome.average_ranks, outcome.nemenyi_cd),
        })
    }
}

/// Wilcoxon of every other method against the control; nothing for a table of average ranks.
fn pairs(table: &Table, ranks: &Ranks, control: usize) -> Vec<Pair> {
    if table.kind == TableKind::AverageRanks {
        return Vec::new();
    }
    let column =
        |j: usize| -> Vec<f64> { (0..table.values.rows()).map(|i| table.values[(i, j)]).collect() };
    let others: Vec<usize> = (0..table.methods.len()).filter(|&j| j != control).collect();
    let tests: Vec<_> = others.iter().map(|&j| wilcoxon(&column(j), &column(control))).collect();
    let adjusted = holm(&tests.iter().map(|t| t.p).collect::<Vec<_>>());
    let rows = others.iter().zip(tests).zip(adjusted);
    rows.map(|((&j, test), p_holm)| Pair {
        method: table.methods[j].clone(),
        rank_difference: ranks.average[j] - ranks.average[control],
        w_plus: test.positive,
        w_minus: test.negative,
        p: test.p,
        p_holm,
    })
    .collect()
}

fn show(context: &Context, o: &Outcome) {
    let better = if o.higher_is_better { "larger" } else { "smaller" };
    let metric = o.metric.as_ref().map_or(String::new(), |m| format!("{m}, "));
    context.say(format_args!(
        "{} methods on {} data sets ({metric}{better} is better)\n",
        o.methods.len(),
        o.datasets
    ));
    let mut rows =
        TextTable::new(["method", "average rank", "from control", "Wilcoxon p", "Holm p"]);
    for (method, rank) in o.methods.iter().zip(&o.average_ranks) {
        let mut row = vec![method.clone(), format!("{rank:.3}")];
        match o.wilcoxon.iter().find(|p| &p.method == method) {
            Some(p) => row.extend([
                format!("{:+.3}", p.rank_difference),
                format!("{:.4}", p.p),
                format!("{:.4}", p.p_holm),
            ]),
            None if *method == o.control => row.extend(["control".into(), "".into(), "".into()]),
            None => row.extend(["".into(), "".into(), "".into()]),
        }
        rows.push(row);
    }
    context.say(rows);
    let corrected = o
        .friedman_chi2_tie_corrected
        .map_or(String::new(), |c| format!(" (corrected for ties {c:.4})"));
    context.say(format_args!(
        "\nFriedman chi2 = {:.4}, p = {:.3e}{corrected}\nIman-Davenport F({}, {}) = {:.4}, p = {:.3e}",
        o.friedman_chi2, o.friedman_p, o.df[0], o.df[1], o.iman_davenport_f, o.iman_davenport_p
    ));
    context.say(format_args!(
        "Critical difference at {}: Nemenyi {:.4}, Bonferroni-Dunn {:.4}",
        o.alpha, o.nemenyi_cd, o.bonferroni_dunn_cd
    ));
    for group in &o.not_told_apart {
        context.say(format_args!("not told apart: {}", group.join(", ")));
    }
    if o.missing > 0 {
        context.say(format_args!("{} missing results were given the worst rank", o.missing));
    }
}
