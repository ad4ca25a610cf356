//! The rounds by which an agent finds its nu_k of a batch: the library's loop, with the neighbours at the other
//! end of links.

use super::senders::Senders;
use super::talk::{Halt, Talk};
use super::tree::{self, Tree};
use crate::codec::SCALARS;
use crate::error::Error;
use crate::exchange::{Phase, Tag};
use crate::masks::Masks;
use dictmesh::network::{
    has_diverged, infer, max_or_nan, relative_change, round, Carrier, Flood, Received, Rounds,
    StoppingRule,
};
use dictmesh::strategy::{
    AgentStrategy, Combine, Differences, Exchange, Integers, Local, Message, Strategy,
};
use dictmesh::{AgentId, Matrix, Stop, Stopping};

/// What stays the same through the rounds of a batch.
pub(super) struct Inference<'a> {
    pub id: AgentId,
    pub local: Local<'a>,
    /// The senders by each rule of [`Combine`].
    pub senders: &'a [Senders; 3],
    /// The agent's links in the spanning tree.
    pub tree: &'a Tree,
    /// The masks of sums, if they are on.
    pub masks: Option<&'a Masks>,
    /// The strategy, which may decide itself when a batch ends.
    pub method: &'a dyn Strategy,
    /// Whether all neighbours, who are all agents, have the same weight, and only sums over all agents are exchanged.
    pub sums: bool,
    /// Whether the first argmin of this agent, which has no neighbours, is the whole problem.
    pub single: bool,
    pub stopping: Stopping,
    pub diameter: usize,
    /// |x| of each sample, where the agent is informed: what nu is held against.
    pub sizes: Option<&'a [f64]>,
    /// All agents and whether they are informed, rising.
    pub members: &'a [(AgentId, bool)],
    pub epoch: u32,
    pub position: u64,
}

/// How the rounds ended.
pub(super) struct Found {
    pub stop: Stop,
    pub rounds: usize,
    /// The largest residual of the last flood.
    pub residual: Option<f64>,
    /// Whether iterates of some agent diverged, which not all agents know yet.
    pub troubled: bool,
}

/// One agent's rounds of a batch.
struct Course<'c, 'a> {
    inference: &'c Inference<'a>,
    strategy: &'c mut Box<dyn AgentStrategy>,
    wire: Wire<'c, 'a>,
    /// nu_k before the last round, where it is needed after it.
    before: Matrix,
    /// What the last exchange brought.
    received: Received,
    last: Option<Exchange>,
}

/// The links, and what travels over them beside arrays.
struct Wire<'c, 'a> {
    inference: &'c Inference<'a>,
    talk: &'c mut Talk,
    rounds: usize,
    /// Exchanges of the strategy and those of proofs.
    exchanges: u32,
    flood: Flood,
    /// What the differences of each neighbour add up to, rising; the same as at the neighbour.
    known: Vec<Vec<f64>>,
}

impl Inference<'_> {
    /// Rounds until the stopping rule ends them, for all agents in the same round.
    pub fn run(
        &self,
        strategy: &mut Box<dyn AgentStrategy>,
        talk: &mut Talk,
    ) -> Result<Found, Halt> {
        strategy.start(&self.local);
        let constrained = self.can_be_proven_infeasible();
        let rule = StoppingRule::new(self.stopping, self.diameter, self.single, constrained);
        let mut rule = rule.decided_by(self.method);
        let mut course = Course {
            inference: self,
            strategy,
            wire: Wire {
                inference: self,
                talk,
                rounds: 0,
                exchanges: 0,
                flood: Flood::default(),
                known: Vec::new(),
            },
            before: Matrix::default(),
            received: Received::default(),
            last: None,
        };
        let stop = infer(&mut course, &mut rule)?;
        let decided = self.method.decides(); // for all agents alike
        let diverged = !decided
            && (course.wire.flood.trouble < Flood::NEVER
                || self.has_diverged(course.strategy.dual()));
        Ok(Found {
            stop,
            rounds: course.wire.rounds,
            residual: rule.last_residual(),
            troubled: stop == Stop::RoundLimit && diverged,
        })
    }

    /// Whether there is a constraint, and room in a frame for what all agents add to the proof.
    fn can_be_proven_infeasible(&self) -> bool {
        let scalars = self.members.len() * (1 + 2 * self.local.samples);
        self.local.residual.can_be_infeasible() && scalars <= SCALARS
    }

    /// The tag of the next exchange of this batch.
    pub(super) fn tag(&self, exchanges: &mut u32) -> Tag {
        let round = *exchanges;
        *exchanges += 1;
        Tag {
            epoch: self.epoch,
            sample: self.position,
            phase: Phase::Inference,
            round,
        }
    }

    /// `Ok` if the strategy understood the last message, which came from the parent in the tree.
    fn check_understood(&self, strategy: &dyn AgentStrategy) -> Result<(), Error> {
        match strategy.fault() {
            None => Ok(()),
            Some(why) => Err(Error::Protocol {
                from: self.tree.parent.unwrap_or(self.id),
                why: why.to_string(),
            }),
        }
    }

    fn has_diverged(&self, nu: &Matrix) -> bool {
        let delta = self.local.task.regularizer().strong_convexity();
        (self.sizes).is_some_and(|sizes| has_diverged(nu, sizes, delta))
    }
}

