//! The processes of a mesh: started together, watched, and ended together.

use super::super::error::failed;
use super::super::run_state::learned_all;
use super::super::{sources, Result};
use super::run_summary::{Line, RunSummary};
use crate::config::{AgentConfig, MeshConfig};
use dictmesh_data::output::refusal;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long agents have to end when they are asked to.
const LEAVE: Duration = Duration::from_secs(20);
/// When those who asked are told what is waited for.
const SILENCE: Duration = Duration::from_secs(2);
/// How long what an agent said last may take to be heard when it has ended: somebody else may hold its end of the pipe.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How often a killed agent is started again, in all.
const MOST_RESTARTS: usize = 1000;

/// An agent to be started.
#[derive(Clone, Debug)]
pub struct Member {
    /// The agent's name.
    pub name: String,
    /// Its settings.
    pub config: PathBuf,
    /// Where its log goes.
    pub log: PathBuf,
    /// Whether it gets our standard input.
    pub reads: bool,
    /// Its speed-ups, as `--accel` takes them.
    pub accel: String,
}

impl Member {
    /// Whether it had come to the end of its run.
    pub fn has_ended(&self) -> bool {
        let own = self.config.parent().unwrap_or(Path::new(""));
        let atoms = own.join(MeshConfig::ATOMS);
        atoms.exists() && matches!(learned_all(&atoms, &own.join("state")), Ok(Some(_)))
    }
}

/// What a caller may show of agents that run.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice<'a> {
    /// How far all agents are.
    Progress {
        /// Samples learned, those before this run included.
        samples: u64,
        /// Samples that there are, if an agent knows.
        total: Option<u64>,
        /// The mean cost of a sample in the newest batch.
        cost: Option<f64>,
    },
    /// An agent has something to say to a person.
    Warning {
        /// Its name.
        agent: &'a str,
        /// What it says.
        message: &'a str,
    },
    /// An agent was killed and is started again.
    Restarted {
        /// Its name.
        agent: &'a str,
        /// How it ended.
        status: ExitStatus,
    },
    /// The agents were asked to end, and the batch under way takes a while.
    Finishing,
}

/// Receives notices.
type Show<'a> = dyn FnMut(Notice<'_>) + 'a;
/// The command that starts the program `dictmesh`.
pub type Program = fn() -> io::Result<Command>;

/// An event of the agent of this name.
type Said = (String, Line);

/// An agent's process.
struct Running {
    member: Member,
    child: Child,
    ended: Option<ExitStatus>,
}

/// Agents that are running.
pub struct Group {
    program: Program,
    running: Vec<Running>,
    said: Receiver<Said>,
    say: Sender<Said>,
    /// Threads that pass on what they say, each until its agent has said all.
    readers: Vec<JoinHandle<()>>,
    /// When they were asked to end.
    asked: Option<Instant>,
    /// Whose failure was the reason, if not a person's wish, and how it ended.
    failure: Option<(usize, ExitStatus)>,
    /// Why agents ended: their names and messages.
    reasons: Vec<(String, String)>,
    told: RunSummary,
}

impl Group {
    /// Starts all, or none; `program` gives the command of the program `dictmesh`.
    pub fn start(members: Vec<Member>, program: Program) -> Result<Self> {
        let (say, said) = channel();
        let mut group = Group {
            program,
            told: RunSummary::default(),
            running: Vec::new(),
            said,
            say,
            readers: Vec::new(),
            asked: None,
            failure: None,
            reasons: Vec::new(),
        };
        for member in members {
            let child = spawn(program, &member, &group.say, &mut group.readers)?;
            group.running.push(Running {
                member,
                child,
                ended: None,
            });
        }
        Ok(group)
    }

    /// Watches until all have ended. Once `interrupted` is set, asks them to end after their batch.
    pub fn run(mut self, interrupted: &AtomicBool, show: &mut Show<'_>) -> Result<RunSummary> {
        let mut said_so = false;
        while self.running.iter().any(|r| r.ended.is_none()) {
            match self.said.recv_timeout(Duration::from_millis(50)) {
                Ok(said) => self.hear(said, show),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {}
            }
            if interrupted.load(Ordering::SeqCst) && self.asked.is_none() {
                self.ask();
            }
            let long = self.asked.is_some_and(|asked| asked.elapsed() > SILENCE);
            if long && self.failure.is_none() && !std::mem::replace(&mut said_so, true) {
                show(Notice::Finishing);
            }
            self.look(show)?;
        }
        self.hear_last_words(show);
        if let Some((failed, status)) = self.failure {
            let why = self.why(failed, status);
            self.tell_of_others(&why, show);
            let member = &self.running[failed].member;
            let log = member.log.display();
            return Err(format!("{}: {why} (its log: {log})", member.name).into());
        }
        let incomplete = |r: &Running| r.ended.is_some_and(|status| !status.success());
        self.told.interrupted = self.running.iter().any(incomplete);
        Ok(std::mem::take(&mut self.told))
    }

