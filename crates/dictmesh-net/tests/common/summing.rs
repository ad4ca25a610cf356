//! A strategy for tests: gradient steps at a root, on sums of integers whose layouts vary from
//! round to round, with broadcasts whose lengths vary too.

use super::Plan;
use dictmesh::problem::Residual;
use dictmesh::random::Rng;
use dictmesh::strategy::{
    AgentStrategy, Certified, Exchange, Integers, Local, Message, SharedConstants, Strategy,
};
use dictmesh::{Matrix, Registry, Result, Spec, Stop, Topology};
use std::sync::Arc;

/// Integers are multiples of 1 / UNIT.
const UNIT: f64 = 65536.0;

/// The plan with this strategy.
pub fn plan(topology: Topology, rows: usize, samples: usize) -> Plan {
    let mut plan = Plan::new(topology, rows, samples);
    plan.strategy = Spec::new("summing");
    plan.registry = Registry::default()
        .with_strategy("summing", |_| Ok(Arc::new(Summing { constant: false })))
        .with_strategy("constant", |_| Ok(Arc::new(Summing { constant: true })));
    plan
}

/// With `constant`, the integers of every agent and sum are the same.
#[derive(Clone, Copy, Debug)]
pub struct Summing {
    constant: bool,
}

impl Strategy for Summing {
    fn spec(&self) -> Spec {
        Spec::new(if self.constant { "constant" } else { "summing" })
    }

    fn check(&self, _: &dyn Residual, _: bool) -> Result<()> {
        Ok(())
    }

    fn resolve(&self, _: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        Ok(Arc::new(*self))
    }

    fn agent(&self, _: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Sums {
            constant: self.constant,
            ..Sums::default()
        }))
    }

    fn decides(&self) -> bool {
        true
    }
}

#[derive(Debug, Default)]
struct Sums {
    constant: bool,
    nu: Matrix,
    round: usize,
    broadcasts: bool,
    part: Integers,
    said: Vec<u8>,
    certified: Vec<Certified>,
    verdict: Option<Stop>,
    fault: Option<String>,
}

/// Integers beside the gradient, and their width.
fn extra(round: usize) -> (usize, u32) {
    (1 + 5 * (round % 4), 9 + 11 * (round % 6) as u32)
}

impl AgentStrategy for Sums {
    fn start(&mut self, local: &Local) {
        *self = Sums {
            constant: self.constant,
            nu: Matrix::zeros(local.rows(), local.samples),
            ..Sums::default()
        };
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        if self.broadcasts {
            return Exchange::Broadcast;
        }
        if self.constant {
            let (entries, (count, _)) = (self.nu.as_slice().len(), extra(self.round));
            self.part.clear();
            self.part.push(40, vec![11; entries]);
            self.part.push(50, vec![0; local.samples + count]);
            return Exchange::SumToRoot;
        }
        let units = |v: f64| (UNIT * v).round() as i64;
        let mut gradient = local.block.atoms().times(&local.codes(&self.nu));
        if let Some(share) = local.share {
            let each = gradient.as_mut_slice().iter_mut().zip(share.as_slice());
            each.for_each(|(g, b)| *g -= b);
        }
        let (count, width) = extra(self.round);
        let costs: Vec<f64> = local.cost(&self.nu);
        let first = gradient.as_slice()[0].to_bits() as i64;
        self.part.clear();
        self.part
            .push(40, gradient.as_slice().iter().map(|v| units(*v)));
        self.part.push(50, costs.into_iter().map(units));
        self.part
            .push(width, (0..count as i64).map(|i| first.wrapping_mul(i + 1)));
        Exchange::SumToRoot
    }

    fn outgoing(&self) -> Message<'_> {
        match self.broadcasts {
            true => Message::Bytes(&self.said),
            false => Message::Integers(&self.part),
        }
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        match received {
            Message::Integers(total) => self.step(local, total),
            Message::Delivered(delivered) => self.follow(local, delivered.bytes()),
            _ => {}
        }
        self.broadcasts = !self.broadcasts;
        !self.broadcasts
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }

    fn verdict(&self) -> Option<Stop> {
        self.verdict
    }

    fn certified(&self) -> Option<&[Certified]> {
        Some(&self.certified)
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

impl Sums {
    /// The root's step. Its bytes: whether the batch ends, nu, the costs, and bytes of the total.
    fn step(&mut self, local: &Local, total: &Integers) {
        let (entries, values) = (self.nu.as_slice().len(), total.values());
        let odd: i64 = values[entries + local.samples..]
            .iter()
            .fold(0, |sum, v| sum.wrapping_mul(31).wrapping_add(*v));
        // Between 3 and 6 rounds, by the bits of all agents' integers.
        let ends = self.round >= 2 + (odd & 3) as usize;
        self.said.clear();
        self.said.push(u8::from(ends));
        for (nu, v) in self.nu.as_slice().iter().zip(values) {
            let next = nu - 0.1 * (*v as f64 / UNIT + nu);
            self.said.extend(next.to_le_bytes());
        }
        for v in &values[entries..entries + local.samples] {
            self.said.extend((-(*v as f64) / UNIT).to_le_bytes());
        }
        let (count, _) = extra(self.round);
        self.said.extend(odd.to_le_bytes().repeat(count));
    }

    fn follow(&mut self, local: &Local, bytes: &[u8]) {
        let entries = self.nu.as_slice().len();
        let expected = 1 + 8 * (entries + local.samples + extra(self.round).0);
        if bytes.len() != expected {
            let given = bytes.len();
            self.fault = Some(format!("it broadcast {given} bytes in place of {expected}"));
            return;
        }
        let number =
            |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        let numbers = bytes[1..].chunks_exact(8).map(number);
        (self.nu.as_mut_slice().iter_mut().zip(numbers)).for_each(|(nu, v)| *nu = v);
        let costs = bytes[1 + 8 * entries..].chunks_exact(8).map(number);
        self.certified = costs
            .take(local.samples)
            .map(|cost| Certified {
                cost,
                gap: 0.0,
                violation: 0.0,
                stop: Stop::Converged,
            })
            .collect();
        self.round += 1;
        self.verdict = (bytes[0] == 1).then_some(Stop::Converged);
    }
}
