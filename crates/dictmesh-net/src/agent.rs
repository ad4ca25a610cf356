//! One agent: the paper's main algorithm as it looks from one place in the mesh.
//!
//! An agent knows rounds ([`Exchange`]) and nothing below them. Its life is a row of epochs: each begins with an
//! agreement on who is there and from which sample all go on, and ends when somebody comes, goes, dies or returns.
//! First start, restart after a crash, growth and loss are all the same to it.

mod agreement;
mod batch;
mod checkpoint;
mod closing;
mod cost;
mod epoch;
mod events;
mod infeasible;
mod inference;
mod opening;
mod pace;
mod senders;
mod settings;
mod talk;
mod tree;

pub use events::{Agreed, Batch, Event, Outcome};
pub use settings::{AgentSettings, Control, Neighbour, Policy, Weighting};

use crate::error::Error;
use crate::exchange::{Exchange, Fault};
use crate::source::Source;
use crate::words::listed;
use checkpoint::{Checkpoints, State, Surroundings};
use dictmesh::mesh::AtomStats;
use dictmesh::problem::Block;
use dictmesh::problem::Task;
use dictmesh::strategy::{AgentStrategy, PenaltyRule, ScratchPool, Strategy};
use dictmesh::AgentId;
use dictmesh::Matrix;
use opening::Trouble;
use pace::Pace;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use talk::{Halt, Talk};

/// Who hears of what an agent does.
pub type Observer = Box<dyn FnMut(&Event) + Send>;

/// An agent of a mesh whose others are elsewhere.
pub struct Agent {
    settings: AgentSettings,
    task: Task,
    talk: Talk,
    source: Option<Box<dyn Source>>,
    observer: Observer,
    control: Control,
    /// The strategy with its constants, and this agent's iterates.
    method: Arc<dyn Strategy>,
    strategy: Box<dyn AgentStrategy>,
    scratch: ScratchPool,
    /// W_k, its use, and the samples they have seen.
    state: State,
    checkpoints: Checkpoints,
    around: Surroundings,
    /// Where it has come to its end, if it has, and since when it waits for somebody who has not.
    ended_at: Option<u64>,
    waits_since: Option<Instant>,
    pace: Pace,
    /// Batches since the last file was written.
    unwritten: u64,
    /// Somebody informed has been among those it agreed with since its start.
    had_samples: bool,
    /// Since when it waits for somebody who is.
    uninformed_since: Option<Instant>,
    /// Agreements in a row in which somebody was told of in two ways.
    contradictions: u32,
    /// Who has just left, and who must be there without it.
    without: Option<(AgentId, Vec<AgentId>)>,
    /// Its last batch was beyond all numbers, or somebody's was.
    trouble: Option<Trouble>,
    /// Whose numbers ended the run.
    diverged: String,
    /// y_k of the last batch.
    codes: Matrix,
    /// The neighbour from which masks hide nothing, if that was said.
    visible_to: Option<AgentId>,
}

impl Agent {
    /// An agent that starts from `atoms` (M x N_k, taken as they are), or from its last checkpoint in the directory
    /// `state`. It is informed if it has a source. Without a directory it can go back to earlier samples, as others
    /// may ask it to, but cannot be restarted.
    pub fn new(
        settings: AgentSettings,
        exchange: Box<dyn Exchange>,
        atoms: Matrix,
        source: Option<Box<dyn Source>>,
        state: Option<&Path>,
        observer: Observer,
        control: Control,
    ) -> Result<Self, Error> {
        let (task, strategy) = settings.check()?;
        let (mut checkpoints, found) = Checkpoints::open(state, settings.owner())?;
        let expected = settings.neighbours.iter().filter(|n| !n.joins);
        let mut active: Vec<AgentId> = expected.map(|n| n.id).collect();
        active.sort_unstable();
        let (state, around) = match found {
            Some((state, mut around)) => {
                // Under this policy nobody is given up: a neighbour that it had not is one it was given since.
                if settings.policy == Policy::Wait {
                    active.retain(|l| !around.gone.contains(l));
                    around.active.append(&mut active);
                    around.active.sort_unstable();
                    around.active.dedup();
                }
                (state, around)
            }
            None => {
                let state = fresh(&settings, atoms)?;
                let around = Surroundings {
                    active,
                    ..Surroundings::default()
                };
                checkpoints.keep(state.clone(), &around, true)?;
                (state, around)
            }
        };
        Ok(Agent {
            talk: Talk::new(exchange, settings.policy, settings.float32),
            strategy: strategy.agent(own_numbers()?)?,
            method: strategy,
            task,
            settings,
            source,
            observer,
            control,
            scratch: ScratchPool::default(),
            state,
            checkpoints,
            around,
            ended_at: None,
            waits_since: None,
            had_samples: false,
            uninformed_since: None,
            contradictions: 0,
            without: None,
            pace: Pace::new(),
            unwritten: 0,
            trouble: None,
            diverged: String::new(),
            codes: Matrix::zeros(0, 0),
            visible_to: None,
        })
    }

    /// W_k, private to whoever holds the agent.
    pub fn block(&self) -> &Block {
        &self.state.block
    }

