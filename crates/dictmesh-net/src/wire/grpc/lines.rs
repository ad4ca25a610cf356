//! How many lines of one kind the log takes: a flood must not fill the disk.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Counts lines. So many are shown in a stretch of time; the first of the next says how many were not.
#[derive(Debug)]
pub struct Lines {
    most: usize,
    stretch: Duration,
    now: Mutex<Option<Stretch>>,
}

#[derive(Debug)]
struct Stretch {
    began: Instant,
    lines: usize,
    hidden: u64,
}

impl Lines {
    /// So many in so long a time at most.
    pub fn new(most: usize, stretch: Duration) -> Self {
        Lines {
            most,
            stretch,
            now: Mutex::new(None),
        }
    }

    /// One more line: `Some` if it is shown, with how many before it were not.
    pub fn next(&self) -> Option<u64> {
        self.next_at(Instant::now())
    }

    fn next_at(&self, now: Instant) -> Option<u64> {
        let mut stretch = self.now.lock().unwrap_or_else(|e| e.into_inner());
        match &mut *stretch {
            Some(s) if now.saturating_duration_since(s.began) < self.stretch => {
                s.lines += 1;
                let shown = s.lines <= self.most;
                s.hidden += u64::from(!shown);
                shown.then_some(0)
            }
            before => {
                let hidden = before.as_ref().map_or(0, |before| before.hidden);
                *before = Some(Stretch {
                    began: now,
                    lines: 1,
                    hidden: 0,
                });
                Some(hidden)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_shown_and_the_others_are_counted() {
        let lines = Lines::new(3, Duration::from_secs(60));
        let start = Instant::now();
        let after = |seconds: u64| lines.next_at(start + Duration::from_secs(seconds));
        assert_eq!([0, 1, 2].map(after), [Some(0); 3]);
        assert_eq!([3, 30, 59].map(after), [None; 3]);
        assert_eq!([60, 61].map(after), [Some(3), Some(0)]);
        assert_eq!(after(1000), Some(0));
    }
}
