//! Variables of a MATLAB file as a data set: which is which, and which way round.
//!
//! Two habits are known: `data, target[, partial_labels]`, and the same with `train_` and `test_` in
//! front. Features usually have one row per instance and labels one *column* per instance, but not
//! always: the number of instances N is the one that both share, and what was found is noted.

mod container;
mod element;

use std::io::BufRead;

use super::Parsed;
use super::builder::{Matrices, refuse_missing, yes_or_no};
use super::options::{Impute, Part, ReadOptions, Role};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::{Error, Result};
use container::{Contents, Variable};

const FEATURES: [&str; 5] = ["data", "x", "features", "fea", "feature"];
const TRUTH: [&str; 6] = ["target", "targets", "y", "labels", "label", "gnd"];
const CANDIDATES: [&str; 7] = [
    "partial_labels",
    "partial_label",
    "partial_target",
    "p_target",
    "candidate_labels",
    "candidates",
    "candidate",
];

/// Part and meaning of a variable, by its name.
fn classify(name: &str) -> Option<(Part, &'static [&'static str])> {
    let name = name.to_ascii_lowercase();
    let (part, base) = match (name.strip_prefix("train_"), name.strip_prefix("test_")) {
        (Some(base), _) => (Part::Train, base),
        (_, Some(base)) => (Part::Test, base),
        _ => (Part::All, name.as_str()),
    };
    let groups: [&'static [&'static str]; 3] = [&FEATURES, &TRUTH, &CANDIDATES];
    groups.into_iter().find(|g| g.contains(&base)).map(|g| (part, g))
}

/// Reads a whole MATLAB file.
pub(crate) fn read(reader: impl BufRead, options: &ReadOptions) -> Result<Parsed> {
    let contents = container::read(reader, options.max_bytes, |name| classify(name).is_some())?;
    let mut notes = Vec::new();
    if !contents.skipped.is_empty() {
        let skipped: Vec<String> =
            contents.skipped.iter().map(|(name, why)| format!("'{name}' ({why})")).collect();
        notes.push(format!("skipped variables: {}", skipped.join(", ")));
    }
    let parts = choose_parts(&contents, options)?;
    let mut blocks = Vec::new();
    for part in parts {
        blocks.push(LabelledRows::find(&contents, part, options, &mut notes)?);
    }
    assemble(blocks, notes)
}

/// The parts to read, in order.
fn choose_parts(contents: &Contents, options: &ReadOptions) -> Result<Vec<Part>> {
    let has = |part| {
        let mut names = contents.variables.iter().map(|v| classify(&v.name));
        names.any(|c| c.is_some_and(|(p, group)| p == part && group == FEATURES))
    };
    let parts: Vec<Part> = match options.part {
        Part::All if has(Part::All) => vec![Part::All],
        Part::All => [Part::Train, Part::Test].into_iter().filter(|&p| has(p)).collect(),
        part => [part].into_iter().filter(|&p| has(p)).collect(),
    };
    if parts.is_empty() {
        let wanted = match options.part {
            Part::All => "a matrix 'data', or 'train_data' and 'test_data'".to_owned(),
            part => format!("a matrix '{}_data'", part.name()),
        };
        let found: Vec<String> = contents.variables.iter().map(|v| v.name.clone()).collect();
        let skipped = contents.skipped.iter().map(|(n, why)| format!("{n} ({why})"));
        let found: Vec<String> = found.into_iter().chain(skipped).collect();
        let found = if found.is_empty() {
            "no variable".to_owned()
        } else {
            format!("the variables {}", found.join(", "))
        };
        return Err(Error::found(found, wanted)
            .hint("rename the variables in MATLAB: data (N x d), target (labels), partial_labels (candidates)"));
    }
    Ok(parts)
}

/// One part of the file, instances as rows.
struct LabelledRows {
    x: Mat<f64>,
    truth: Option<Labels>,
    candidates: Option<Labels>,
}

impl LabelledRows {
    fn find(
        contents: &Contents,
        part: Part,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let pick = |group: &[&str]| {
            contents
                .variables
                .iter()
                .find(|v| classify(&v.name).is_some_and(|(p, g)| p == part && g == group))
        };
        let x = pick(&FEATURES).ok_or_else(|| Error::input("no features"))?;
        let (truth, candidates) = (pick(&TRUTH), pick(&CANDIDATES));
        let Some(labels) = truth.or(candidates) else {
            return Err(Error::found(
                format_args!("no labels for '{}'", x.name),
                "a matrix 'target' or 'partial_labels'",
            ));
        };
        let (by_row, n) = orientation(x, labels, notes)?;
        let x = features(x, by_row, n, options, notes)?;
        let mut block = LabelledRows {
            x,
            truth: truth.map(|v| label_matrix(v, n, notes)).transpose()?,
            candidates: candidates.map(|v| label_matrix(v, n, notes)).transpose()?,
        };
        if options.role_of(None) == Role::Candidates && block.candidates.is_none() {
            block.candidates = block.truth.take();
        }
        Ok(block)
    }
}

/// Are the instances the rows of `x`, and how many are there?
fn orientation(x: &Variable, labels: &Variable, notes: &mut Vec<String>) -> Result<(bool, usize)> {
    let shares = |n: usize| labels.rows == n || labels.cols == n;
    let by_row = match (shares(x.rows), shares(x.cols)) {
        (true, _) => true,
        // One instance with many features is more often a mistake than a data set.
        (false, true) if x.cols > 1 => false,
        _ => {
            return Err(Error::input(format!(
                "'{}' is {}x{} and '{}' is {}x{}: they share no number of instances",
                x.name, x.rows, x.cols, labels.name, labels.rows, labels.cols
            )));
        }
    };
    let n = if by_row { x.rows } else { x.cols };
    let way = if by_row { "row" } else { "column" };
    notes.push(format!("'{}': {}x{} {}, one {way} per instance", x.name, x.rows, x.cols, x.class));
    if by_row && x.rows != x.cols && shares(x.cols) {
        notes.push(format!("'{}' could also be read the other way round: check it", x.name));
    }
    Ok((by_row, n))
}

