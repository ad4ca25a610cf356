//! Through the data, as often as asked for, with a checkpoint now and then.

use super::super::{calibration, given_up, save_model, say, Failure, Result};
use super::{checkpoint, Args, Begun, Data, Learned};
use crate::interrupt;
use crate::progress::{Bar, Progress};
use dictmesh::Mesh;
use dictmesh_apps::learning::{LearnError, Passes, Pause, Position, Watcher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// Shows progress, keeps checkpoints, and stops by Ctrl-C.
struct Session<'a> {
    data: &'a Data,
    checkpoint: PathBuf,
    bar: Bar,
    /// Ctrl-C was pressed.
    stop: Arc<AtomicBool>,
    last_saved: Instant,
    /// Seconds between checkpoints; 0 for none.
    every: f64,
    /// Whether a failed checkpoint was reported.
    reported: bool,
}

impl Watcher for Session<'_> {
    fn progress(&mut self, progress: Progress) {
        self.bar.show(progress);
    }

    fn due(&self) -> Pause {
        match self.stop.load(Ordering::SeqCst) {
            true => Pause::Stop,
            false if self.every > 0.0 && self.last_saved.elapsed().as_secs_f64() >= self.every => {
                Pause::Checkpoint
            }
            false => Pause::None,
        }
    }

    /// A checkpoint that cannot be saved is no reason to lose what was learned.
    fn keep(&mut self, mesh: &Mesh, position: &Position) {
        let saved = self.data.model(mesh, position);
        if let Err(e) = saved.and_then(|model| save_model(&model, &self.checkpoint)) {
            if !std::mem::replace(&mut self.reported, true) {
                eprintln!("dictmesh: no checkpoint: {e}; learning continues");
            }
        }
        self.last_saved = Instant::now();
    }
}

/// Learns until all passes are done or Ctrl-C ends it; then a checkpoint is there.
pub fn learn(begun: &mut Begun, args: &Args) -> Result<Learned> {
    let (data, state) = (&begun.data, &mut begun.state);
    let mut session = Session {
        data,
        checkpoint: checkpoint(&args.output),
        bar: Bar::new(args.speech.quiet),
        stop: interrupt::gently(),
        last_saved: Instant::now(),
        every: args.checkpoint_every,
        reported: false,
    };
    state.mesh.interrupt_by(Arc::clone(&session.stop));
    let strategy = state.mesh.strategy().name();
    let mut passes = Passes {
        feed: data.feed(&state.mesh),
        passes: begun.passes,
        min_gain: args.min_gain,
        mesh: &mut state.mesh,
        position: &mut state.position,
    };
    let run = passes.run(&mut session);
    let done = run.map_err(|e| failure(e, &strategy)).and_then(|run| {
        let past = match run.interrupted {
            true => {
                let model = data.model(&state.mesh, &state.position)?;
                save_model(&model, &session.checkpoint)?;
                Vec::new()
            }
            // Ctrl-C leaves it out.
            false => {
                let (feed, show) = (data.feed(&state.mesh), &mut |p| session.bar.show(p));
                calibration::of_learned(&state.mesh, &feed, &session.stop, show)?
            }
        };
        Ok(Learned {
            run,
            past,
            written: None,
        })
    });
    session.bar.clear();
    done
}

fn failure(e: LearnError, strategy: &str) -> Failure {
    match e {
        LearnError::Data(e) => say(e),
        LearnError::Library(e) => say(e),
        LearnError::Changed(message) => message.into(),
        LearnError::GaveUp { stop, largest } => {
            given_up(stop, largest, strategy).map(|why| format!("learning stopped: {why}"))
        }
    }
}
