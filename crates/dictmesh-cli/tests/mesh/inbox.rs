//! A run whose agents watch a directory: it goes on for as long as a test wants.

use crate::run::{table, Run};
use std::fs;
use std::path::PathBuf;

pub struct Inbox {
    pub run: Run,
    /// Samples that were put there.
    pub samples: usize,
}

impl Inbox {
    /// Nobody is started yet.
    pub fn new(flags: &str) -> Self {
        let run = Run::new(4, &format!("{flags} --watch in"));
        let inbox = Inbox { run, samples: 0 };
        fs::create_dir(inbox.place()).unwrap();
        inbox
    }

    pub fn place(&self) -> PathBuf {
        self.run.place.path().join("in")
    }

    /// Puts a file of so many samples there, which come after those of the files before.
    pub fn put(&mut self, samples: usize) {
        let (part, whole) = ("new.part", format!("{:06}.csv", self.samples));
        let text = table(self.samples + samples);
        let new: String = text.split_inclusive('\n').skip(self.samples).collect();
        fs::write(self.place().join(part), new).unwrap();
        fs::rename(self.place().join(part), self.place().join(whole)).unwrap();
        self.samples += samples;
    }

    /// Waits until all agents have learned all of it.
    pub fn until_learned(&mut self) {
        for k in 0..self.run.agents.len() {
            self.run.until_sample(k, self.samples as u64);
            assert!(!self.run.ended(k), "agent {k}:\n{}", self.run.log(k));
        }
    }

    /// No more will come.
    pub fn end(&self) {
        fs::write(self.place().join("end"), "").unwrap();
    }
}

/// Two agents that see files in different orders do not go on in silence.
#[test]
fn a_file_that_another_agent_takes_earlier_ends_the_one_that_has_passed_it() {
    let flags = "--agents 3 --atoms 6 --topology path --batch 4 --informed 0,2 --seed 5";
    let mut inbox = Inbox::new(flags);
    inbox.run.start_all();
    inbox.run.until_said(0, &["agreed on who is there"]);
    inbox.run.signal(2, "-STOP");
    let put = |name: &str| {
        fs::write(inbox.place().join("new.part"), table(400)).unwrap();
        fs::rename(inbox.place().join("new.part"), inbox.place().join(name)).unwrap();
    };
    put("b.csv");
    let taken = inbox.run.file(0, "state/files-taken");
    crate::faults::wait_until("agent 0 has b.csv", || {
        fs::read_to_string(&taken).is_ok_and(|list| list.contains("b.csv"))
    });
    put("a.csv");
    inbox.run.signal(2, "-CONT");
    assert_eq!(inbox.run.wait(0), Some(1));
    let log = inbox.run.log(0);
    let said = log.lines().last().unwrap();
    for words in ["a.csv", "Names must rise", "from sample 0 on"] {
        assert!(said.contains(words), "{words}: {log}");
    }
    // The others wait for it; they do not end as if all was well.
    assert!(!inbox.run.ended(1) && !inbox.run.ended(2));
}
