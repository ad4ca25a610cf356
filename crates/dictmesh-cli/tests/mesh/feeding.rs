//! A run whose agent 0 gets its samples from standard input, a batch of four at a time.

use crate::run::{table, Run, PATIENCE};
use std::io::Write;
use std::process::{ChildStdin, Stdio};
use std::time::{Duration, Instant};

/// For all of them, beside the agents and the graph.
pub const FLAGS: &str = "--atoms 8 --batch 4 --informed 0 --seed 5 --stdin";

pub struct Feeding {
    pub run: Run,
    stdin: Option<ChildStdin>,
}

impl Feeding {
    /// Starts all agents.
    pub fn start(flags: &str) -> Self {
        let mut run = Run::new(4, &format!("{FLAGS} {flags}"));
        let mut first = run.command(0).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = first.stdin.take();
        run.agents[0] = Some(first);
        (1..run.agents.len()).for_each(|k| run.start(k));
        Feeding { run, stdin }
    }

    /// Feeds a batch and waits until it is learned.
    pub fn feed(&mut self) {
        let at = self.run.checkpoint(0).unwrap_or(0);
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(table(4).as_bytes()).unwrap();
        stdin.flush().unwrap();
        self.run.until_sample(0, at + 4);
    }

    /// How many agents agent 0 last agreed with on who is there, itself included.
    pub fn members(&self) -> Option<usize> {
        self.run.members(0)
    }

    /// Feeds batches until so many take part, and then one more.
    pub fn feed_until(&mut self, members: usize) {
        let until = Instant::now() + PATIENCE;
        while self.members() != Some(members) {
            let log = self.run.log(0);
            assert!(Instant::now() < until, "{members} do not take part:\n{log}");
            self.feed();
            std::thread::sleep(Duration::from_millis(50));
        }
        self.feed();
    }

    /// No more samples will come.
    pub fn end(&mut self) {
        self.stdin = None;
    }
}