    /// How its atoms were used.
    pub fn atom_stats(&self) -> &AtomStats {
        &self.state.used
    }

    /// The state of the rule that adapts the penalty of the strategy, the same at all agents.
    pub fn penalty(&self) -> PenaltyRule {
        self.state.penalty
    }

    /// y_k of the last batch, N_k x B, as private as the atoms.
    pub fn codes(&self) -> &Matrix {
        &self.codes
    }

    /// Samples that the mesh is through with.
    pub fn position(&self) -> u64 {
        self.state.position
    }

    /// After [`Outcome::Diverged`]: whose numbers diverged, as it was told.
    pub fn diverged(&self) -> &str {
        &self.diverged
    }

    /// Codes and learns until the samples end, it is told to end, or it cannot go on.
    pub fn run(&mut self) -> Result<Outcome, Error> {
        if self.around.gone.contains(&self.settings.id) {
            return Ok(Outcome::Left); // it was ended when the others had let it go
        }
        if self.talk.starts_together() {
            // Whatever their checkpoints say of earlier times: all of them begin now.
            self.around.ended = false;
            self.begin_epoch(1)?;
        } else {
            if self.around.ended {
                if self.settings.policy != Policy::Wait {
                    return Ok(Outcome::Ended);
                }
                self.be_at_the_end_again()?;
            }
            self.begin_epoch(self.around.epoch + 1)?;
        }
        loop {
            let fault = match self.epoch() {
                Ok(outcome) => return Ok(outcome),
                Err(Halt::Error(error)) => {
                    // What all of them come to know at once, all must hear before one goes.
                    if error.is_common() {
                        self.close();
                    }
                    return Err(error);
                }
                Err(Halt::Fault(fault)) => fault,
            };
            let all_is_done = match (&fault, &self.settings.policy) {
                (Fault::Missing { missing }, Policy::Wait) => {
                    self.has_waited_enough(missing) || self.those_there_know(missing)
                }
                // Whoever begins one after the other waits for somebody beyond it, and may not know.
                (Fault::NewEpoch { .. }, Policy::Wait) => {
                    self.waits_for_long() && self.those_there_know(&[])
                }
                _ => false,
            };
            if all_is_done {
                return Ok(Outcome::Ended);
            }
            self.say_why(&fault);
            match fault {
                Fault::NewEpoch { epoch, by } => {
                    self.follow(epoch.max(self.around.epoch + 1), by)?;
                }
                Fault::AllEnded { .. } => return self.tell_the_end(),
                Fault::Missing { missing } => {
                    if self.settings.policy != Policy::Wait {
                        self.around.active.retain(|l| !missing.contains(l));
                    }
                    self.begin_epoch(self.around.epoch + 1)?;
                }
                Fault::Interrupted => return Ok(Outcome::Interrupted),
                Fault::Engine(why) => return Err(Error::Engine(why)),
            }
        }
    }

    /// Why the agents agree anew on who is there, where that was not said already.
    fn say_why(&self, fault: &Fault) {
        let known = |by: &AgentId| *by == self.settings.id || self.around.gone.contains(by);
        match fault {
            Fault::NewEpoch { by, .. } if known(by) => {}
            Fault::NewEpoch { epoch, by } => tracing::info!(
                neighbour = by,
                epoch,
                "it reports that an agent joined, left or restarted: agreeing on the members"
            ),
            Fault::Missing { missing } => {
                let neighbours = listed(missing);
                match self.settings.policy {
                    Policy::Wait => {
                        tracing::info!(%neighbours, "no message in time: agreeing on the members");
                    }
                    Policy::GoOn { deadline } => tracing::warn!(
                        %neighbours, seconds = deadline.as_secs_f64(),
                        "lost: no message for this time; continuing without them and their atoms until they return"
                    ),
                }
            }
            Fault::AllEnded { .. } | Fault::Interrupted | Fault::Engine(_) => {}
        }
    }

    /// Those who want to come in do so.
    fn admit(&mut self) -> Result<(), Fault> {
        let knocking = self.talk.knocking()?;
        self.around.active.extend(knocking);
        self.around.active.sort_unstable();
        self.around.active.dedup();
        Ok(())
    }
}

/// Numbers that nobody else can know, for a strategy that starts at random.
fn own_numbers() -> Result<dictmesh::random::Rng, Error> {
    use rand::{rngs::SysRng, SeedableRng, TryRng};
    let mut seed = [0; 32];
    let none = |e| Error::Engine(format!("the system gives no random numbers: {e}"));
    SysRng.try_fill_bytes(&mut seed).map_err(none)?;
    Ok(dictmesh::random::Rng::from_seed(seed))
}

fn fresh(settings: &AgentSettings, atoms: Matrix) -> Result<State, Error> {
    if atoms.rows() != settings.rows {
        return Err(Error::Setting {
            name: "atoms",
            given: format!("atoms of {} rows", atoms.rows()),
            allowed: format!(
                "the samples of this run have {} rows, and so must they",
                settings.rows
            ),
        });
    }
    Ok(State {
        position: 0,
        used: AtomStats::fresh(atoms.cols()),
        block: Block::new(atoms)?,
        penalty: PenaltyRule::default(),
    })
}
