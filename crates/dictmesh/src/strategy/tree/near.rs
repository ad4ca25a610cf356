//! Products with the atoms, of those that can fire alone.
//!
//! An atom w has a zero code while w'nu stays strictly within an interval (lo, hi). Along a step from
//! nu to nu + r p, w'nu stays within it if it does at both ends. Two bounds show this for most atoms:
//!
//! - Products with all atoms in single precision, whose errors are bounded.
//! - Cauchy-Schwarz: w'nu changes by at most |w| times the length of all steps since a centre. Once
//!   steps are short, a list of few atoms holds for several of them, without any product with all.
//!
//! The products of the other atoms are computed in double precision, each as one inner product with
//! nu and p. Results are therefore those of all atoms, bit-identical, whichever atoms are listed.

use super::common::{Common, Path};
use super::screen::{multiply, Listing, Screen, Singles, Slopes, MOST_POINTS, ROUNDING};
use crate::strategy::Local;
use dictmesh_kernels::dots::{products, two_products};
use dictmesh_kernels::matrix::{axpy, norm};
use dictmesh_kernels::simd::dispatch;
use std::ops::Range;

/// The distance that a list of atoms allows, in lengths of the step for which it is made.
const STEPS: f64 = 6.0;
/// Products of one in this number of atoms one by one take the time of one with all in single
/// precision.
const LISTED: usize = 32;
/// Above one listed atom in this number, all samples are multiplied by a few atoms at a time, of
/// [`CACHED`] numbers (32 KB), which stay in the first-level cache.
const MANY: usize = 16;
const CACHED: usize = 1 << 12;
/// Covers the rounding of the bounds, and of sums of lengths.
const SAFETY: f64 = 1.0 + 1e-6;

/// W_k'nu and W_k'p of one sample.
#[derive(Debug, Default)]
pub(super) struct Products {
    /// The atoms that can have a code other than 0, ascending; `None` for all.
    atoms: Option<Vec<u32>>,
    /// W_k'nu and W_k'p of these atoms.
    pub s: Vec<f64>,
    pub d: Vec<f64>,
    rough: Rough,
    near: Option<Near>,
    /// The least distance for which too many atoms were near the ends of their interval.
    failed: Option<f64>,
}

/// Products with all unit atoms, up to an error.
#[derive(Debug, Default)]
struct Rough {
    /// w'nu / |w| before the last direction.
    s: Vec<f64>,
    /// A bound of the error of `s`. Infinite if `s` does not follow nu.
    error: f64,
    /// w'p / |w| of the last direction in units of `unit`, |p|, and the step since along it.
    d: Vec<f32>,
    unit: f64,
    length: f64,
    t: f64,
}

/// The distance from a centre within which the list of atoms holds.
#[derive(Debug)]
struct Near {
    /// The length of all steps before the centre.
    moved: f64,
    radius: f64,
}

impl Products {
    /// At `nu`. With a screen, of the atoms that have a code other than 0 there.
    pub fn new(local: &Local, screen: Option<&Screen>, nu: &[f64]) -> Self {
        let n = local.block.len();
        let is_zero = nu.iter().all(|nu| *nu == 0.0);
        let mut products = Products::default();
        match screen {
            Some(screen) => {
                products.rough.error = if is_zero { 0.0 } else { f64::INFINITY };
                products.rough.s = vec![0.0; n];
                products.rough.d = vec![0.0; n];
                let fires = |q: &usize| !(is_zero && screen.is_zero(*q, 0.0));
                products.atoms = Some((0..n).filter(fires).map(|q| q as u32).collect());
                products.multiply(local, nu, nu);
            }
            None if is_zero => (products.s, products.d) = (vec![0.0; n], vec![0.0; n]),
            None => products.all(local, nu, nu),
        }
        products.d.fill(0.0);
        products
    }

    /// Calls `work` with every atom that may have a code other than 0 at nu or along p, w'nu and
    /// w'p.
    #[inline(always)]
    pub fn each(&self, mut work: impl FnMut(usize, f64, f64)) {
        let values = self.s.iter().zip(&self.d);
        match &self.atoms {
            Some(atoms) => {
                (atoms.iter().zip(values)).for_each(|(q, (s, d))| work(*q as usize, *s, *d))
            }
            None => (values.enumerate()).for_each(|(q, (s, d))| work(q, *s, *d)),
        }
    }

