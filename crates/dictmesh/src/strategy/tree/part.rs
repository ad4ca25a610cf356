//! The arithmetic of one agent: its parts of the gradients as integers, and its slopes.

use super::common::{retain, Common};
use super::near::{along, Products, Taken};
use super::order::{exponent_of, power, Probe, Scales, Task};
use super::reply::{Reply, FLAG_BITS};
use super::screen::Screen;
use super::send::{send, Sent};
use crate::strategy::infeasible::parts;
use crate::strategy::integers::{width_of_sum, Integers};
use crate::strategy::Local;
use dictmesh_kernels::matrix::{axpy, dot, Matrix};

/// Added to exponents, so that their sums are those of non-negative numbers.
const EXPONENT_OFFSET: i64 = 1100;
/// Bits of an exponent with that offset, and a sign.
const EXPONENT_BITS: u32 = 13;

/// The samples that an agent is coding, in their order.
#[derive(Debug, Default)]
pub(super) struct Part {
    products: Vec<Products>,
    known: Vec<Known>,
    screen: Option<Screen>,
    /// Scratch: codes and a part.
    y: Vec<f64>,
    part: Vec<f64>,
}

/// The part of a sample as the root has it.
#[derive(Clone, Debug)]
struct Known {
    part: Vec<f64>,
    is_zero: bool,
}

impl Part {
    /// For these columns of nu, with nothing known to the root.
    pub fn new(local: &Local, nu: &Matrix, samples: &[usize]) -> Self {
        let screen = Screen::new(local, samples.len());
        let products = |j: &usize| Products::new(local, screen.as_ref(), nu.column(*j));
        let known = Known {
            part: vec![0.0; local.rows()],
            is_zero: true,
        };
        Part {
            products: samples.iter().map(products).collect(),
            known: vec![known; samples.len()],
            screen,
            ..Part::default()
        }
    }

    /// Removes the samples that `keep` does not name.
    pub fn retain(&mut self, keep: &[bool]) {
        retain(&mut self.products, keep);
        retain(&mut self.known, keep);
    }

    /// The exponent of |x|_inf of each sample at the agent that has it, and whether it is not 0.
    pub fn sizes(local: &Local, out: &mut Integers) {
        let largest = |j: usize| {
            let x = local.sample(j).unwrap_or_default();
            x.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
        };
        let each: Vec<f64> = (0..local.samples).map(largest).collect();
        let exponent = |size: &f64| match *size > 0.0 {
            true => i64::from(exponent_of(*size)) + EXPONENT_OFFSET,
            false => 0,
        };
        out.clear();
        let width = width_of_sum(EXPONENT_BITS, local.agents);
        out.push(width, each.iter().map(exponent));
        let width = width_of_sum(FLAG_BITS, local.agents);
        out.push(width, each.iter().map(|size| i64::from(*size > 0.0)));
    }

    /// The bound e of |x|_inf <= 2^e for each sample, from the total of [`sizes`](Part::sizes);
    /// `None` for a zero sample.
    pub fn sizes_from(total: &[i64], samples: usize) -> Vec<Option<i32>> {
        let (exponents, counts) = total.split_at(samples.min(total.len()));
        let pairs = exponents.iter().zip(counts);
        let size =
            |(sum, count): (&i64, &i64)| (*count == 1).then(|| (sum - EXPONENT_OFFSET) as i32);
        pairs.map(size).collect()
    }

    /// Performs the tasks of all samples.
    pub fn work(&mut self, local: &Local, common: &Common, (bits, reply): (u32, &mut Reply)) {
        self.multiply(local, common);
        for (i, (j, task)) in common.samples.iter().zip(&common.tasks).enumerate() {
            match task {
                Task::Slopes(_, probe) => self.slopes(local, i, probe, task.points(), reply),
                Task::Trial(probe, _) => {
                    self.slopes(local, i, probe, task.points(), reply);
                    self.step(local, common, (i, *j), 1.0);
                }
                Task::Step(shift, _) => self.step(local, common, (i, *j), f64::from(*shift)),
                Task::Prove(proof) => {
                    let (seen, support) = parts(local, &proof.direction, *j, proof.size);
                    reply.push_proof(seen, support, power(proof.unit));
                }
                Task::End(_) | Task::Evaluate(_) => {}
            }
            if let Some(scales) = task.scales() {
                let nu = common.nu.column(*j);
                self.evaluate(local, (i, *j), nu, scales, (bits, reply));
            }
        }
    }

