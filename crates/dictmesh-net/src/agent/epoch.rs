//! One epoch of an agent: agree, then batch after batch until something changes.

use super::agreement::{self, Members, Record, POSITIONS};
use super::batch::check_squares;
use super::closing::TRIES;
use super::events::{Agreed, Event, Outcome};
use super::opening::{self, Opened, Trouble, Wish};
use super::senders::Senders;
use super::settings::{Policy, Weighting};
use super::talk::Halt;
use super::Agent;
use crate::error::Error;
use crate::exchange::Fault;
use crate::source::Taken;
use crate::words::{agents, listed};
use dictmesh::network::lazy_column;
use dictmesh::strategy::{Combine, PenaltyRule};
use dictmesh::AgentId;
use dictmesh::Samples;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long an informed agent waits for its source before it tells the others that there is nothing yet.
const PAUSE: Duration = Duration::from_millis(50);
/// Attempts to open a batch after which rounds are numbered anew.
const TICKS: u32 = 10_000_000;

/// What an agent knows of the mesh during an epoch.
pub(super) struct Mesh {
    pub members: Members,
    /// (l, a_lk), rising, for averages.
    pub weights: Vec<(AgentId, f64)>,
    /// The senders by each rule of [`Combine`].
    pub rules: [Senders; 3],
    /// Whether all are each other's neighbours, with the same weights, and sums over all are cheaper than a frame
    /// from each.
    pub sums: bool,
}

impl Agent {
    /// From an agreement to whatever ends the epoch.
    pub(super) fn epoch(&mut self) -> Result<Outcome, Halt> {
        let mesh = self.agree()?;
        loop {
            if self.control.interrupt.load(Ordering::Relaxed) {
                return Ok(Outcome::Interrupted);
            }
            match self.open(&mesh)? {
                (Opened::Batch(samples), x) => {
                    self.forget_the_end(); // there are more samples than when it came to it
                    self.batch(&mesh, samples, x)?;
                }
                (Opened::Leaves(id), _) if id == self.settings.id => return self.leave(),
                (Opened::Leaves(id), _) => return Err(self.let_leave(id, mesh.members.ids())),
                (Opened::Change, _) => {
                    tracing::info!("an agent asks to join: agreeing on the members");
                    return Err(self.change(self.settings.id));
                }
                (Opened::Diverged(trouble, told_by), _) => {
                    let known = |id| mesh.members.records.contains_key(&id);
                    self.say_what_diverged(trouble, told_by, known);
                    self.close();
                    return Ok(Outcome::Diverged);
                }
                (Opened::End | Opened::Pending | Opened::Nobody, _) => {
                    self.write_the_end(false)?;
                    self.come_to_the_end();
                    return self.farewell(mesh.members.diameter);
                }
            }
        }
    }

    /// Who is there, and from where all go on.
    fn agree(&mut self) -> Result<Mesh, Halt> {
        self.admit()?;
        (self.talk).take_part(&self.around.active, &self.around.gone);
        let (id, epoch) = (self.settings.id, self.around.epoch);
        let mut positions = self.checkpoints.positions();
        positions.truncate(POSITIONS);
        let penalty_sums = positions.iter().map(|p| self.checkpoints.penalty_sum(*p));
        let own = Record {
            id,
            informed: self.source.is_some(),
            joins: self.settings.joins && self.state.position == 0,
            degree: self.talk.degree(),
            penalty_sums: penalty_sums.collect(),
            positions,
        };
        let masked = self.settings.masks && self.talk.collectives().is_none();
        let run = masked.then_some(self.settings.run.as_str());
        let members = agreement::agree(&mut self.talk, epoch, own, run, &mut self.contradictions)?;
        if let (Some((left, stay)), Policy::Wait) = (self.without.take(), &self.settings.policy) {
            let there = members.ids();
            let cut_off: Vec<AgentId> = stay.into_iter().filter(|l| !there.contains(l)).collect();
            if !cut_off.is_empty() {
                return Err(Error::CutOff { left, cut_off }.into());
            }
        }
        self.refuse_strangers(&members)?;
        let position = members.position(&self.settings.policy)?;
        self.go_to(position)?;
        if !members.agree_on_penalty(position) {
            self.state.penalty = PenaltyRule::default(); // as all others do
        }
        self.is_past_the_end();
        self.look_for_informed(&members)?;
        (self.observer)(&Event::Agreed(Agreed {
            epoch,
            position,
            members: members.ids(),
            informed: members.informed(),
            diameter: members.diameter,
        }));
        self.warn_if_visible(&members);
        self.check_given_weights()?;
        let weights = members.weights(id, self.talk.neighbours(), &self.settings.weighting);
        let rules = [
            Combine::Weights,
            Combine::LazyWeights,
            Combine::NeighbourSum,
        ];
        let ids = members.ids();
        let rules = rules.map(|rule| {
            let weights = match rule {
                Combine::Weights => weights.clone(),
                Combine::LazyWeights => lazy_column(id, &weights),
                Combine::NeighbourSum => self.talk.neighbours().iter().map(|l| (*l, 1.0)).collect(),
            };
            Senders::new(id, &ids, &weights)
        });
        let given = matches!(self.settings.weighting, Weighting::Given(_));
        Ok(Mesh {
            sums: self.settings.accels.sums_on_links()
                && self.talk.can_sum()
                && members.is_complete()
                && !given,
            members,
            weights,
            rules,
        })
    }

