//! The encoder against its slow twin, across shards, and at its edges.

use super::super::batch::BatchSaved;
use super::super::init::init;
use super::*;
use crate::rng::Streams;

fn small(norm: NormPlace, activation: Activation, groups: usize, token: bool) -> EncoderConfig {
    EncoderConfig {
        width: 6,
        heads: 2,
        layers: 2,
        ffn: 7,
        norm,
        activation,
        groups,
        candidate_token: token,
        ..EncoderConfig::paper(5, 3)
    }
}

fn variants() -> Vec<EncoderConfig> {
    let mut all = Vec::new();
    for norm in [NormPlace::Pre, NormPlace::Post] {
        for activation in [Activation::Gelu, Activation::Relu] {
            for groups in [1, 3] {
                for token in [false, true] {
                    all.push(small(norm, activation, groups, token));
                }
            }
        }
    }
    all
}

struct Run {
    phi: Mat<f64>,
    dp: Vec<f64>,
    dx: Mat<f64>,
}

/// Forward and backward of a fixed random problem.
fn run(config: EncoderConfig, rows: usize, dropout: Option<Dropout>) -> Run {
    let mut layout = Layout::default();
    let encoder = Encoder::new(&mut layout, config).unwrap();
    let p: Vec<f64> = init(&layout, &Streams::new(1));
    let (x, c, dphi) = problem(&config, rows);
    let c = config.candidate_token.then(|| c.view());
    let mut ws = encoder.workspace();
    encoder.forward(&mut ws, x.view(), c, &p, dropout, 0);
    let mut dp = vec![0.0; layout.len()];
    let mut dx = Mat::zeros(rows, config.features);
    let phi = ws.phi.clone();
    encoder.backward(&mut ws, Some(dx.view_mut()), &mut dp, dphi.view(), x.view(), c, &p);
    Run { phi, dp, dx }
}

fn problem(config: &EncoderConfig, rows: usize) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
    let mut r = Streams::new(2).stream("problem");
    let mut random = |cols| Mat::from_fn(rows, cols, |_, _| r.normal());
    (random(config.features), random(config.labels), random(config.width))
}

fn close(a: &[f64], b: &[f64], what: &str) {
    let size = b.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= 1e-13 * size, "{what}[{i}]: {x} and {y}");
    }
}

/// The slow twin: every block carries all tokens, and the CLS rows are taken at the end.
fn run_all_rows(config: EncoderConfig, rows: usize) -> Run {
    let mut layout = Layout::default();
    let encoder = Encoder::new(&mut layout, config).unwrap();
    let p: Vec<f64> = init(&layout, &Streams::new(1));
    let (x, c, dphi) = problem(&config, rows);
    let c = config.candidate_token.then(|| c.view());
    let s = encoder.tokens.count();
    // Blocks with the same parameters (the layout is laid out in the same order) and all queries.
    let mut again = Layout::default();
    let labels = config.candidate_token.then_some(config.labels);
    Tokens::new(&mut again, config.features, config.groups, labels, config.width);
    let shape = Shape { heads: config.heads, keys: s, queries: s, others_only: false };
    let sizes = (config.width, config.ffn);
    let blocks: Vec<Block> = (0..config.layers)
        .map(|l| {
            let name = format!("block{l}");
            Block::new(&mut again, &name, sizes, shape, config.norm, config.activation)
        })
        .collect();

    let mut h = vec![Mat::zeros(rows * s, config.width)];
    encoder.tokens.forward(h[0].view_mut(), x.view(), c, &p);
    let mut saved: Vec<BlockSaved<f64>> = blocks.iter().map(Block::saved).collect();
    for (l, block) in blocks.iter().enumerate() {
        let mut out = Mat::zeros(0, config.width);
        block.forward(&mut out, &mut saved[l], &h[l], &p, None, None);
        h.push(out);
    }
    let cls: Vec<usize> = (0..rows).map(|i| i * s).collect();
    let last = h[config.layers].select_rows(&cls);
    let (mut phi, mut norm_saved) = (last.clone(), NormSaved::new(config.width));
    let mut dp = vec![0.0; layout.len()];
    let mut dlast = dphi.clone();
    if let Some(norm) = &encoder.last_norm {
        norm.forward(&mut phi, &mut norm_saved, &last, &p);
        norm.backward(&mut dlast, &mut dp, dphi.view(), &p, &norm_saved);
    }
    let mut dout = Mat::zeros(rows * s, config.width);
    cls.iter().enumerate().for_each(|(i, &row)| dout.row_mut(row).copy_from_slice(dlast.row(i)));
    let mut scratch = Scratch::new(config.width, config.ffn);
    for (l, block) in blocks.iter().enumerate().rev() {
        let mut dinp = Mat::zeros(0, config.width);
        block.backward(&mut dinp, &mut dp, &dout, &h[l], &p, &saved[l], &mut scratch, 1);
        dout = dinp;
    }
    let mut dx = Mat::zeros(rows, config.features);
    encoder.tokens.backward(Some(dx.view_mut()), &mut dp, dout.view(), x.view(), c, &p);
    Run { phi, dp, dx }
}