    /// What they said before they ended, which may still be on its way, on a busy machine for long.
    fn hear_last_words(&mut self, show: &mut Show<'_>) {
        let until = Instant::now() + LAST_WORDS;
        loop {
            let all = self.readers.iter().all(|reader| reader.is_finished());
            while let Ok(said) = self.said.try_recv() {
                self.hear(said, show);
            }
            if all || Instant::now() >= until {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn hear(&mut self, said: Said, show: &mut Show<'_>) {
        match said {
            (name, Line::Warning { message }) => show(Notice::Warning {
                agent: &name,
                message: &message,
            }),
            // The caller gets it when all have ended, once.
            (name, Line::Failed { message }) => self.reasons.push((name, message)),
            (_, line) => {
                self.told.hear(line);
                self.progress(show);
            }
        }
    }

    fn progress(&self, show: &mut Show<'_>) {
        if self.told.before.is_none() {
            return; // where they continue from is not known: no progress to be shown, and no speed
        }
        show(Notice::Progress {
            samples: self.told.samples(),
            total: self.told.total,
            cost: self.told.batches.values().last().and_then(|b| b.cost),
        });
    }

    /// Looks who has ended, and how.
    fn look(&mut self, show: &mut Show<'_>) -> Result<()> {
        let late = self.asked.is_some_and(|asked| asked.elapsed() > LEAVE);
        let mut failed = false;
        for (k, running) in self.running.iter_mut().enumerate() {
            if running.ended.is_some() {
                continue;
            }
            if late {
                let _ = running.child.kill();
            }
            let name = &running.member.name;
            let status = running.child.try_wait();
            let Some(status) = status.map_err(|e| format!("{name}: {}", refusal(&e)))? else {
                continue;
            };
            // Killed by somebody, or by a lack of memory: its checkpoint is there. But lines that it had read ahead of
            // standard input are not, and another reader would begin in the middle of one.
            let again = !running.member.reads && self.told.restarts < MOST_RESTARTS;
            if status.code().is_none() && self.asked.is_none() && again {
                self.told.restarts += 1;
                show(Notice::Restarted {
                    agent: name,
                    status,
                });
                running.child = spawn(self.program, &running.member, &self.say, &mut self.readers)?;
                continue;
            }
            running.ended = Some(status);
            if !status.success() && self.asked.is_none() {
                self.failure.get_or_insert((k, status));
                failed = true;
            }
        }
        // The others would wait for it for ever.
        if failed {
            self.ask();
        }
        Ok(())
    }

    /// Why this agent ended, in its own words if it had any.
    fn why(&self, k: usize, status: ExitStatus) -> String {
        let Member {
            name,
            config,
            reads,
            ..
        } = &self.running[k].member;
        if *reads && status.code().is_none() {
            return format!("it was killed ({status}): {}", left_to_feed(config));
        }
        let own = self.reasons.iter().rev().find(|(n, _)| n == name);
        own.map_or(format!("it ended with {status}"), |(_, why)| why.clone())
    }

    /// What other agents said at their end, where it is something else.
    fn tell_of_others(&self, said: &str, show: &mut Show<'_>) {
        let mut told = BTreeSet::from([said]);
        for (agent, message) in &self.reasons {
            if told.insert(message) {
                show(Notice::Warning { agent, message });
            }
        }
    }

    /// Asks all to end after their batch.
    fn ask(&mut self) {
        self.asked = Some(Instant::now());
        for running in self.running.iter_mut().filter(|r| r.ended.is_none()) {
            end_gently(&mut running.child);
        }
    }
}

impl Drop for Group {
    /// Whatever happens, nobody is left behind.
    fn drop(&mut self) {
        for running in self.running.iter_mut().filter(|r| r.ended.is_none()) {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

/// What is to be fed when the agent that reads standard input is started again.
pub fn left_to_feed(config: &Path) -> String {
    let taken = || sources::taken(&AgentConfig::load(config)?);
    match taken() {
        Ok(taken) => sources::to_go_on(taken.unwrap_or(0)),
        Err(e) => format!("how many samples it has of standard input is not known: {e}"),
    }
}

#[cfg(unix)]
fn end_gently(child: &mut Child) {
    use rustix::process::{kill_process, Pid, Signal};
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself just now.
        let _ = kill_process(pid, Signal::TERM);
    }
}

#[cfg(not(unix))]
fn end_gently(child: &mut Child) {
    let _ = child.kill();
}

/// Starts an agent's process, and threads that pass on what it says: they are added to `readers`.
fn spawn(
    program: Program,
    member: &Member,
    say: &Sender<Said>,
    readers: &mut Vec<JoinHandle<()>>,
) -> Result<Child> {
    let unstarted =
        |e: io::Error| format!("{}: it cannot be started: {}", member.name, refusal(&e));
    let mut child = program()
        .map_err(unstarted)?
        .args([
            "agent",
            "--events",
            // Agents share the machine.
            "--threads=1",
            "--parent",
            &std::process::id().to_string(),
        ])
        .args(["--accel", &member.accel])
        .arg(&member.config)
        .stdin(match member.reads {
            true => Stdio::inherit(),
            false => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(unstarted)?;
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&member.log)
        .map_err(|e| failed(&member.log, &e))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (say, name) = (say.clone(), member.name.clone());
    readers.retain(|reader| !reader.is_finished());
    readers.push(thread::spawn(move || {
        for line in lines(out) {
            if let Ok(line) = serde_json::from_str(&line) {
                let _ = say.send((name.clone(), line));
            }
        }
    }));
    readers.push(thread::spawn(move || {
        for line in lines(err) {
            let _ = writeln!(log, "{line}");
        }
    }));
    Ok(child)
}

/// The lines of a process's output until it ends.
fn lines(from: Option<impl Read>) -> impl Iterator<Item = String> {
    let lines = from
        .into_iter()
        .flat_map(|from| BufReader::new(from).lines());
    lines.map_while(|line| line.ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its reader was kept from running for a while, as a busy machine does.
    #[test]
    fn the_last_words_of_an_agent_are_heard_however_late() {
        let mut group = Group::start(Vec::new(), || Ok(Command::new("dictmesh"))).unwrap();
        let say = group.say.clone();
        group.readers.push(thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            let message = "the disk is full".into();
            say.send(("agent-0".into(), Line::Failed { message }))
                .unwrap();
        }));
        group.hear_last_words(&mut |_| {});
        assert_eq!(group.reasons.len(), 1);
    }
}
