//! Negative controls: mistakes that the gradient check must catch.
//!
//! A gradient check that has never caught anything proves nothing. Each control spoils one backward
//! pass in a way that people really do, and always from outside: by what the pass is handed (a stale
//! mask, a transposed weight, a cleared buffer, another step's saved values) or by what happens to
//! its result. The layers know nothing of it; the cases in [`super::cases`] do the spoiling, and
//! `audit gradients` fails unless each control is caught by both witnesses.

use std::borrow::Cow;

use serde::Serialize;

use crate::nn::{Layout, Param};
use crate::num::Real;

macro_rules! controls {
    ($($name:ident: $text:literal,)*) => {
        /// What is spoilt.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub enum Control {
            $(#[doc = $text] $name,)*
        }

        impl Control {
            /// Every control.
            pub const ALL: &'static [Control] = &[$(Control::$name,)*];

            /// What is wrong, in words.
            pub fn description(self) -> &'static str {
                match self {
                    $(Control::$name => $text,)*
                }
            }
        }
    };
}

controls! {
    LinearWeightOverwrites: "linear: the gradient buffer is cleared before its second use (a missing +=)",
    LinearWrongTranspose: "linear: dinp uses W where it needs W transposed",
    LinearBiasDropped: "linear: db is never accumulated",
    LinearInputStale: "linear: the backward pass gets the input of another use",
    NormRowsStale: "layer norm: the backward pass gets the normalised rows of another use",
    NormNotCentred: "layer norm: the saved rows were divided but not centred",
    NormDeviationMissing: "layer norm: the saved deviation is missing",
    NormProjectionDropped: "layer norm: the projection on the normalised row is not subtracted",
    NormGainIgnored: "layer norm: the backward pass does not see the gain",
    NormGainDropped: "layer norm: the gain's gradient is missing",
    AttentionScaleMissing: "attention: 1/sqrt(d_head) is missing in the backward pass",
    SoftmaxRankOneMissing: "attention: the softmax Jacobian lacks its rank-one term",
    AttentionNotNormalised: "attention: the saved matrix is the one before the softmax divided by its sum",
    AttentionValueDropped: "attention: no gradient flows to the values",
    QueryGradientDropped: "block: the query path's gradient is not added to its rows",
    ResidualDropped: "block: the gradient of the skip connection around attention is missing",
    GeluDensityMissing: "GELU: the derivative lacks the term x times the density",
    DropoutMaskStale: "dropout: the backward pass uses the mask of another step",
    TokenGroupShifted: "tokens: a feature group's gradient lands in the next token",
    CandidateTokenDropped: "tokens: the candidate token's weights get no gradient",
    BceTargetIgnored: "BCE: the target is missing in the derivative",
    LaplacianEdgesMissing: "Laplacian: the gradient uses a graph with fewer neighbours",
    BernoulliMaskLeak: "Bernoulli policy: labels outside the candidate set get a gradient",
    CategoricalMaskStale: "categorical policy: the softmax still counts features already selected",
    TemperatureMissing: "categorical policy: the temperature is missing in the backward pass",
    ContextTokensStale: "label context: the backward pass gets the tokens of another batch",
    ContextOutputDropped: "label context: no gradient flows to its output weights",
    PosteriorForgotten: "marginal likelihood: the derivative lacks the posterior of a candidate",
    SavedStale: "Stage 1: the backward pass gets what another step saved",
    PolicyNotDetached: "Stage 1: the policy loss leaks into the encoder",
    BaselineForgotten: "Stage 2: the backward pass uses the reward without the baseline",
    ReplayReordered: "Stage 2: the actions are replayed in another order",
    AdamBiasCorrection: "Adam: the bias correction counts one step too many",
    AdamBetasSwapped: "Adam: the decays of the two moments are exchanged",
    AdamDecayCoupled: "AdamW: the weight decay passes through the moments",
}

/// Changes the numbers of a matrix of this shape.
type Spoil<T> = fn(&mut [T], (usize, usize));

impl Control {
    /// The control called `name`, whatever its case.
    pub fn find(name: &str) -> Option<Control> {
        Control::ALL.iter().copied().find(|c| format!("{c:?}").eq_ignore_ascii_case(name))
    }

    /// The weights that a backward pass is handed under this control.
    pub(super) fn weights<'a, T: Real>(
        control: Option<Control>,
        layout: &Layout,
        p: &'a [T],
    ) -> Cow<'a, [T]> {
        let (ending, spoil): (_, Spoil<T>) = match control {
            Some(Control::LinearWrongTranspose) => (".w", read_transposed),
            Some(Control::QueryGradientDropped) => ("query.w", |w, _| w.fill(T::ZERO)),
            Some(Control::NormGainIgnored) => (".gain", |gain, _| gain.fill(T::ONE)),
            _ => return Cow::Borrowed(p),
        };
        let mut spoilt = p.to_vec();
        named(layout, ending).for_each(|w| spoil(w.slice_mut(&mut spoilt), w.shape()));
        Cow::Owned(spoilt)
    }

    /// What happens to the gradients of the weights after a backward pass under this control.
    pub(super) fn spoil_gradient<T: Real>(control: Option<Control>, layout: &Layout, dp: &mut [T]) {
        let ending = match control {
            Some(Control::LinearBiasDropped) => ".b",
            Some(Control::NormGainDropped) => ".gain",
            _ => return,
        };
        named(layout, ending).for_each(|param| param.slice_mut(dp).fill(T::ZERO));
    }
}

/// The numbers of an I × O matrix, read as if they were O × I.
fn read_transposed<T: Real>(w: &mut [T], (inputs, outputs): (usize, usize)) {
    let own = w.to_vec();
    for (k, w) in w.iter_mut().enumerate() {
        *w = own[k % outputs * inputs + k / outputs];
    }
}

/// The parameters whose names end so.
fn named<'a>(layout: &'a Layout, ending: &'static str) -> impl Iterator<Item = Param> + 'a {
    layout.iter().filter(move |(name, _)| name.ends_with(ending)).map(|(_, param)| param)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Linear;

    #[test]
    fn every_control_is_described_once_and_found_by_name() {
        let mut texts: Vec<_> = Control::ALL.iter().map(|c| c.description()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Control::ALL.len());
        assert!(Control::ALL.len() >= 20);
        assert_eq!(Control::find("residualdropped"), Some(Control::ResidualDropped));
        assert_eq!(Control::find("list"), None);
    }

    #[test]
    fn a_wrong_transpose_reads_the_same_numbers_in_the_other_order() {
        let mut layout = Layout::default();
        Linear::new(&mut layout, "a", 2, 3);
        let p = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 20.0, 30.0];
        let spoilt = Control::weights(Some(Control::LinearWrongTranspose), &layout, &p);
        // Read as 3 × 2 the numbers are [1 2; 3 4; 5 6]: that matrix, transposed.
        assert_eq!(spoilt[..], [1.0, 3.0, 5.0, 2.0, 4.0, 6.0, 10.0, 20.0, 30.0]);
        assert_eq!(Control::weights(None, &layout, &p)[..], p);
        let mut dp = p;
        Control::spoil_gradient(Some(Control::LinearBiasDropped), &layout, &mut dp);
        assert_eq!(dp[6..], [0.0; 3]);
    }
}
