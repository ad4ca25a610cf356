//! The laws of residuals, regularizers and atom sets, each run over the list of all members.
//!
//! A new member is one line in one of the three lists below; nothing else here knows its formula.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod atoms;
mod conjugates;
mod edges;
mod envelopes;
mod kit;
mod regularizers;

use dictmesh::problem::atoms::{
    AtomPenalty, AtomSet, NonNegativeUnitBall, NonNegativeUnitL1Ball, UnitBall, UnitL1Ball,
};
use dictmesh::problem::regularizer::{
    BoxedElasticNet, ElasticNet, NonNegativeElasticNet, Regularizer, ScalarPenalty,
};
use dictmesh::problem::residual::{Ball, Equality, Huber, Residual, SquaredL2, L1};
use dictmesh::random::{gaussian, stream};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// Every residual.
fn residuals() -> Vec<Box<dyn Residual>> {
    vec![
        Box::new(SquaredL2),
        Box::new(Huber::new(0.2).unwrap()),
        Box::new(Huber::new(3.0).unwrap()),
        Box::new(L1),
        Box::new(Ball::new(0.5).unwrap()),
        Box::new(Ball::new(4.0).unwrap()),
        Box::new(Equality),
    ]
}

/// A regularizer that is one scalar penalty for every coefficient.
trait Scalar: Regularizer + ScalarPenalty {
    /// The strong convexity, which both traits have.
    fn delta(&self) -> f64;
}

impl<T: Regularizer + ScalarPenalty> Scalar for T {
    fn delta(&self) -> f64 {
        Regularizer::strong_convexity(self)
    }
}

/// Every regularizer that is one scalar penalty for every coefficient.
fn regularizers() -> Vec<Box<dyn Scalar>> {
    const INF: f64 = f64::INFINITY;
    vec![
        Box::new(ElasticNet::new(0.1, 0.1).unwrap()),
        Box::new(ElasticNet::new(0.0, 2.0).unwrap()),
        Box::new(ElasticNet::new(1.0, 0.01).unwrap()),
        Box::new(NonNegativeElasticNet::new(0.05, 0.1).unwrap()),
        Box::new(NonNegativeElasticNet::new(0.0, 1.0).unwrap()),
        Box::new(NonNegativeElasticNet::new(1.0, 0.5).unwrap()),
        Box::new(BoxedElasticNet::new(0.1, 0.1, -0.7, 0.8).unwrap()),
        Box::new(BoxedElasticNet::new(0.0, 0.3, 0.0, 1.0).unwrap()),
        Box::new(BoxedElasticNet::new(0.5, 0.2, 0.25, 2.0).unwrap()),
        Box::new(BoxedElasticNet::new(0.5, 0.2, -3.0, -0.5).unwrap()),
        Box::new(BoxedElasticNet::new(0.3, 1.0, 0.75, 0.75).unwrap()),
        Box::new(BoxedElasticNet::new(0.3, 1.0, 0.0, 0.0).unwrap()),
        Box::new(BoxedElasticNet::new(0.2, 0.5, -INF, 0.4).unwrap()),
        Box::new(BoxedElasticNet::new(0.2, 0.5, 1.5, INF).unwrap()),
        Box::new(BoxedElasticNet::new(0.2, 0.5, -INF, INF).unwrap()),
    ]
}

/// Every built-in atom set.
fn sets() -> [&'static dyn AtomSet; 4] {
    [
        &UnitBall,
        &NonNegativeUnitBall,
        &UnitL1Ball,
        &NonNegativeUnitL1Ball,
    ]
}

/// Every atom set with every penalty.
fn atom_rules() -> Vec<(&'static dyn AtomSet, AtomPenalty)> {
    let penalties = [
        AtomPenalty::None,
        AtomPenalty::L1 { beta: 0.0 },
        AtomPenalty::L1 { beta: 0.1 },
        AtomPenalty::L1 { beta: 2.0 },
    ];
    sets()
        .into_iter()
        .flat_map(|set| penalties.map(|penalty| (set, penalty)))
        .collect()
}