#[test]
fn the_last_block_on_cls_rows_alone_equals_the_full_one() {
    for config in variants() {
        let (fast, slow) = (run(config, 4, None), run_all_rows(config, 4));
        assert_eq!(fast.phi, slow.phi, "{config:?}");
        close(&fast.dp, &slow.dp, "dp");
        close(fast.dx.as_slice(), slow.dx.as_slice(), "dx");
    }
}

#[test]
fn shards_change_no_activation_and_sum_all_gradients() {
    let config = small(NormPlace::Pre, Activation::Gelu, 3, true);
    let mut layout = Layout::default();
    let encoder = Encoder::new(&mut layout, config).unwrap();
    let p: Vec<f64> = init(&layout, &Streams::new(1));
    for rows in [1, 12, 13, 61, 150] {
        for dropout in [None, Some(Dropout { rate: 0.3, key: 5 })] {
            let whole = run(config, rows, dropout);
            let (x, c, dphi) = problem(&config, rows);
            let mut saved = BatchSaved::new(&layout, layout.len());
            let mut phi = Mat::zeros(0, config.width);
            let mut dp = vec![1.0; layout.len()];
            for _ in 0..2 {
                let batch = (x.view(), Some(c.view()));
                encoder.forward_batch(&mut phi, &mut saved, batch.0, batch.1, &p, dropout);
                assert_eq!(phi, whole.phi, "{rows} rows");
                encoder.backward_batch(&mut dp, &dphi, batch.0, batch.1, &p, &mut saved);
            }
            let twice: Vec<f64> = dp.iter().map(|d| (d - 1.0) / 2.0).collect();
            let size = whole.dp.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            for (a, b) in twice.iter().zip(&whole.dp) {
                assert!((a - b).abs() < 1e-12 * size, "{rows} rows: {a} and {b}");
            }
        }
    }
}

/// On one thread gradients are summed in place, which needs a backward pass that adds to each weight once: in
/// every variant the bits are those of buffers.
#[test]
fn gradients_have_the_same_bits_at_any_number_of_threads() {
    for config in variants() {
        let mut layout = Layout::default();
        let encoder = Encoder::new(&mut layout, config).unwrap();
        let p: Vec<f32> = init(&layout, &Streams::new(1));
        for rows in [40, 150, 1500] {
            let (x, c, dphi) = problem(&config, rows);
            let (x, c, dphi): (Mat<f32>, Mat<f32>, Mat<f32>) = (x.cast(), c.cast(), dphi.cast());
            let c = config.candidate_token.then_some(c.view());
            let dp = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut saved = BatchSaved::new(&layout, layout.len());
                let (mut phi, mut dp) = (Mat::zeros(0, config.width), vec![0.0; layout.len()]);
                pool.install(|| {
                    for _ in 0..2 {
                        encoder.forward_batch(&mut phi, &mut saved, x.view(), c, &p, None);
                        encoder.backward_batch(&mut dp, &dphi, x.view(), c, &p, &mut saved);
                    }
                });
                dp
            };
            let (one, three) = (dp(1), dp(3));
            let bits = |dp: &[f32]| dp.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert!(bits(&one) == bits(&three), "{rows} rows, {config:?}");
        }
    }
}