    /// Multiplies the atoms with the new directions.
    fn multiply(&mut self, local: &Local, common: &Common) {
        let mut taken = Vec::new();
        for (i, (j, task)) in common.samples.iter().zip(&common.tasks).enumerate() {
            if let Task::Slopes(..) | Task::Trial(..) = task {
                taken.push(Taken {
                    i,
                    j: *j,
                    column: taken.len(),
                    reach: task.points().last().map_or(1.0, |t| t.max(1.0)),
                });
            }
        }
        let screen = self.screen.as_ref();
        along(&mut self.products, local, screen, common, &taken);
    }

    /// The products after a step of t p.
    fn step(&mut self, local: &Local, common: &Common, (i, j): (usize, usize), t: f64) {
        self.products[i].step(t);
        if common.paths[i].projected {
            // Another step may follow along p.
            self.products[i].all(local, common.nu.column(j), &common.paths[i].p);
        }
    }

    /// The part W_k y_k(nu) of a sample as integers of `bits` bits, with its error, flags and local
    /// cost h*(W_k'nu). The first informed agent subtracts x and x'nu.
    fn evaluate(
        &mut self,
        local: &Local,
        (i, j): (usize, usize),
        nu: &[f64],
        scales: Scales,
        (bits, reply): (u32, &mut Reply),
    ) {
        self.part.clear();
        self.part.resize(local.rows(), 0.0);
        let (part, atoms) = (&mut self.part, local.block.atoms());
        let mut is_zero = true;
        let mut cost = codes(
            local,
            self.screen.as_ref(),
            &self.products[i],
            &mut self.y,
            |q, y| {
                is_zero = false;
                axpy(y, atoms.column(q), part);
            },
        );
        if let Some(x) = local.sample(j) {
            is_zero = false;
            axpy(-1.0, &x, part);
            cost -= dot(&x, nu);
        }
        let (known, to) = (&mut self.known[i], reply.entries(local.rows()));
        let sent = match is_zero && known.is_zero {
            true => {
                to.fill(0);
                Sent::ZERO
            }
            false => send(part, &mut known.part, power(scales.part), bits, to),
        };
        known.is_zero = sent.leaves_zero;
        reply.push_cost(&sent, cost, power(scales.cost));
    }

    /// Sends y(s + t d)'d - y(s)'d of a sample at these step lengths. They are not negative, as h*
    /// is convex.
    fn slopes(
        &mut self,
        local: &Local,
        i: usize,
        probe: &Probe,
        points: &[f64],
        reply: &mut Reply,
    ) {
        let (products, h) = (&self.products[i], local.task.regularizer());
        let unit = power(probe.slope);
        let grown: Vec<f64> = match &self.screen {
            Some(screen) => products.slopes(screen, points)[..points.len()].to_vec(),
            None => {
                let (s, d) = (&products.s, &products.d);
                let mut slope = |t: f64| {
                    self.y.clear();
                    self.y.extend(s.iter().zip(d).map(|(s, d)| s + t * d));
                    h.argmax(0.0, &mut self.y);
                    dot(&self.y, d)
                };
                let first = slope(0.0);
                points.iter().map(|t| slope(*t) - first).collect()
            }
        };
        let each = grown.iter().map(|grown| grown / unit);
        each.for_each(|grown| reply.push_slope(grown, local.agents));
    }
}

/// Calls `work` for every code y that is not 0 and returns h*(W_k'nu) = s'y - h(y).
fn codes(
    local: &Local,
    screen: Option<&Screen>,
    products: &Products,
    scratch: &mut Vec<f64>,
    mut work: impl FnMut(usize, f64),
) -> f64 {
    let h = local.task.regularizer();
    let mut conjugate = 0.0;
    if let Some(screen) = screen {
        products.each(|q, s, _| {
            if screen.is_zero(q, s) {
                return;
            }
            if let Some(h) = h.scalar(q) {
                let y = h.coordinate_argmax(s, 0.0);
                conjugate += s * y - h.value_at(y);
                work(q, y);
            }
        });
        return conjugate;
    }
    let s = &products.s;
    scratch.clear();
    scratch.extend_from_slice(s);
    h.argmax(0.0, scratch);
    let fired = scratch.iter().enumerate().filter(|(_, y)| **y != 0.0);
    fired.for_each(|(q, y)| work(q, *y));
    dot(s, scratch) - h.value(scratch)
}
