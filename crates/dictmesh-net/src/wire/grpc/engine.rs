//! Who drives the network: the agent's own thread while it waits, so that a round costs no change of threads; and a
//! keeper while the agent computes, so that links stay alive and strangers get their answer however long that takes.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

/// After so long an absence of the agent the keeper takes over.
const AWAY: Duration = Duration::from_millis(20);

/// A runtime that two threads drive in turns.
pub struct Engine {
    shared: Arc<Turns>,
    keeper: Option<JoinHandle<()>>,
}

/// What the keeper does first when it takes over.
type Before = Box<dyn Fn() + Send + Sync>;

struct Turns {
    runtime: Runtime,
    before: Before,
    /// The agent waits for the network, and drives it.
    agent: AtomicBool,
    /// When it last stopped to.
    left: Mutex<Instant>,
    /// The keeper drives it.
    kept: AtomicBool,
    /// Asks the keeper to stop.
    back: Notify,
    ends: AtomicBool,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    /// With what the keeper does first when it takes over.
    pub fn start(before: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let shared = Arc::new(Turns {
            runtime: Builder::new_current_thread().enable_all().build()?,
            before: Box::new(before),
            agent: AtomicBool::new(false),
            left: Mutex::new(Instant::now()),
            kept: AtomicBool::new(false),
            back: Notify::new(),
            ends: AtomicBool::new(false),
        });
        let turns = Arc::clone(&shared);
        let keeper = thread::Builder::new().name("network".into());
        Ok(Engine {
            keeper: Some(keeper.spawn(move || turns.keep())?),
            shared,
        })
    }

    /// Begins a task, which goes on for as long as somebody drives.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.shared.runtime.spawn(task);
    }

    /// Whether the keeper drives, or is about to.
    pub fn is_kept(&self) -> bool {
        self.shared.kept.load(Ordering::SeqCst)
    }

    /// Drives until this is done.
    pub fn drive<T>(&self, until: impl Future<Output = T>) -> T {
        let turns = &self.shared;
        turns.agent.store(true, Ordering::SeqCst);
        if turns.kept.load(Ordering::SeqCst) {
            turns.back.notify_one();
        }
        let done = turns.runtime.block_on(until);
        *turns.left() = Instant::now();
        turns.agent.store(false, Ordering::SeqCst);
        done
    }
}

impl Turns {
    fn left(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.left.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The keeper's life.
    fn keep(&self) {
        while !self.ends.load(Ordering::SeqCst) {
            let away = self.left().elapsed();
            if away < AWAY || self.agent.load(Ordering::SeqCst) {
                thread::park_timeout(AWAY.saturating_sub(away).max(AWAY / 4));
                continue;
            }
            self.kept.store(true, Ordering::SeqCst);
            // The agent looks at `kept` after it has set `agent`, and we the other way round: one sees the other.
            if !self.agent.load(Ordering::SeqCst) {
                self.runtime.block_on(async {
                    (self.before)();
                    self.back.notified().await;
                });
            }
            self.kept.store(false, Ordering::SeqCst);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        self.shared.back.notify_one();
        if let Some(keeper) = self.keeper.take() {
            keeper.thread().unpark();
            let _ = keeper.join();
        }
    }
}
