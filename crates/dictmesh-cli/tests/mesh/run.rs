//! A mesh of processes in a directory of its own, at addresses of its own.

use crate::common::{json, PROGRAM};
use dictmesh::{Matrix, Model};
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Every wait ends.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Samples of 12 numbers, a line each.
pub fn table(count: usize) -> String {
    let entry = |i: usize, j: usize| ((i * 31 + j * 17 + i * j % 13) % 23) as f64 / 23.0 - 0.4;
    let row = |i: usize| (0..12).map(move |j| format!("{:.3}", entry(i, j)));
    let line = |i: usize| row(i).collect::<Vec<_>>().join(",") + "\n";
    (0..count).map(line).collect()
}

/// A host that no other test of this or another run of the tests has.
pub fn host() -> String {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let pid = std::process::id();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("127.{}.{}.{next}", 1 + pid % 250, 1 + (pid / 250) % 250)
}

/// Agents that were started, or can be.
pub struct Run {
    pub place: tempfile::TempDir,
    pub agents: Vec<Option<Child>>,
}

impl Run {
    /// A mesh of these flags, beside `x.csv` with so many samples.
    pub fn new(samples: usize, flags: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("x.csv"), table(samples)).unwrap();
        let host = host();
        let source = match flags.contains("--stdin") || flags.contains("--watch") {
            true => "--rows 12",
            false => "--data x.csv",
        };
        let words = format!("mesh init m --hosts {host} {source} {flags} --json");
        let made = json(place.path(), &words);
        let agents = made["agents"].as_u64().unwrap();
        Run {
            place,
            agents: (0..agents).map(|_| None).collect(),
        }
    }

    /// A file of an agent.
    pub fn file(&self, k: usize, name: &str) -> PathBuf {
        self.place.path().join(format!("m/agent-{k}/{name}"))
    }

    /// The command that starts an agent.
    pub fn command(&self, k: usize) -> Command {
        let mut command = Command::new(PROGRAM);
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.file(k, "agent.log"))
            .unwrap();
        command
            .arg("agent")
            .arg(self.file(k, "agent.toml"))
            .env("RAYON_NUM_THREADS", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        command
    }

    pub fn start(&mut self, k: usize) {
        self.agents[k] = Some(self.command(k).spawn().unwrap());
    }

    pub fn start_all(&mut self) {
        (0..self.agents.len()).for_each(|k| self.start(k));
    }

    /// kill -9; and whether that is what it died of.
    pub fn kill(&mut self, k: usize) -> bool {
        let mut child = self.agents[k].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap().signal() == Some(9)
    }

    pub fn signal(&self, k: usize, name: &str) {
        let id = self.agents[k].as_ref().unwrap().id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Whether an agent has come to its end.
    pub fn ended(&mut self, k: usize) -> bool {
        let child = self.agents[k].as_mut().unwrap();
        child.try_wait().unwrap().is_some()
    }

    pub fn log(&self, k: usize) -> String {
        fs::read_to_string(self.file(k, "agent.log")).unwrap_or_default()
    }

    fn logs(&self) -> String {
        let log = |k| format!("--- agent {k}\n{}", self.log(k));
        (0..self.agents.len()).map(log).collect()
    }

    /// Waits for an agent to end by itself: its exit code.
    pub fn wait(&mut self, k: usize) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            let child = self.agents[k].as_mut().unwrap();
            if let Some(status) = child.try_wait().unwrap() {
                self.agents[k] = None;
                return status.code();
            }
            assert!(Instant::now() < until, "agent {k} hangs\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for all, who must end well, and takes their atoms.
    pub fn finish(&mut self) -> Vec<Matrix> {
        for k in 0..self.agents.len() {
            let code = self.wait(k);
            assert_eq!(code, Some(0), "agent {k}\n{}", self.logs());
        }
        self.atoms()
    }

    pub fn atoms(&self) -> Vec<Matrix> {
        let atoms = |k| {
            let model = Model::load(self.file(k, "atoms.safetensors")).unwrap();
            Matrix::clone(&model.blocks[0].atoms)
        };
        (0..self.agents.len()).map(atoms).collect()
    }

    /// Waits until an agent has a checkpoint at or after this sample, or has ended.
    pub fn until_sample(&mut self, k: usize, sample: u64) {
        let until = Instant::now() + PATIENCE;
        while self.checkpoint(k) < Some(sample) && !self.ended(k) {
            assert!(Instant::now() < until, "no progress\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for a line of an agent's log that has all these words in it.
    pub fn until_said(&self, k: usize, words: &[&str]) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let log = self.log(k);
            let has_all = |line: &&str| words.iter().all(|w| line.contains(w));
            if let Some(line) = log.lines().find(has_all) {
                return line.to_string();
            }
            assert!(Instant::now() < until, "{words:?} of agent {k}:\n{log}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// With how many agents this one last agreed on who is there, itself included.
    pub fn members(&self, k: usize) -> Option<usize> {
        let log = self.log(k);
        let last = log.lines().rfind(|line| line.contains(" agreed "))?;
        let number = last.split("agents=").nth(1)?;
        number.split_whitespace().next()?.parse().ok()
    }

    /// The newest checkpoint of an agent.
    pub fn checkpoint(&self, k: usize) -> Option<u64> {
        let entries = fs::read_dir(self.file(k, "state")).ok()?;
        let names = entries
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned());
        let number = |name: String| name.strip_prefix("checkpoint-")?.parse().ok();
        names.filter_map(number).max()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for child in self.agents.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The largest difference of any two entries.
pub fn distance(a: &[Matrix], b: &[Matrix]) -> f64 {
    assert_eq!(a.len(), b.len());
    let of = |(a, b): (&Matrix, &Matrix)| {
        assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
        let pairs = a.as_slice().iter().zip(b.as_slice());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    a.iter().zip(b).map(of).fold(0.0, f64::max)
}

/// All that a child prints until it ends.
pub fn output(child: &mut Child) -> String {
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    text
}