#[test]
fn dropout_changes_the_output_and_can_be_switched_off_again() {
    let config = small(NormPlace::Post, Activation::Relu, 1, false);
    let off = run(config, 4, None);
    let on = run(config, 4, Some(Dropout { rate: 0.5, key: 1 }));
    assert_ne!(off.phi, on.phi);
    assert_eq!(run(config, 4, Some(Dropout { rate: 0.0, key: 1 })).phi, off.phi);
    let mut layout = Layout::default();
    let encoder = Encoder::new(&mut layout, config).unwrap();
    let p: Vec<f64> = init(&layout, &Streams::new(1));
    let (x, ..) = problem(&config, 4);
    let mut ws = encoder.workspace();
    encoder.forward(&mut ws, x.view(), None, &p, Some(Dropout { rate: 0.5, key: 1 }), 0);
    assert!(ws.blocks()[0].masks().is_some());
    encoder.forward(&mut ws, x.view(), None, &p, None, 0);
    assert_eq!(ws.phi, off.phi);
    assert!(ws.blocks()[0].masks().is_none());
}

#[test]
fn a_batch_of_one_and_one_feature() {
    let config = EncoderConfig { features: 1, ..small(NormPlace::Pre, Activation::Gelu, 1, false) };
    let result = run(config, 1, None);
    assert!(crate::num::all_finite(&result.dp) && crate::num::all_finite(result.phi.as_slice()));
}

#[test]
fn impossible_sizes_are_refused() {
    let base = EncoderConfig::paper(5, 3);
    let message = |config: EncoderConfig| {
        let mut layout = Layout::default();
        Encoder::new(&mut layout, config).unwrap_err().message().to_owned()
    };
    for (config, text) in [
        (EncoderConfig { features: 0, ..base }, "encoder: features is 0, expected at least 1"),
        (EncoderConfig { labels: 0, ..base }, "encoder: labels is 0, expected at least 1"),
        (EncoderConfig { heads: 3, ..base }, "encoder: width 128 is not a multiple of heads 3"),
        (
            EncoderConfig { groups: 6, ..base },
            "encoder: groups is 6, expected 1 to 5 (the number of features)",
        ),
        (
            EncoderConfig { groups: 0, ..base },
            "encoder: groups is 0, expected 1 to 5 (the number of features)",
        ),
    ] {
        assert_eq!(message(config), text);
    }
}

#[test]
fn feature_groups_tile_the_columns() {
    for (features, groups) in [(5, 3), (7, 7), (100, 8), (4, 1)] {
        let config = EncoderConfig { groups, ..EncoderConfig::paper(features, 2) };
        let mut layout = Layout::default();
        let tokens = Encoder::new(&mut layout, config).unwrap().tokens;
        let mut next = 0;
        for f in 0..groups {
            assert_eq!(tokens.columns(f).start, next);
            next = tokens.columns(f).end;
            assert!(tokens.columns(f).all(|a| tokens.group_of(a) == f));
        }
        assert_eq!(next, features);
        assert_eq!(tokens.count(), 1 + groups);
    }
}

/// The derivative along a random direction of all parameters and inputs at once, by five points:
/// one number that every line of every backward pass goes into.
#[test]
fn derivative_along_a_random_direction() {
    for config in variants() {
        for dropout in [None, Some(Dropout { rate: 0.3, key: 5 })] {
            let mut layout = Layout::default();
            let encoder = Encoder::new(&mut layout, config).unwrap();
            let mut r = Streams::new(6).stream("direction");
            let p: Vec<f64> = (0..layout.len()).map(|_| 0.4 * r.normal()).collect();
            let v: Vec<f64> = (0..layout.len()).map(|_| r.normal()).collect();
            let (x, c, dphi) = problem(&config, 3);
            let w = Mat::from_fn(3, config.features, |_, _| r.normal());
            let c = config.candidate_token.then(|| c.view());
            let mut ws = encoder.workspace();
            let mut loss = |t: f64| {
                let p: Vec<f64> = p.iter().zip(&v).map(|(p, v)| p + t * v).collect();
                let x = Mat::from_fn(3, config.features, |i, j| x[(i, j)] + t * w[(i, j)]);
                encoder.forward(&mut ws, x.view(), c, &p, dropout, 0);
                let pairs = ws.phi.as_slice().iter().zip(dphi.as_slice());
                pairs.map(|(a, b)| a * b).sum::<f64>()
            };
            let h = 1e-4;
            let five = loss(-2.0 * h) - loss(2.0 * h) + 8.0 * (loss(h) - loss(-h));
            let numeric = five / (12.0 * h);
            encoder.forward(&mut ws, x.view(), c, &p, dropout, 0);
            let (mut dp, mut dx) = (vec![0.0; layout.len()], Mat::zeros(3, config.features));
            let target = Some(dx.view_mut());
            encoder.backward(&mut ws, target, &mut dp, dphi.view(), x.view(), c, &p);
            let along = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let analytic = along(&dp, &v) + along(dx.as_slice(), w.as_slice());
            let error = (analytic - numeric).abs() / analytic.abs().max(1.0);
            assert!(error < 1e-8, "{config:?}: {analytic} and {numeric}");
        }
    }
}

