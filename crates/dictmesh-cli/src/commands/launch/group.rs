//! The processes of a mesh: started together, watched, and ended together.

use super::super::agent::source;
use super::super::mesh::run_state::learned_all;
use super::super::{refusal, say, Ended, Result};
use super::run_summary::{Line, RunSummary};
use crate::interrupt;
use crate::progress::Bar;
use crate::progress::Progress;
use dictmesh_net::config::{AgentConfig, MeshConfig};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
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
    /// Starts all, or none.
    pub fn start(members: Vec<Member>) -> Result<Self> {
        let (say, said) = channel();
        let mut group = Group {
            told: RunSummary::new(),
            running: Vec::new(),
            said,
            say,
            readers: Vec::new(),
            asked: None,
            failure: None,
            reasons: Vec::new(),
        };
        for member in members {
            let child = spawn(&member, &group.say, &mut group.readers)?;
            group.running.push(Running {
                member,
                child,
                ended: None,
            });
        }
        Ok(group)
    }

    /// Watches until all have ended.
    pub fn run(mut self, quiet: bool) -> Result<RunSummary> {
        let interrupted = interrupt::gently();
        let (bar, mut said_so) = (Bar::new(quiet), false);
        while self.running.iter().any(|r| r.ended.is_none()) {
            match self.said.recv_timeout(Duration::from_millis(50)) {
                Ok(said) => self.hear(said, &bar, quiet),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {}
            }
            if interrupted.load(Ordering::SeqCst) && self.asked.is_none() {
                self.ask();
            }
            let long = self.asked.is_some_and(|asked| asked.elapsed() > SILENCE);
            if long && !quiet && self.failure.is_none() && !std::mem::replace(&mut said_so, true) {
                bar.above(
                    "the batch under way is finished first; asked once more, it ends at once",
                );
            }
            self.look(&bar)?;
        }
        self.hear_last_words(&bar, quiet);
        if let Some((failed, status)) = self.failure {
            let why = self.why(failed, status);
            self.tell_of_others(&why, &bar, quiet);
            bar.clear();
            let member = &self.running[failed].member;
            let log = member.log.display();
            return Err(format!("{}: {why} (its log: {log})", member.name).into());
        }
        bar.clear();
        let incomplete = |r: &Running| r.ended.is_some_and(|status| !status.success());
        if self.running.iter().any(incomplete) {
            self.told.ended = Ended::Interrupted;
        }
        Ok(std::mem::replace(&mut self.told, RunSummary::new()))
    }

    /// What they said before they ended, which may still be on its way, on a busy machine for long.
    fn hear_last_words(&mut self, bar: &Bar, quiet: bool) {
        let until = Instant::now() + LAST_WORDS;
        loop {
            let all = self.readers.iter().all(|reader| reader.is_finished());
            while let Ok(said) = self.said.try_recv() {
                self.hear(said, bar, quiet);
            }
            if all || Instant::now() >= until {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn hear(&mut self, said: Said, bar: &Bar, quiet: bool) {
        match said {
            (name, Line::Warning { message }) if !quiet => {
                bar.above(&format!("{name}: {message}"));
            }
            // It is printed when all have ended, once.
            (name, Line::Failed { message }) => self.reasons.push((name, message)),
            (_, line) => {
                self.told.hear(line);
                self.show(bar);
            }
        }
    }

    fn show(&self, bar: &Bar) {
        if self.told.before.is_none() {
            return; // where they continue from is not known: no progress to be shown, and no speed
        }
        let (phase, done) = ("learning", self.told.samples() as usize);
        let cost = self.told.batches.values().last().and_then(|b| b.cost);
        match self.told.total.map(|total| total as usize) {
            Some(total) => bar.show(Progress {
                phase,
                done,
                total,
                cost,
            }),
            None => bar.count(phase, done, cost),
        }
    }

    /// Looks who has ended, and how.
    fn look(&mut self, bar: &Bar) -> Result<()> {
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
                bar.above(&format!(
                    "{name}: it was killed ({status}) and is started again"
                ));
                running.child = spawn(&running.member, &self.say, &mut self.readers)?;
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
    fn tell_of_others(&self, said: &str, bar: &Bar, quiet: bool) {
        let mut told = BTreeSet::from([said]);
        let others = self.reasons.iter().filter(|_| !quiet);
        for (name, why) in others {
            if told.insert(why) {
                bar.above(&format!("{name}: {why}"));
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
    let taken = AgentConfig::load(config).map_err(say);
    match taken.and_then(|config| source::taken(&config)) {
        Ok(taken) => source::to_go_on(taken.unwrap_or(0)),
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
fn spawn(member: &Member, say: &Sender<Said>, readers: &mut Vec<JoinHandle<()>>) -> Result<Child> {
    let failed =
        |e: std::io::Error| format!("{}: it cannot be started: {}", member.name, refusal(&e));
    let mut child = crate::this_program()
        .map_err(failed)?
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
        .map_err(failed)?;
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&member.log)
        .map_err(|e| format!("{}: {}", member.log.display(), refusal(&e)))?;
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
        let mut group = Group::start(Vec::new()).unwrap();
        let say = group.say.clone();
        group.readers.push(thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            let message = "the disk is full".into();
            say.send(("agent-0".into(), Line::Failed { message }))
                .unwrap();
        }));
        group.hear_last_words(&Bar::new(true), true);
        assert_eq!(group.reasons.len(), 1);
    }
}