/// Nothing is written to disk, and a run repeats itself unless PROPTEST_RNG_SEED says otherwise.
fn config() -> Config {
    let mut config = Config {
        failure_persistence: None,
        cases: 400,
        ..Config::default()
    };
    if matches!(config.rng_seed, RngSeed::Random) {
        config.rng_seed = RngSeed::Fixed(0);
    }
    config
}

/// Numbers of all the sizes that matter, and those at which something happens.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -3.0..3.0,
        2 => -0.3..0.3,
        1 => -40.0..40.0,
        2 => prop::sample::select(vec![0.0, 1.0, -1.0, 0.1, -0.1, 0.5, -0.5, 0.2, 3.0]),
    ]
}

/// `count` vectors of one length, from 0 (an empty slice) to 6.
fn vectors(count: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    (0..7usize)
        .prop_flat_map(move |m| prop::collection::vec(prop::collection::vec(number(), m), count))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// a + t b.
fn plus(a: &[f64], t: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + t * b).collect()
}

/// The concave function's largest value on a grid, zoomed in ten times around the best point, which
/// stays on the grid: (where, how much). Knows nothing but values; infinite ones count as misses.
fn brute_force_max(mut function: impl FnMut(f64) -> f64) -> (f64, f64) {
    // 1024 steps of 1/8 to either side: dyadic, so that 0 and the ends of some boxes are on it.
    let (mut at, mut step, mut best) = (0.0, 0.125, f64::NEG_INFINITY);
    let mut half = 1024;
    for _ in 0..12 {
        let centre: f64 = at;
        for i in -half..=half {
            let x = centre + f64::from(i) * step;
            let value = function(x);
            if value > best {
                (at, best) = (x, value);
            }
        }
        (step, half) = (step / 16.0, 32);
    }
    (at, best)
}

/// The generator that starts, graphs and tests draw from is not constant: moments, streams, seeds.
#[test]
fn the_random_generator_is_not_constant() {
    let draw = |seed, number| gaussian(100, 100, &mut stream(seed, number)).into_vec();
    let a = draw(1, 0);
    assert_eq!(a, draw(1, 0), "the same seed and stream repeat");
    for other in [draw(1, 1), draw(2, 0), draw(0, 1)] {
        let equal = a.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert_eq!(equal, 0, "another seed or stream is another sequence");
        let correlation = dot(&a, &other) / (norm(&a) * norm(&other));
        assert!(correlation.abs() < 0.05, "{correlation}");
    }
    let n = a.len() as f64;
    let mean = a.iter().sum::<f64>() / n;
    let moment = |p: i32| a.iter().map(|v| (v - mean).powi(p)).sum::<f64>() / n;
    assert!(mean.abs() < 0.05, "mean {mean}");
    assert!((moment(2) - 1.0).abs() < 0.06, "variance {}", moment(2));
    assert!((moment(4) - 3.0).abs() < 0.4, "kurtosis {}", moment(4));
    let mut sorted = a.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    assert_eq!(sorted.len(), a.len(), "no two numbers are the same");
}

/// And neither is the one of the laws: it must reach kinks, outside, inside and the empty slice.
#[test]
fn the_generator_of_the_laws_reaches_everything() {
    let seen = std::cell::RefCell::new((Vec::new(), [false; 7]));
    let mut runner = proptest::test_runner::TestRunner::new(config());
    runner
        .run(&vectors(2), |v| {
            let mut seen = seen.borrow_mut();
            seen.1[v[0].len()] = true;
            seen.0.extend(v.concat());
            Ok(())
        })
        .unwrap();
    let (numbers, lengths) = seen.into_inner();
    assert_eq!(lengths, [true; 7]);
    for wanted in [0.0, 1.0, -1.0, 0.1] {
        assert!(numbers.contains(&wanted), "{wanted} is never drawn");
    }
    let share = |f: &dyn Fn(f64) -> bool| {
        numbers.iter().filter(|v| f(**v)).count() as f64 / numbers.len() as f64
    };
    assert!(share(&|v| v.abs() < 1.0) > 0.2);
    assert!(share(&|v| v.abs() > 1.0) > 0.2);
    assert!(share(&|v| v > 0.0) > 0.3 && share(&|v| v < 0.0) > 0.3);
}