#[test]
fn tokens_can_be_put_in_by_hand() {
    for config in variants() {
        let whole = run(config, 4, None);
        let mut layout = Layout::default();
        let encoder = Encoder::new(&mut layout, config).unwrap();
        let p: Vec<f64> = init(&layout, &Streams::new(1));
        let (x, c, dphi) = problem(&config, 4);
        let c = config.candidate_token.then(|| c.view());
        let mut ws = encoder.workspace();
        ws.tokens_mut().set_rows(4 * encoder.tokens.count());
        encoder.tokens.forward(ws.tokens_mut().view_mut(), x.view(), c, &p);
        encoder.forward_tokens(&mut ws, &p, None, 0, None);
        assert_eq!(ws.phi, whole.phi);
        let mut dp = vec![0.0; layout.len()];
        encoder.backward_tokens(&mut ws, &mut dp, dphi.view(), &p);
        assert_eq!(ws.dtokens().rows(), 4 * encoder.tokens.count());
        encoder.tokens.backward(None, &mut dp, ws.dtokens().view(), x.view(), c, &p);
        assert_eq!(dp, whole.dp);
    }
}

/// CLS and the tokens of equal candidate sets: computed once, and for every instance.
#[test]
fn tokens_that_are_alike_have_the_bits_of_all() {
    for config in variants() {
        let config = EncoderConfig { groups: 1, ..config };
        let mut layout = Layout::default();
        let encoder = Encoder::new(&mut layout, config).unwrap();
        let p: Vec<f32> = init(&layout, &Streams::new(1));
        let x = problem(&config, 5).0.cast::<f32>();
        let same = Mat::from_fn(5, config.labels, |_, j| (j % 2) as f32);
        let c = config.candidate_token.then(|| same.view());
        let run = |only: Option<usize>| {
            let mut ws = encoder.workspace();
            ws.tokens_mut().set_rows(5 * encoder.tokens.count());
            encoder.tokens.forward(ws.tokens_mut().view_mut(), x.view(), c, &p);
            encoder.forward_tokens(&mut ws, &p, None, 0, only);
            (ws.phi.clone(), ws.blocks()[0].clone())
        };
        let (every, once) = (run(None), run(encoder.tokens.only_group()));
        assert_eq!(every.0, once.0);
        assert_eq!(every.1.projections(), once.1.projections());
        // The control: the wrong place has other bits.
        assert_ne!(every.1.projections(), run(Some(0)).1.projections());
    }
}

#[test]
fn every_site_of_every_block_has_its_own_mask() {
    let config = small(NormPlace::Pre, Activation::Gelu, 1, false);
    let config = EncoderConfig { layers: 4, ffn: 6, ..config };
    let mut layout = Layout::default();
    let encoder = Encoder::new(&mut layout, config).unwrap();
    let p: Vec<f64> = init(&layout, &Streams::new(1));
    let (x, ..) = problem(&config, 9);
    let mut ws = encoder.workspace();
    encoder.forward(&mut ws, x.view(), None, &p, Some(Dropout { rate: 0.5, key: 1 }), 0);
    let masks: Vec<&Mat<f64>> =
        ws.blocks().iter().flat_map(|b| b.masks().unwrap()).map(|(_, mask)| mask).collect();
    for (i, a) in masks.iter().enumerate() {
        assert!(masks[..i].iter().all(|b| a != b), "mask {i} stands elsewhere too");
    }
}
