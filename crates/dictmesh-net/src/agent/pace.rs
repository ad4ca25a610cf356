//! How fast an agent follows others into new epochs.
//!
//! Whoever is a neighbour can begin one: it may have died, or lost somebody. It can also do nothing else, by a fault or
//! on purpose. So an agent follows so many at once, and from then on so many a second: what it costs has a bound, and a
//! neighbour that dies every minute is still taken back every time.

use super::{Agent, Policy};
use crate::error::Error;
use dictmesh::AgentId;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Epochs that are followed at once.
const FREE: f64 = 20.0;
/// And a second, from then on.
const RATE: f64 = 2.0;
/// How long an interrupt is not looked at.
const LOOK: Duration = Duration::from_millis(50);
/// The last epoch: some are left for what is under way.
const LAST: u32 = u32::MAX - 1_000_000;

/// A bucket that epochs fall into, and that leaks at [`RATE`].
#[derive(Debug)]
pub(super) struct Pace {
    level: f64,
    at: Instant,
}

impl Pace {
    pub fn new() -> Self {
        Pace {
            level: 0.0,
            at: Instant::now(),
        }
    }

    /// How long to wait before an epoch that was begun at this time is followed.
    fn pause(&mut self, now: Instant) -> Option<Duration> {
        let leaked = RATE * now.saturating_duration_since(self.at).as_secs_f64();
        self.level = (self.level - leaked).max(0.0) + 1.0;
        self.at = now;
        let over = self.level - FREE;
        (over > 0.0).then(|| Duration::from_secs_f64(over / RATE))
    }
}

impl Agent {
    /// Goes into this epoch, which was begun by `by`, in time.
    pub(super) fn follow(&mut self, epoch: u32, by: AgentId) -> Result<(), Error> {
        let now = Instant::now();
        if let Some(mut pause) = self.pace.pause(now) {
            // Who pauses says nothing: were it for as long as the deadline, the others would give it up, begin another
            // epoch because of that, and never come together again.
            if let Policy::GoOn { deadline } = self.settings.policy {
                pause = pause.min(deadline / 4);
            }
            tracing::warn!(
                neighbour = by,
                epoch,
                seconds = pause.as_secs_f64(),
                "it begins epoch after epoch; it is followed after a pause only"
            );
            while now.elapsed() < pause && !self.control.interrupt.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK.min(pause));
            }
        }
        self.begin_epoch(epoch)
    }

    /// The next epoch is this one.
    pub(super) fn begin_epoch(&mut self, epoch: u32) -> Result<(), Error> {
        if epoch > LAST {
            return Err(Error::Engine(format!(
                "epoch {epoch}: there are no more numbers for epochs; begin a new run from the atoms of this one"
            )));
        }
        self.around.epoch = epoch;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_free_and_the_others_wait_for_their_turn() {
        let mut pace = Pace::new();
        let start = pace.at;
        assert!((0..20).all(|_| pace.pause(start).is_none()));
        assert_eq!(pace.pause(start), Some(Duration::from_millis(500)));
        assert_eq!(pace.pause(start), Some(Duration::from_secs(1)));
        // Whoever does not wait is not better off.
        let later = start + Duration::from_secs(1);
        assert_eq!(pace.pause(later), Some(Duration::from_millis(500)));
        assert_eq!(pace.pause(start + Duration::from_secs(60)), None);
    }
}
