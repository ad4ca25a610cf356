//! The built-in strategies by name.

use super::{
    Auto, Consensus, Diffusion, ExactDiffusion, JacobiAdmm, RelaxedAdmm, Rounded, Strategy, Tree,
};
use crate::error::Result;
use crate::spec::{Names, Spec};
use std::sync::Arc;

/// Makes a strategy from its description.
type Maker = fn(&Spec) -> Result<Arc<dyn Strategy>>;

/// The built-in strategies: a new one adds its line here.
const BUILT_IN: [(&str, Kind, Maker); 7] = [
    (DEFAULT, Kind::Choice, |spec| {
        Ok(Arc::new(Auto::from_spec(spec)?))
    }),
    ("diffusion", Kind::Gossip, |spec| {
        Ok(Arc::new(Diffusion::from_spec(spec)?))
    }),
    ("consensus", Kind::Gossip, |spec| {
        Ok(Arc::new(Consensus::from_spec(spec)?))
    }),
    ("jacobi-admm", Kind::Gossip, |spec| {
        Ok(Arc::new(JacobiAdmm::from_spec(spec)?))
    }),
    ("exact-diffusion", Kind::Gossip, |spec| {
        Ok(Arc::new(ExactDiffusion::from_spec(spec)?))
    }),
    ("relaxed-admm", Kind::Gossip, |spec| {
        Ok(Arc::new(RelaxedAdmm::from_spec(spec)?))
    }),
    ("tree", Kind::Sums, |spec| {
        Ok(Arc::new(Tree::from_spec(spec)?))
    }),
];

/// Which exchanges a strategy has.
#[derive(Clone, Copy)]
enum Kind {
    /// Combinations over neighbours alone.
    Gossip,
    /// Sums and broadcasts.
    Sums,
    /// Those of the strategy that it chooses.
    Choice,
}

impl Kind {
    /// Whether this kind is `last` or declared before it.
    const fn is_within(self, last: Kind) -> bool {
        self as u8 <= last as u8
    }
}

/// The names of all built-in strategies; the first is the default.
pub const ALL: [&str; BUILT_IN.len()] = names_of(Kind::Choice);

/// The names of the built-in strategies that have exchanges of their own: all but [`Auto`].
pub const NAMES: [&str; count(Kind::Sums)] = names_of(Kind::Sums);

/// The built-in strategies that exchange arrays with neighbours only: the paper's and later ones.
pub const GOSSIP: [&str; count(Kind::Gossip)] = names_of(Kind::Gossip);

const fn count(last: Kind) -> usize {
    let (mut i, mut count) = (0, 0);
    while i < BUILT_IN.len() {
        count += BUILT_IN[i].1.is_within(last) as usize;
        i += 1;
    }
    count
}

/// The names of all kinds up to `last`.
const fn names_of<const N: usize>(last: Kind) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut i, mut to) = (0, 0);
    while i < BUILT_IN.len() {
        if BUILT_IN[i].1.is_within(last) {
            names[to] = BUILT_IN[i].0;
            to += 1;
        }
        i += 1;
    }
    names
}

/// The built-in strategies by name; [`Names::with`] registers others.
pub fn names() -> Names<dyn Strategy> {
    let none = Names::<dyn Strategy>::new("strategy");
    (BUILT_IN.iter()).fold(none, |names, (name, kind, maker)| match kind {
        Kind::Gossip => names.with(name, move |spec| Rounded::from_spec(spec, maker)),
        Kind::Sums | Kind::Choice => names.with(name, *maker),
    })
}

/// Builds a built-in strategy from its spec.
pub fn build(spec: &Spec) -> Result<Arc<dyn Strategy>> {
    names().build(spec)
}

/// A built-in strategy by name, with default constants.
pub fn named(name: &str) -> Result<Arc<dyn Strategy>> {
    build(&Spec::new(name))
}

/// The default strategy, [`Auto`] with default constants.
pub fn default() -> Arc<dyn Strategy> {
    Arc::new(Auto::default())
}

/// The name of the [default](default()) strategy.
pub const DEFAULT: &str = "auto";