fn features(
    x: &Variable,
    by_row: bool,
    n: usize,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Mat<f64>> {
    let d = x.values.len().checked_div(n).unwrap_or(0);
    if n == 0 || d == 0 {
        return Err(Error::found(
            format_args!("'{}' without values", x.name),
            "instances and features",
        ));
    }
    let bad = |k: usize| format!("'{}' row {}, column {}", x.name, k % x.rows + 1, k / x.rows + 1);
    if let Some(k) = x.values.iter().position(|v| v.is_infinite()) {
        return Err(Error::found("an infinite value", "finite numbers").about(bad(k)));
    }
    if options.impute == Impute::Refuse
        && let Some(k) = x.values.iter().position(|v| v.is_nan())
    {
        return Err(refuse_missing().about(bad(k)));
    }
    let mut matrix = match by_row {
        true => Mat::from_fn(n, d, |i, j| x.values[j * n + i]),
        false => Mat::from_vec(n, d, x.values.clone()),
    };
    let names: Vec<String> = (1..=d).map(|j| format!("feature{j}")).collect();
    let means = options.needed.as_ref().map(|needed| needed.means_of(&names));
    super::builder::fill_missing(&mut matrix, options.impute, means.as_deref(), notes);
    Ok(matrix)
}

/// Labels with one row per instance, whichever way they are stored.
fn label_matrix(v: &Variable, n: usize, notes: &mut Vec<String>) -> Result<Labels> {
    // Labels by columns is the habit of the field, so a square matrix is read that way.
    let by_column = v.cols == n;
    if !by_column && v.rows != n {
        return Err(Error::input(format!(
            "'{}' is {}x{}, and there are {n} instances",
            v.name, v.rows, v.cols
        )));
    }
    let labels = if by_column { v.rows } else { v.cols };
    if labels == 0 {
        return Err(Error::found(format_args!("'{}' without labels", v.name), "at least one"));
    }
    let mut cells = Vec::with_capacity(v.values.len());
    for i in 0..n {
        for j in 0..labels {
            let k = if by_column { i * v.rows + j } else { j * v.rows + i };
            let on = yes_or_no(v.values[k]).map_err(|e| {
                e.about(format!("'{}' row {}, column {}", v.name, k % v.rows + 1, k / v.rows + 1))
            })?;
            cells.push(on);
        }
    }
    let way = if by_column { "column" } else { "row" };
    let signs = if v.values.contains(&-1.0) { "-1/+1" } else { "0/1" };
    let mut note =
        format!("'{}': {}x{} {}, one {way} per instance, {signs}", v.name, v.rows, v.cols, v.class);
    if v.rows == v.cols {
        note += "; it is square, so the way round is an assumption";
    }
    notes.push(note);
    Ok(Labels::from_vec(n, labels, cells))
}

/// Stacks the parts.
fn assemble(blocks: Vec<LabelledRows>, mut notes: Vec<String>) -> Result<Parsed> {
    if blocks.len() > 1 {
        let rows: Vec<String> = blocks.iter().map(|b| b.x.rows().to_string()).collect();
        notes.push(format!("train rows, then test rows: {}", rows.join(" + ")));
    }
    let labels =
        |b: &LabelledRows| b.truth.as_ref().or(b.candidates.as_ref()).map_or(0, Labels::cols);
    let (d, l) = (blocks[0].x.cols(), labels(&blocks[0]));
    for block in &blocks {
        if (block.x.cols(), labels(block)) != (d, l) {
            return Err(Error::input(format!(
                "the train part has {d} features and {l} labels, the test part {} and {}",
                block.x.cols(),
                labels(block)
            )));
        }
    }
    let truth = stack(&blocks, |b| b.truth.as_ref());
    let candidates = stack(&blocks, |b| b.candidates.as_ref());
    if candidates.is_none() && blocks.iter().any(|b| b.candidates.is_some()) {
        notes.push(
            "candidate labels cover only one part and were left out; read that part alone to keep them"
                .to_owned(),
        );
    }
    let n: usize = blocks.iter().map(|b| b.x.rows()).sum();
    let mut parts = blocks.into_iter().map(|b| b.x);
    let mut x = parts.next().unwrap_or_default();
    for more in parts {
        let from = x.as_slice().len();
        x.set_rows(x.rows() + more.rows());
        x.as_mut_slice()[from..].copy_from_slice(more.as_slice());
    }
    debug_assert_eq!(x.rows(), n);
    Ok(Parsed {
        matrices: Matrices { x, truth, candidates, words: Default::default() },
        table: None,
        feature_names: (1..=d).map(|j| format!("feature{j}")).collect(),
        label_names: (1..=l).map(|j| format!("label{j}")).collect(),
        nominal: Default::default(),
        numbered_features: true,
        format: "mat, version 5".to_owned(),
        notes,
    })
}

/// All parts of one kind of labels, or none if a part lacks them.
fn stack(
    blocks: &[LabelledRows],
    pick: impl Fn(&LabelledRows) -> Option<&Labels>,
) -> Option<Labels> {
    let parts: Option<Vec<&Labels>> = blocks.iter().map(pick).collect();
    let parts = parts?;
    let rows = parts.iter().map(|p| p.rows()).sum();
    let cells = parts.iter().flat_map(|p| p.as_slice()).copied().collect();
    Some(Labels::from_vec(rows, parts[0].cols(), cells))
}
