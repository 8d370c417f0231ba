//! Statistics over a table of results: k methods on N data sets.
//!
//! Average ranks, Friedman's test with Iman and Davenport's correction, critical differences, and
//! Wilcoxon's signed-rank test with Holm's step-down (Demšar, JMLR 7, 2006).

mod friedman;
mod posthoc;
mod ranks;
mod studentized;
mod table;
mod wilcoxon;

pub use friedman::Friedman;
pub use posthoc::{bonferroni_dunn_q, critical_difference, groups, nemenyi_q};
pub use ranks::{Ranks, average_ranks};
pub use table::{Table, TableKind};
pub use wilcoxon::{Wilcoxon, holm, wilcoxon};
