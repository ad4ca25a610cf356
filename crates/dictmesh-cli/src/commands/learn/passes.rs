//! Through the data, as often as asked for, with a checkpoint now and then.

use super::super::{calibration, given_up, save_model, say, Ended, Result};
use super::{checkpoint, Args, Begun, Data, Learned, State};
use crate::interrupt;
use crate::progress::Bar;
use crate::progress::Progress;
use dictmesh::{Model, Samples, Stop};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// How far a run has come in its data. A model carries it, so that it can go on there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// The file's name, without its directories.
    data: String,
    /// What its content is known by.
    fingerprint: String,
    /// Samples of a pass.
    samples: usize,
    /// Samples learned so far, over all passes.
    pub learned: u64,
}

const KEY: &str = "learning";

impl Position {
    /// Before the first sample.
    pub fn start(data: &Path, fingerprint: String, samples: usize) -> Self {
        let name = data.file_name().unwrap_or(data.as_os_str());
        Position {
            data: name.to_string_lossy().into_owned(),
            fingerprint,
            samples,
            learned: 0,
        }
    }

    /// Whether these are the data that a model was begun with.
    pub fn is_of(&self, model: &Model) -> bool {
        let value = model.description.extra.get(KEY).cloned();
        let found = value.and_then(|v| serde_json::from_value::<Position>(v).ok());
        found.is_some_and(|p| (p.samples, &p.fingerprint) == (self.samples, &self.fingerprint))
    }

    /// Where a model stopped in these data, of which `self` is the start; for other data, this start.
    /// Data that changed under the model's hands are refused in the middle of a pass, and told of after it
    /// if `warn`.
    pub fn or_where_it_stopped(self, model: &Model, warn: bool) -> Result<Self> {
        let value = model.description.extra.get(KEY).cloned();
        let found = value.and_then(|v| serde_json::from_value::<Position>(v).ok());
        let content = |p: &Position| (p.samples, p.fingerprint.clone());
        match found {
            Some(p) if content(&p) == content(&self) => Ok(p),
            Some(p) if p.data == self.data && p.samples > 0 => {
                let changed = format!(
                    "{}: it has changed since: {} samples with the fingerprint {}, and it had {} with {}",
                    self.data, self.samples, self.fingerprint, p.samples, p.fingerprint
                );
                let at = p.learned % p.samples as u64;
                if at > 0 {
                    return Err(format!(
                        "{changed}. Learning stopped at sample {at} of a pass, and cannot go on there in other \
                         data: give the data as they were, or these under another name, to be learned from \
                         their start"
                    ).into());
                }
                if warn {
                    eprintln!("dictmesh: {changed}; it is learned from its start");
                }
                Ok(self)
            }
            _ => Ok(self),
        }
    }

    /// Puts it into a model.
    pub fn store(&self, model: &mut Model) -> Result<()> {
        let value = serde_json::to_value(self).map_err(say)?;
        model.description.extra.insert(KEY.to_string(), value);
        Ok(())
    }
}

/// Why the rounds of batches pause.
struct Pause {
    /// Ctrl-C was pressed.
    stop: Arc<AtomicBool>,
    last_saved: Instant,
    every: f64,
    /// A checkpoint that could not be written was told of.
    told: bool,
}

impl Pause {
    fn new(every: f64) -> Self {
        Pause {
            stop: interrupt::gently(),
            last_saved: Instant::now(),
            every,
            told: false,
        }
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn checkpoint_due(&self) -> bool {
        self.every > 0.0 && self.last_saved.elapsed().as_secs_f64() >= self.every
    }
}

/// A run on its way.
struct Session<'a> {
    args: &'a Args,
    data: &'a Data,
    state: &'a mut State,
    /// Samples of all passes.
    all: u64,
    bar: Bar,
    pause: Pause,
    learned: Learned,
    /// The mean cost of a sample in the pass before.
    before: Option<f64>,
}

/// Learns until all passes are done or Ctrl-C ends it; then a checkpoint is there.
pub fn learn(begun: &mut Begun, args: &Args) -> Result<Learned> {
    let mut session = Session {
        args,
        data: &begun.data,
        all: (begun.passes as u64).saturating_mul(begun.data.total as u64),
        bar: Bar::new(args.speech.quiet),
        pause: Pause::new(args.checkpoint_every),
        learned: Learned {
            costs: Vec::new(),
            from: begun.state.position.learned as usize,
            ends: Vec::new(),
            entries: Vec::new(),
            past: Vec::new(),
            last: None,
            at_limit: 0,
            rounds: 0,
            bytes: 0,
            written: None,
            ended: Ended::Complete,
        },
        state: &mut begun.state,
        before: None,
    };
    let stop = Arc::clone(&session.pause.stop);
    session.state.mesh.interrupt_by(stop);
    let done = session.passes().and_then(|()| session.score());
    session.bar.clear();
    done?;
    Ok(session.learned)
}

