//! Ridge regression as a probe: how well do these features explain those targets?
//!
//! The problem, for targets B (n × L, centred) and selected features S:
//! min over W of ‖B − Z_S W‖² + λ‖W‖², with an intercept that is not penalised (Z centred). [`state`]
//! answers for every open feature what selecting it would change, in closed form; [`all_rows`] on the
//! rows it learns from, [`folds`] on held-out rows; [`penalty`] chooses λ; [`columns`] keeps sparse features sparse; [`weighting`]
//! says how much a column and a label count; [`targets`] what the controls `forward` and `ridge` explain.

pub mod all_rows;
pub mod columns;
mod dense;
pub mod folds;
pub mod held_out;
pub mod penalty;
pub mod state;
pub mod targets;
pub mod weighting;

#[cfg(test)]
mod tests;