    /// W_k'(nu + t p) from W_k'nu.
    pub fn step(&mut self, t: f64) {
        axpy(t, &self.d, &mut self.s);
        self.rough.t += t;
    }

    /// The products of the listed atoms.
    fn multiply(&mut self, local: &Local, nu: &[f64], p: &[f64]) {
        self.s.clear();
        self.d.clear();
        self.multiply_next(local, 0..local.block.len(), (nonzero(nu), p));
    }

    /// The products of the listed atoms in this range, after those of all before it. Without nu,
    /// those with nu are 0.
    fn multiply_next(
        &mut self,
        local: &Local,
        range: Range<usize>,
        (nu, p): (Option<&[f64]>, &[f64]),
    ) {
        let (atoms, from) = (local.block.atoms(), self.s.len());
        let listed = self.atoms.as_deref().map(|atoms| {
            let rest = atoms.get(from..).unwrap_or_default();
            let count = rest.partition_point(|q| (*q as usize) < range.end);
            rest[..count].iter().map(|q| *q as usize)
        });
        let Some(nu) = nu else {
            match listed {
                Some(listed) => products(atoms, listed, p, &mut self.d),
                None => products(atoms, range, p, &mut self.d),
            }
            return self.s.resize(self.d.len(), 0.0);
        };
        let to = (&mut self.s, &mut self.d);
        match listed {
            Some(listed) => two_products(atoms, listed, (nu, p), to),
            None => two_products(atoms, range, (nu, p), to),
        }
    }

    /// y(s + t d)'d - y(s)'d at each of these step lengths, the last of which is the longest. They
    /// are not negative, as h* is convex.
    pub fn slopes(&self, screen: &Screen, points: &[f64]) -> [f64; MOST_POINTS] {
        let mut all = [0.0; MOST_POINTS];
        (all.iter_mut().zip(points)).for_each(|(to, t)| *to = *t);
        dispatch(Slopes {
            screen,
            atoms: self.atoms.as_deref(),
            s: &self.s,
            d: &self.d,
            points: all,
            last: points.last().copied().unwrap_or(0.0),
        })
    }

    /// The products of all atoms. Rough ones then no longer follow nu.
    pub fn all(&mut self, local: &Local, nu: &[f64], p: &[f64]) {
        (self.atoms, self.near) = (None, None);
        self.rough.error = f64::INFINITY;
        self.multiply(local, nu, p);
    }

    /// Whether the list of atoms holds from the base of this path to its base + reach p.
    fn holds(&self, path: &Path, reach: f64) -> bool {
        self.near.as_ref().is_some_and(|near| {
            // No point of the step is farther from the centre than this.
            let since = path.before - near.moved + ROUNDING * path.before;
            SAFETY * (since + reach * path.length) <= near.radius
        })
    }

    /// Lists the atoms that can fire from the base of this path to its base + reach p, with `d` =
    /// w'p / |w| in units of `unit`.
    fn list(&mut self, screen: &Screen, (d, unit): (&[f32], f64), path: &Path, reach: f64) {
        let (rough, n) = (&mut self.rough, d.len());
        // Errors of the last step, of this product, and of sums in double precision.
        rough.error += screen.error * rough.t.abs() * rough.length;
        let rounding = ROUNDING * (path.before + reach * path.length);
        let margin = SAFETY * (rough.error + screen.error * reach * path.length) + rounding;
        let mut atoms = self.atoms.take().unwrap_or_default();
        atoms.clear();
        dispatch(Listing {
            screen,
            s: &mut rough.s,
            step: (rough.t * rough.unit, &rough.d[..]),
            way: (reach * unit, d),
            margin,
            out: &mut atoms,
        });
        rough.d.copy_from_slice(d);
        (rough.unit, rough.length, rough.t) = (unit, path.length, 0.0);
        self.near = None;
        let radius = STEPS * reach * path.length;
        let may_be_near = self.failed.is_none_or(|failed| radius <= 0.5 * failed);
        if LISTED * atoms.len() <= n && may_be_near {
            let mut wide = Vec::new();
            dispatch(Listing {
                screen,
                s: &mut rough.s,
                step: (0.0, d),
                way: (0.0, d),
                margin: SAFETY * (rough.error + radius) + rounding,
                out: &mut wide,
            });
            if LISTED * wide.len() <= n {
                atoms = wide;
                let moved = path.before;
                self.near = Some(Near { moved, radius });
            } else {
                self.failed = Some(radius);
            }
        }
        self.atoms = Some(atoms);
    }
}

