//! Growth of the active sets, in single precision.

use super::super::JOIN;
use super::coarse::{Coarse, ScanState};
use super::{Problem, LANES_F32};
use crate::simd::{CacheAligned, Simd};
use crate::work::count;

/// Sweeps after each growth of the active sets.
const SWEEPS: usize = 5;
/// Limit of KKT scans per lane.
const SCANS: usize = 24;

/// Coordinates per tile. They are minimised one after the other; changes of other tiles are added
/// several at a time.
const TILE: usize = 4;

/// Offset of row b of tiles.
#[inline(always)]
fn tiles(b: usize) -> usize {
    TILE * TILE * (b * (b + 1) / 2)
}

/// Offset of H_i0; H_ij is j * TILE further.
#[inline(always)]
fn row(i: usize) -> usize {
    tiles(i / TILE) + i % TILE
}

#[derive(Default)]
struct Lane {
    growing: bool,
    scans: usize,
    scan: ScanState,
    /// The coordinates in the active set.
    members: Vec<usize>,
}

/// The active sets. In the vectors, coordinate i of all lanes is contiguous. Entries beyond a
/// lane's own members stay 0, as their subdifferential is the whole line.
pub struct Growth {
    lanes: Vec<Lane>,
    /// The largest number of members of a lane.
    n: usize,
    capacity: usize,
    /// H below its diagonal, by rows of tiles without gaps; each tile is column-major.
    hessian: CacheAligned<f32>,
    /// 1 over the diagonal of H with the curvature of h.
    inverse: CacheAligned<f32>,
    lo: CacheAligned<f32>,
    hi: CacheAligned<f32>,
    /// g - H y without each coordinate's own term: the argument of its minimiser.
    s: CacheAligned<f32>,
    y: CacheAligned<f32>,
    /// Old minus new y in this sweep.
    changes: CacheAligned<f32>,
    wrong: Vec<usize>,
    /// The unit of the coefficients of each lane.
    units: Vec<f64>,
}

impl Growth {
    /// For at most `capacity` members per lane, a multiple of [`TILE`].
    pub fn new(capacity: usize) -> Self {
        let zeros = || CacheAligned::new(capacity * LANES_F32, 0.0);
        let room = tiles(capacity / TILE) * LANES_F32;
        Growth {
            lanes: (0..LANES_F32).map(|_| Lane::default()).collect(),
            n: capacity,
            capacity,
            hessian: CacheAligned::new(room, 0.0),
            inverse: zeros(),
            lo: zeros(),
            hi: zeros(),
            s: zeros(),
            y: zeros(),
            changes: zeros(),
            wrong: Vec::new(),
            units: vec![0.0; LANES_F32],
        }
    }