impl Session<'_> {
    fn passes(&mut self) -> Result<()> {
        let total = self.data.total as u64;
        while self.state.position.learned < self.all {
            let at = self.state.position.learned;
            let mut skip = (at % total) as usize;
            let first = self.learned.costs.len();
            for part in self
                .data
                .feed(&self.state.mesh)
                .parts(at / total)
                .map_err(say)?
            {
                let part = part.map_err(say)?;
                if skip >= part.len() {
                    skip -= part.len();
                    continue;
                }
                self.part(&part, std::mem::take(&mut skip))?;
                if self.learned.ended == Ended::Interrupted {
                    return Ok(());
                }
            }
            if self.has_settled(first) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the pass that began with batch `first` has lowered the mean cost of a sample by too little to go
    /// on. After --resume, the first pass has none before it.
    fn has_settled(&mut self, first: usize) -> bool {
        let learned = &self.learned;
        let begin = match first {
            0 => learned.from,
            _ => learned.ends[first - 1],
        };
        let begins = std::iter::once(begin).chain(learned.ends[first..].iter().copied());
        let batches = begins
            .zip(&learned.ends[first..])
            .zip(&learned.costs[first..]);
        let (sum, samples) = batches.fold((0.0, 0), |(sum, samples), ((begin, end), cost)| {
            (sum + cost * (end - begin) as f64, samples + end - begin)
        });
        let cost = sum / samples as f64;
        let before = self.before.replace(cost);
        let gain = self.args.min_gain;
        gain > 0.0 && before.is_some_and(|before| before - cost <= gain * before.abs())
    }

    /// What the samples score when all is learned. Ctrl-C leaves it out.
    fn score(&mut self) -> Result<()> {
        if self.learned.ended == Ended::Complete {
            let (mesh, bar) = (&self.state.mesh, &self.bar);
            let feed = self.data.feed(mesh);
            let show = &mut |progress| bar.show(progress);
            self.learned.past = calibration::of_learned(mesh, &feed, &self.pause.stop, show)?;
        }
        Ok(())
    }

    /// A part from sample `from` on. Wherever it pauses, the batches and their steps are those of an
    /// undisturbed run, so that the model is the same to the last bit.
    fn part(&mut self, part: &Samples, mut from: usize) -> Result<()> {
        while from < part.len() {
            let count = match from {
                0 => self.batches(part)?,
                _ => self.batches(&part.range(from..part.len()))?,
            };
            self.state.position.learned += count;
            from += count as usize;
            // The block that a batch was learned of is not done yet; one broken off in its first was not begun.
            if from < part.len() && count > 0 {
                self.state.mesh.reopen_block();
            }
            if self.pause.interrupted() {
                let model = self.data.model(self.state)?;
                save_model(&model, &checkpoint(&self.args.output))?;
                self.learned.ended = Ended::Interrupted;
                return Ok(());
            }
            if self.pause.checkpoint_due() {
                self.keep()?;
            }
        }
        Ok(())
    }

    /// Learns until a pause is due; how many samples.
    fn batches(&mut self, x: &Samples) -> Result<u64> {
        let before = self.state.mesh.progress().samples_learned;
        let at = self.state.position.learned;
        let (learned, bar, pause) = (&mut self.learned, &self.bar, &self.pause);
        let stop = self.state.mesh.learn(x, |event| {
            learned.costs.push(event.cost);
            learned.entries.push(event.sparsity);
            let end = learned.ends.last().copied().unwrap_or(learned.from);
            learned.ends.push(end + event.batch);
            learned.rounds += event.rounds;
            learned.bytes += event.bytes;
            learned.last = Some(*event);
            learned.at_limit += usize::from(event.stop == Stop::RoundLimit);
            bar.show(Progress {
                phase: "learning",
                done: (at + event.samples - before) as usize,
                total: self.all as usize,
                cost: Some(event.cost),
            });
            match pause.interrupted() || pause.checkpoint_due() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match stop.map_err(say)? {
            stop @ (Stop::Diverged | Stop::Infeasible) => {
                let why = given_up(stop, x, &self.state.mesh.strategy().name());
                Err(why.map(|why| format!("learning stopped: {why}")))
            }
            _ => Ok(self.state.mesh.progress().samples_learned - before),
        }
    }

    /// Saves a checkpoint. One that cannot be saved is a pity, but no reason to lose what was learned.
    fn keep(&mut self) -> Result<()> {
        let path = checkpoint(&self.args.output);
        if let Err(e) = save_model(&self.data.model(self.state)?, &path) {
            if !std::mem::replace(&mut self.pause.told, true) {
                eprintln!("dictmesh: no checkpoint: {e}; learning continues");
            }
        }
        self.pause.last_saved = Instant::now();
        Ok(())
    }
}