    /// Masks are shared with neighbours: the only one of an agent can remove them. Said once.
    fn warn_if_visible(&mut self, members: &Members) {
        let [only] = *self.talk.neighbours() else {
            return;
        };
        let sums = self.method.decides() && members.masks.is_some();
        if sums && self.visible_to != Some(only) {
            self.visible_to = Some(only);
            tracing::warn!(
                neighbour = only,
                "the only neighbour of this agent can remove its masks, and compute its part of \
                 every sum; give this agent a second neighbour to prevent that"
            );
            (self.observer)(&Event::Visible { to: only });
        }
    }

    /// Without anybody informed no sample can come. At a start those who are may still be on their way, and are waited
    /// for; later they are lost.
    fn look_for_informed(&mut self, members: &Members) -> Result<(), Error> {
        if members.informed() > 0 {
            self.had_samples = true;
            return Ok(());
        }
        let members = members.ids();
        if self.had_samples || self.ended_at.is_some() || self.talk.starts_together() {
            return Err(Error::Uninformed { members });
        }
        Ok(())
    }

    /// Whether a neighbour that is not among these may still come in, and bring samples.
    fn expects_somebody(&self, members: &Members) -> bool {
        let here = |id| members.records.contains_key(&id) || self.around.gone.contains(&id);
        let mut all = self.settings.neighbours.iter();
        all.any(|l| l.joins && !here(l.id))
    }

    /// Nobody informed is here. Under `wait` all are who are waited for, so that it is in vain unless somebody `is_expected`
    /// to join. Under `go-on` the others may have come to their end without this agent, if it had learned before.
    fn wait_for_informed(
        &mut self,
        members: &Members,
        is_expected: bool,
        first: bool,
    ) -> Result<(), Error> {
        let waits = match self.settings.policy {
            Policy::Wait if is_expected => None,
            Policy::Wait => Some(Duration::ZERO),
            Policy::GoOn { .. } if self.state.position == 0 => None,
            Policy::GoOn { .. } => Some(TRIES * self.settings.linger),
        };
        let since = *self.uninformed_since.get_or_insert_with(Instant::now);
        let members = members.ids();
        if waits.is_some_and(|waits| since.elapsed() >= waits) {
            return Err(Error::Uninformed { members });
        }
        if first {
            tracing::warn!(
                agents = %listed(&members), seconds = waits.map(|waits| waits.as_secs_f64()),
                "no informed agent is present; waiting for one: start an agent that has a source of samples"
            );
        }
        std::thread::sleep(PAUSE); // no source is waited for that would give the others a rest
        Ok(())
    }