    /// Grows the active set of each g until its KKT scan finds no violation, or to its limits.
    #[inline(always)]
    pub fn grow<'g, S: Simd>(
        &mut self,
        simd: S,
        coarse: &mut Coarse,
        problem: Problem,
        g: impl Iterator<Item = &'g [f64]>,
    ) {
        self.begin::<S>(coarse, problem, g);
        loop {
            for lane in 0..S::F32_LANES {
                self.kkt_scan(simd, coarse, problem, lane);
            }
            if self.lanes.iter().all(|lane| !lane.growing) {
                return;
            }
            for _ in 0..SWEEPS {
                self.sweep(simd);
            }
        }
    }

    #[inline(always)]
    fn begin<'g, S: Simd>(
        &mut self,
        coarse: &Coarse,
        problem: Problem,
        g: impl Iterator<Item = &'g [f64]>,
    ) {
        let used = ..self.n.next_multiple_of(TILE) * S::F32_LANES;
        for (v, nothing) in [
            (&mut self.s, 0.0),
            (&mut self.y, 0.0),
            (&mut self.inverse, 0.0),
            (&mut self.lo, f32::NEG_INFINITY),
            (&mut self.hi, f32::INFINITY),
        ] {
            v[used].fill(nothing);
        }
        self.n = 0;
        for lane in &mut self.lanes {
            lane.growing = false;
            lane.members.clear();
        }
        for ((lane, unit), g) in self.lanes.iter_mut().zip(&mut self.units).zip(g) {
            (lane.growing, lane.scans) = (true, 0);
            lane.scan.begin(coarse, g, problem.lo, problem.hi);
            *unit = lane.scan.unit / coarse.unit(problem.scale);
        }
    }

    /// KKT scan of a lane; adds the violating coordinates to its active set.
    #[inline(always)]
    fn kkt_scan<S: Simd>(&mut self, simd: S, coarse: &mut Coarse, problem: Problem, at: usize) {
        let (lane, lanes) = (&mut self.lanes[at], S::F32_LANES);
        if !lane.growing {
            return;
        }
        let own = self.y.iter().skip(at).step_by(lanes);
        let members = lane.members.iter().copied().zip(own.copied());
        let room = JOIN.max(lane.members.len() / 2);
        coarse.kkt_scan(simd, &lane.scan, members, room, &mut self.wrong);
        lane.scans += 1;
        lane.growing = !self.wrong.is_empty()
            && lane.scans <= SCANS
            && lane.members.len() + self.wrong.len() <= self.capacity;
        if !lane.growing {
            return;
        }
        for &q in &self.wrong {
            let (i, column) = (lane.members.len(), coarse.column(q));
            let (lo, hi) = lane.scan.join(q);
            let out = &mut self.hessian[row(i) * lanes + at..];
            for (out, p) in out.chunks_mut(TILE * lanes).zip(&lane.members) {
                out[0] = column[*p];
            }
            // New members are 0: s is r, and no other s changes.
            let place = i * lanes + at;
            (self.s[place], self.lo[place], self.hi[place]) = (coarse.r(q), lo, hi);
            self.inverse[place] =
                (coarse.unit(problem.scale) * problem.coordinates[q].inverse) as f32;
            lane.members.push(q);
        }
        self.n = self.n.max(lane.members.len());
    }

    /// One exact minimisation over each coordinate in turn, in the lanes that grow.
    ///
    /// Each row of tiles is read once: first to apply the changes of earlier coordinates to its
    /// own, then to apply its own changes to theirs.
    #[inline(always)]
    fn sweep<S: Simd>(&mut self, simd: S) {
        count(self.n * self.n * S::F32_LANES);
        let n = self.n.next_multiple_of(TILE);
        let zero = simd.splat_f32s(0.0);
        let mut live = [0.0; LANES_F32];
        for (live, lane) in live.iter_mut().zip(&self.lanes) {
            *live = f32::from(u8::from(lane.growing));
        }
        let live = simd.greater_than_f32s(S::as_simd_f32s(&live).0[0], zero);
        let [lo, hi, inverse, hessian] =
            [&self.lo, &self.hi, &self.inverse, &self.hessian].map(|v| S::as_simd_f32s(v).0);
        let [s, y, changes] = [&mut self.s, &mut self.y, &mut self.changes]
            .map(|v| &mut S::as_mut_simd_f32s(v).0[..n]);
        for b in 0..n / TILE {
            let from = b * TILE;
            let (before, own) = hessian[tiles(b)..tiles(b + 1)].split_at(from * TILE);
            let mut sums = [zero; TILE];
            (sums.iter_mut().zip(&s[from..])).for_each(|(sum, s)| *sum = *s);
            for (change, column) in changes.iter().zip(before.chunks_exact(TILE)) {
                for k in 0..TILE {
                    sums[k] = simd.mul_add_e_f32s(*change, column[k], sums[k]);
                }
            }
            let mut change = [zero; TILE];
            for k in 0..TILE {
                let i = from + k;
                // The change is computed before the new y, to shorten the chain of dependent
                // operations.
                let within = simd.min_f32s(simd.max_f32s(sums[k], lo[i]), hi[i]);
                let outside = simd.sub_f32s(sums[k], within);
                let lost = simd.negate_mul_add_e_f32s(outside, inverse[i], y[i]);
                change[k] = simd.select_f32s(live, lost, zero);
                y[i] = simd.select_f32s(live, simd.mul_f32s(outside, inverse[i]), y[i]);
                for j in (0..TILE).filter(|j| *j != k) {
                    let entry = own[k.min(j) * TILE + k.max(j)];
                    sums[j] = simd.mul_add_e_f32s(change[k], entry, sums[j]);
                }
            }
            s[from..from + TILE].copy_from_slice(&sums);
            changes[from..from + TILE].copy_from_slice(&change);
            for (s, column) in s.iter_mut().zip(before.chunks_exact(TILE)) {
                for k in 0..TILE {
                    *s = simd.mul_add_e_f32s(change[k], column[k], *s);
                }
            }
        }
    }

    /// Appends the non-zero coefficients of a lane to `all`, as (q, y_q).
    #[inline(always)]
    pub fn support<S: Simd>(&self, at: usize, all: &mut Vec<(usize, f64)>) {
        let (members, unit) = (&self.lanes[at].members, self.units[at]);
        let mut count = all.len();
        all.resize(count + members.len(), (0, 0.0));
        // Listed without a branch: which are 0 is unpredictable.
        for (q, own) in members.iter().zip(self.y.chunks_exact(S::F32_LANES)) {
            let y = own[at];
            all[count] = (*q, f64::from(y) * unit);
            count += usize::from((y != 0.0) & y.is_finite());
        }
        all.truncate(count);
    }
}
