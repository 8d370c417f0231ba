//! LIBSVM with a first comment that carries the names; zeros are left out, indices start at 0.

use std::fmt::Write;

use super::some_blocks;
use crate::data::Dataset;
use crate::data::read::libsvm::{Names, TAG};
use crate::{Error, Result, io};

/// The whole file.
pub(super) fn text(dataset: &Dataset) -> Result<String> {
    let blocks = some_blocks(dataset)?;
    let [(truth, labels)] = blocks[..] else {
        return Err(Error::input(
            "LIBSVM holds one label block, the data set has truth and candidates",
        )
        .hint("write .csv or .arff"));
    };
    let names = Names {
        features: dataset.feature_names.clone(),
        labels: dataset.label_names.clone(),
        block: if truth { "truth" } else { "candidates" }.to_owned(),
    };
    let mut out = format!("{TAG}{}", io::json_line(&names)?);
    for i in 0..dataset.n() {
        let on: Vec<String> =
            (0..labels.cols()).filter(|&j| labels.get(i, j)).map(|j| j.to_string()).collect();
        out.push_str(&on.join(","));
        // A negative zero is not nothing.
        let stored = dataset.x.row(i).iter().enumerate().filter(|(_, v)| v.to_bits() != 0);
        for (j, v) in stored {
            let _ = write!(out, " {j}:{v}");
        }
        // A row with neither labels nor features must not be an empty line.
        out.push_str(if out.ends_with('\n') { " \n" } else { "\n" });
    }
    Ok(out)
}