impl Rounds for Course<'_, '_> {
    type Error = Halt;

    fn rounds(&self) -> usize {
        self.wire.rounds
    }

    /// One round: what neighbours report in it may end the batch.
    fn advance(&mut self, to: usize, keep: bool) -> Result<(), Halt> {
        if keep && self.wire.rounds + 1 == to {
            self.before = self.strategy.dual().clone();
        }
        let agents = std::slice::from_mut(&mut *self.strategy);
        let locals = [self.inference.local];
        let last = round(agents, &locals, &mut self.wire, &mut self.received, false)?;
        self.inference.check_understood(&**self.strategy)?;
        self.last = Some(last);
        self.wire.rounds += 1;
        Ok(())
    }

    fn is_interrupted(&self) -> bool {
        false // links report an interruption as a fault
    }

    fn verdict(&self) -> Option<Stop> {
        self.strategy.verdict()
    }

    fn flood(&mut self) -> &mut Flood {
        &mut self.wire.flood
    }

    fn measure(&self) -> Option<f64> {
        let (nu, degree) = (self.strategy.dual(), self.inference.local.degree);
        let sums = self.last == Some(Exchange::Combine(Combine::NeighbourSum));
        let sum = sums.then(|| (degree, self.received.arrays.as_slice()));
        let residual = max_or_nan(relative_change(nu, &self.before, sum), self.strategy.lag());
        (residual.is_finite() && !self.inference.has_diverged(nu)).then_some(residual)
    }

    fn argmin_stop(&self) -> Stop {
        self.strategy.argmin_stop()
    }

    /// One agent cannot decide it for all: the flag travels with the costs of the batch.
    fn has_diverged(&self) -> bool {
        false
    }

    fn proves_infeasible(&mut self) -> Result<bool, Halt> {
        if self.inference.single {
            return Ok(self.strategy.argmin_stop() == Stop::Infeasible);
        }
        let Wire {
            talk, exchanges, ..
        } = &mut self.wire;
        let nu = self.strategy.dual();
        self.inference
            .is_infeasible(nu, &self.before, exchanges, talk)
    }
}

impl Carrier for Wire<'_, '_> {
    type Error = Halt;

    fn carry(
        &mut self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Received,
    ) -> Result<(), Halt> {
        let [agent] = agents else {
            return Ok(()); // one agent runs here
        };
        self.inference.check_understood(&**agent)?;
        let outgoing = agent.outgoing();
        match exchange {
            Exchange::Combine(rule) => {
                let (entries, arrays) = (outgoing.array().len(), &mut received.arrays);
                if arrays.as_slice().len() != entries {
                    *arrays = Matrix::zeros(entries, 1);
                }
                match outgoing {
                    Message::Differences(sent) => {
                        self.combine_known(rule, sent, arrays.as_mut_slice())
                    }
                    _ => self.combine(rule, outgoing.array(), arrays.as_mut_slice()),
                }
            }
            Exchange::SumToRoot => {
                received.total.clear();
                if let Message::Integers(part) = outgoing {
                    received.total.clone_from(part);
                }
                self.sum_to_root(&mut received.total)
            }
            Exchange::Broadcast => {
                let to = received.bytes.rewrite();
                if let Message::Bytes(bytes) = outgoing {
                    to.extend_from_slice(bytes);
                }
                let tag = self.inference.tag(&mut self.exchanges);
                (self.inference.tree).broadcast(tag, to, self.talk)
            }
        }
    }
}

