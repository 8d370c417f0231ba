//! Deliberate faults for the audit's negative controls.
//!
//! A gradient check that has never caught anything proves nothing. Each variant breaks one line of
//! one backward pass in a way that people really do; `audit gradients` switches each on in turn and
//! fails unless it is caught. Training always runs with [`Fault::None`].

use serde::Serialize;

macro_rules! faults {
    ($($name:ident: $text:literal,)*) => {
        /// Which line of which backward pass is wrong.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub enum Fault {
            /// Nothing is wrong.
            #[default]
            None,
            $(#[doc = $text] $name,)*
        }

        impl Fault {
            /// Every fault, without `None`.
            pub const ALL: &'static [Fault] = &[$(Fault::$name,)*];

            /// What is wrong, in words.
            pub fn description(self) -> &'static str {
                match self {
                    Fault::None => "nothing is wrong",
                    $(Fault::$name => $text,)*
                }
            }
        }
    };
}

faults! {
    LinearWeightOverwrites: "linear: dW is set instead of accumulated (a missing +=)",
    LinearWrongTranspose: "linear: dinp uses W where it needs W transposed",
    LinearBiasDropped: "linear: db is never accumulated",
    NormMeanTermDropped: "layer norm: the mean of the gradient is not subtracted",
    NormProjectionDropped: "layer norm: the projection on the normalised row is not subtracted",
    NormGainDropped: "layer norm: the gain's gradient is missing",
    AttentionScaleMissing: "attention: 1/sqrt(d_head) is missing in the backward pass",
    SoftmaxRankOneMissing: "attention: the softmax Jacobian lacks its rank-one term",
    AttentionValueDropped: "attention: no gradient flows to the values",
    QueryGradientDropped: "block: the query path's gradient is not added to its rows",
    ResidualDropped: "block: the gradient of the skip connection is missing",
    GeluDensityMissing: "GELU: the derivative lacks the term x times the density",
    DropoutMaskStale: "dropout: the backward pass uses the mask of another step",
    TokenGroupShifted: "tokens: a feature group's gradient lands in the next token",
    CandidateTokenDropped: "tokens: the candidate token's weights get no gradient",
    BceTargetIgnored: "BCE: the target is missing in the derivative",
    LaplacianOneSided: "Laplacian: only one end of each edge gets its gradient",
    BernoulliMaskLeak: "Bernoulli policy: labels outside the candidate set get a gradient",
    EntropySign: "entropy: the derivative has the wrong sign",
    CategoricalMaskStale: "categorical policy: the softmax still counts features already selected",
    TemperatureMissing: "categorical policy: 1/temperature is missing in the backward pass",
    PolicyNotDetached: "Stage 1: the policy loss leaks into the encoder",
    BaselineForgotten: "Stage 2: the backward pass uses the reward without the baseline",
    SuffixSumMissing: "Stage 2: a feature is credited with the next step only, not with all later ones",
    AdamBiasCorrection: "Adam: the first moment's bias correction uses the second moment's decay",
    AdamDecayCoupled: "AdamW: the weight decay passes through the moments",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_described_once() {
        let mut texts: Vec<_> = Fault::ALL.iter().map(|f| f.description()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Fault::ALL.len());
        assert!(!Fault::ALL.contains(&Fault::None) && Fault::ALL.len() >= 12);
    }
}