    /// Whoever has lost what it had learned is refused, and waited for as any other that is not there; the others need
    /// not end because of it.
    fn refuse_strangers(&mut self, members: &Members) -> Result<(), Halt> {
        let strangers = match self.settings.policy {
            Policy::Wait => members.strangers(),
            Policy::GoOn { .. } => Vec::new(),
        };
        if strangers.is_empty() {
            return Ok(());
        }
        if strangers.contains(&self.settings.id) {
            let others = members.positions_of_others(&strangers);
            // So that the others hear it all; where one of them is gone too, that changes nothing.
            let linger = Some(self.settings.linger);
            let _ = opening::confirm(&mut self.talk, members.diameter, linger);
            return Err(Error::NothingLearned { others }.into());
        }
        tracing::warn!(
            agents = %listed(&strangers),
            "refused, and waited for: nothing of what was learned is left in the state directory there; restore it, or \
             let it join with new atoms (joins = true)"
        );
        // Or somebody would be called into the next epoch before it knows why.
        opening::confirm(&mut self.talk, members.diameter, None)?;
        Err(self.change(self.settings.id))
    }

    /// Weights that were given are good for the neighbours they were given for.
    fn check_given_weights(&self) -> Result<(), Error> {
        let Weighting::Given(column) = &self.settings.weighting else {
            return Ok(());
        };
        let others = column.iter().map(|(l, _)| *l);
        let others: Vec<AgentId> = others.filter(|l| *l != self.settings.id).collect();
        if others == self.talk.neighbours() && others.len() + 1 == column.len() {
            return Ok(());
        }
        Err(Error::Setting {
            name: "weights",
            given: format!(
                "those of {}",
                agents(&column.iter().map(|(l, _)| *l).collect::<Vec<_>>())
            ),
            allowed: format!(
                "there must be one for the agent itself and one for each of its neighbours, which are now {}; \
                 use Metropolis weights where agents come and go",
                listed(self.talk.neighbours())
            ),
        })
    }

    /// Back to a sample that this agent has kept, or, where the others have come further, on to theirs with the
    /// atoms it has.
    fn go_to(&mut self, position: u64) -> Result<(), Error> {
        self.trouble = None;
        if self.checkpoints.positions().contains(&position) {
            self.state = self.checkpoints.go_back(position)?;
            return Ok(());
        }
        self.checkpoints.clear()?;
        self.state.position = position;
        self.checkpoints
            .keep(self.state.clone(), &self.around, true)
    }

    /// Waits for samples, an end, or a change, with all others.
    fn open(&mut self, mesh: &Mesh) -> Result<(Opened, Option<Samples>), Halt> {
        let mut taken = None;
        for tick in 0.. {
            if taken.is_none() {
                taken = self.take()?;
            }
            let wish = Wish {
                batch: self.settings.batch,
                samples: taken
                    .as_ref()
                    .map(|x: &Option<Samples>| x.as_ref().map_or(0, Samples::len)),
                pending: match mesh.members.informed() {
                    0 => self.expects_somebody(&mesh.members),
                    _ => self.source.is_some() && taken.is_none(),
                },
                leaves: (self.control.leave.load(Ordering::Relaxed)).then_some(self.settings.id),
                change: tick > TICKS || !self.talk.knocking()?.is_empty(),
                trouble: self.trouble,
            };
            let (epoch, position) = (self.around.epoch, self.state.position);
            let diameter = mesh.members.diameter;
            let opened = opening::open(&mut self.talk, epoch, position, tick, diameter, &wish)?;
            if !matches!(opened, Opened::Pending | Opened::Nobody) {
                return Ok((opened, taken.flatten()));
            }
            if self.control.interrupt.load(Ordering::Relaxed) {
                return Err(Fault::Interrupted.into());
            }
            match (mesh.members.informed(), opened) {
                (0, _) => {
                    self.wait_for_informed(&mesh.members, opened == Opened::Pending, tick == 0)?;
                }
                // To ask again would be to ask for ever: whoever is informed has a count, or waits for its source.
                (_, Opened::Nobody) => return Err(Error::NotAnnounced { position }.into()),
                _ => self.forget_the_end(), // somebody's samples go on, as all have been told
            }
        }
        Ok((Opened::Change, None))
    }