impl Wire<'_, '_> {
    /// At the root, replaces its part by the sum over all agents.
    fn sum_to_root(&mut self, total: &mut Integers) -> Result<(), Halt> {
        let Inference { tree, masks, .. } = *self.inference;
        let tag = self.inference.tag(&mut self.exchanges);
        let Some(masks) = masks else {
            return tree.sum_to_root(tag, total, self.talk);
        };
        let mut masked = total.clone();
        masks.hide(tag, &mut masked)?;
        tree.sum_to_root(tag, &mut masked, self.talk)?;
        if tree.parent.is_none() {
            masks.check_count(tag, &masked, self.inference.local.agents)?;
            tree::set(total, masked.values()); // without the count behind them
        }
        Ok(())
    }

    /// Prepares the frame of the next round. Neighbours refuse numbers that are not finite, so such an array
    /// is replaced by a report of it.
    fn prepare(&mut self, dual: &[f64]) {
        let own = &mut self.talk.own;
        own.tag = self.inference.tag(&mut self.exchanges);
        own.dual.clear();
        own.dual.extend_from_slice(dual);
        if dual.iter().fold(false, |found, v| found | !v.is_finite()) {
            own.dual.fill(0.0);
            self.flood.report_trouble(self.rounds);
        }
        self.tell_flood();
    }

    fn tell_flood(&mut self) {
        let scalars = &mut self.talk.own.scalars;
        scalars.clear();
        scalars.extend([self.flood.residual, self.flood.trouble]);
    }

    /// One round with all neighbours; their reports join the flood.
    fn round(&mut self) -> Result<(), Halt> {
        self.talk.round()?;
        for (_, frame) in self.talk.heard() {
            self.flood.merge(frame.scalars[0], frame.scalars[1]);
        }
        Ok(())
    }

    /// sum_l a_lk psi_l, added up as in one process.
    fn combine(&mut self, rule: Combine, outgoing: &[f64], heard: &mut [f64]) -> Result<(), Halt> {
        let senders = &self.inference.senders[rule as usize];
        self.prepare(outgoing);
        if self.inference.sums {
            return self.combine_by_sum(senders, outgoing, heard);
        }
        self.round()?;
        let talk = &*self.talk;
        senders.combine(self.inference.members, outgoing, |l| talk.dual_of(l), heard);
        Ok(())
    }

    /// The same with arrays that are sent as differences. Differences that are not finite are replaced by 0 and a
    /// report.
    fn combine_known(
        &mut self,
        rule: Combine,
        sent: &Differences,
        heard: &mut [f64],
    ) -> Result<(), Halt> {
        let own = &mut self.talk.own;
        own.tag = self.inference.tag(&mut self.exchanges);
        own.dual.clear();
        own.bytes.clear();
        match sent.is_finite() {
            true => sent.pack(&mut own.bytes),
            false => {
                own.bytes.resize(sent.bytes(), 0);
                self.flood.report_trouble(self.rounds);
            }
        }
        self.tell_flood();
        let done = self.round();
        self.talk.own.bytes.clear(); // no other round has any
        done?;
        self.known
            .resize_with(self.talk.degree(), || vec![0.0; heard.len()]);
        for ((from, frame), known) in self.talk.heard().zip(&mut self.known) {
            let added = sent.add_to(known, &frame.bytes);
            added.map_err(|why| Error::Protocol { from, why })?;
        }
        let (senders, known) = (&self.inference.senders[rule as usize], &self.known);
        let neighbours = self.talk.neighbours();
        let known_of = |l: AgentId| neighbours.binary_search(&l).ok().map(|i| &known[i][..]);
        senders.combine(self.inference.members, sent.known(), known_of, heard);
        Ok(())
    }

    /// The same by a sum over all agents, where each neighbour has the weight w:
    /// sum_l a_lk psi_l = w sum_l psi_l + (a_kk - w) psi_k.
    fn combine_by_sum(
        &mut self,
        senders: &Senders,
        outgoing: &[f64],
        heard: &mut [f64],
    ) -> Result<(), Halt> {
        // The earliest trouble is the largest of the negatives.
        self.talk.own.scalars[1] = -self.flood.trouble;
        let mut most = [0.0; 2];
        self.talk.sum(heard, &mut most)?;
        self.flood.merge(most[0], -most[1]);
        let (own, w) = senders.own_and_other();
        let each = heard.iter_mut().zip(outgoing);
        each.for_each(|(sum, psi)| *sum = w * *sum + (own - w) * psi);
        Ok(())
    }
}