/// The direction of a sample: its index, the columns of nu and of the directions, and the longest
/// step in units of p.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub i: usize,
    pub j: usize,
    pub column: usize,
    pub reach: f64,
}

/// W_k'nu and W_k'p at the bases of these directions, of all atoms that may fire along the way.
pub(super) fn along(
    each: &mut [Products],
    local: &Local,
    screen: Option<&Screen>,
    common: &Common,
    taken: &[Taken],
) {
    let Some(screen) = screen else {
        return along_all(each, local, common, taken);
    };
    let (nu, paths, n) = (&*common.before, &common.paths, local.block.len());
    let held = |taken: &&Taken| each[taken.i].holds(&paths[taken.i], taken.reach);
    let (held, left): (Vec<&Taken>, Vec<&Taken>) = taken.iter().partition(held);
    // Rough products do not follow the steps of a list that holds.
    held.iter()
        .for_each(|t| each[t.i].rough.error = f64::INFINITY);
    let mut products = Vec::new();
    let stale: Vec<_> = (left.iter().copied())
        .filter(|t| each[t.i].rough.error == f64::INFINITY)
        .collect();
    if !stale.is_empty() {
        let mut bases = Singles::default();
        stale.iter().for_each(|t| bases.push(nu.column(t.j)));
        screen.products(local, &bases.numbers, &mut products);
        for ((t, s), unit) in stale.iter().zip(products.chunks(n)).zip(&bases.units) {
            let rough = &mut each[t.i].rough;
            (rough.s.iter_mut().zip(s)).for_each(|(rough, s)| *rough = unit * f64::from(*s));
            (rough.error, rough.t) = (screen.error * norm(nu.column(t.j)), 0.0);
        }
    }
    let all = &common.directions;
    if left.len() == all.units.len() {
        screen.products(local, &all.numbers, &mut products);
    } else if !left.is_empty() {
        let columns = left.iter().flat_map(|t| all.column(t.column));
        screen.products(local, &columns.copied().collect::<Vec<_>>(), &mut products);
    }
    for (t, d) in left.iter().zip(products.chunks(n)) {
        let own = (d, all.units[t.column]);
        each[t.i].list(screen, own, &paths[t.i], t.reach);
    }
    let listed = |t: &Taken| each[t.i].atoms.as_ref().map_or(n, Vec::len);
    let many = MANY * taken.iter().map(listed).sum::<usize>() > n * taken.len();
    // With many atoms listed, a few at a time stay in cache for all samples.
    let width = if many {
        CACHED.div_ceil(local.rows())
    } else {
        n
    };
    let start = |t: &Taken| {
        each[t.i].s.clear();
        each[t.i].d.clear();
        (t.i, (nonzero(nu.column(t.j)), &paths[t.i].p[..]))
    };
    let vectors: Vec<_> = taken.iter().map(start).collect();
    for from in (0..n).step_by(width) {
        for (i, with) in &vectors {
            each[*i].multiply_next(local, from..(from + width).min(n), *with);
        }
    }
}

/// nu, unless it is 0.
fn nonzero(nu: &[f64]) -> Option<&[f64]> {
    nu.iter().any(|nu| *nu != 0.0).then_some(nu)
}

/// As [`along`], with all atoms: W_k'nu follows from the steps.
fn along_all(each: &mut [Products], local: &Local, common: &Common, taken: &[Taken]) {
    let directions = taken.iter().map(|t| common.paths[t.i].p.iter().copied());
    let products = multiply(local.block.atoms(), directions, taken.len());
    for (t, d) in taken.iter().zip(products.columns()) {
        each[t.i].d.copy_from_slice(d);
    }
}