    /// What the source has: `None` if not enough yet, or if there is no source; `Some(None)` at its end.
    pub(super) fn take(&mut self) -> Result<Option<Option<Samples>>, Error> {
        let position = self.state.position;
        let Some(source) = &mut self.source else {
            return Ok(None);
        };
        let failed = |why| Error::Source { position, why };
        let until = Instant::now() + PAUSE;
        let taken = source
            .take(position, self.settings.batch, until)
            .map_err(failed)?;
        Ok(match taken {
            Taken::Pending => None,
            Taken::End => Some(None),
            // An agent that is not informed has no samples, thus no weights to learn by.
            Taken::Samples(x) if x.weights().is_some() => {
                return Err(failed(
                    "its samples have weights other than 1, which agents on a network do not \
                     support; give samples without weights, or learn in one process"
                        .to_string(),
                ));
            }
            Taken::Samples(x) if x.rows() == self.settings.rows => {
                check_squares(&x, position).map_err(failed)?;
                Some(Some(x))
            }
            Taken::Samples(x) => {
                let rows = self.settings.rows;
                return Err(failed(format!(
                    "its samples have {} entries, but those of this run have {rows}",
                    x.rows()
                )));
            }
        })
    }

    /// Leaves for good: the others know it.
    fn leave(&mut self) -> Result<Outcome, Halt> {
        let id = self.settings.id;
        if !self.control.leave.load(Ordering::Relaxed) {
            return Err(Error::Protocol {
                from: id,
                why: "an agent reports that this agent leaves, which it does not".into(),
            }
            .into());
        }
        let sample = self.state.position;
        tracing::info!(sample, "leaving the mesh: the others have confirmed it");
        // Who has confirmed it may be in the next epoch already, or have forgotten this agent: no reason to stay.
        let _ = opening::confirm(&mut self.talk, 1, Some(self.settings.linger));
        // It may be ended while it lingers; nobody would be there for it when it returns.
        self.around.gone.push(id);
        self.checkpoints
            .keep(self.state.clone(), &self.around, true)?;
        self.close();
        Ok(Outcome::Left)
    }

    /// Goes on without an agent that leaves: all `members` but that one must be there.
    fn let_leave(&mut self, id: AgentId, mut members: Vec<AgentId>) -> Halt {
        tracing::info!(
            agent = id,
            "it leaves the mesh; the others continue without its atoms"
        );
        self.around.active.retain(|l| *l != id);
        self.around.gone.push(id);
        members.retain(|l| *l != id);
        let stay = members.len();
        self.without = Some((id, members));
        match self.confirm_without(stay) {
            Ok(()) => self.change(id),
            Err(halt) => halt,
        }
    }

    /// One round with the agent that leaves, which goes when it has heard that its neighbours know; then as many without
    /// it as there can be links between any two of the others.
    fn confirm_without(&mut self, others: usize) -> Result<(), Halt> {
        // Before it is confirmed: whoever is restarted now must not wait for one that will not return.
        self.checkpoints
            .keep(self.state.clone(), &self.around, true)?;
        opening::confirm(&mut self.talk, 1, None)?;
        (self.talk).take_part(&self.around.active, &self.around.gone);
        opening::confirm(&mut self.talk, others.saturating_sub(1), None)
    }

    /// Whose numbers ended the run, as far as it was said, and who passed it on: that one at least is verified.
    fn say_what_diverged(
        &mut self,
        trouble: Trouble,
        told_by: Option<AgentId>,
        known: impl Fn(AgentId) -> bool,
    ) {
        let what = "dual vectors, costs or atoms diverged";
        let told = told_by.map_or_else(String::new, |by| format!(", passed on by agent {by}"));
        self.diverged = match trouble {
            Trouble::Of(id) if id == self.settings.id => match told_by {
                None => format!("this agent's own {what}"),
                Some(by) => format!("agent {by} reports that this agent's own {what}, which they did not"),
            },
            Trouble::Of(id) if known(id) => format!("agent {id} reports that its {what}{told}"),
            _ => format!(
                "an agent reports that {what}{told}, but no agent names its own; the neighbours are {}",
                listed(self.talk.neighbours())
            ),
        };
    }

    /// A new epoch that everybody begins at this boundary.
    fn change(&self, by: AgentId) -> Halt {
        let epoch = self.around.epoch + 1;
        Halt::Fault(Fault::NewEpoch { epoch, by })
    }
}
