//! Progress of a command on standard error: a bar in a terminal, a line every half minute elsewhere.

use dictmesh_report::numbers::thousands;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use dictmesh_apps::Progress;

/// The progress of a command: steps, rate, time left and running mean of the cost.
pub struct Bar {
    bar: ProgressBar,
    output: Output,
    state: Mutex<State>,
    pace: Arc<Mutex<Pace>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Quiet,
    Terminal,
    Lines,
}

/// Where a phase began. Its steps may take minutes, over which a rate that forgets would fall to nothing.
#[derive(Clone, Copy)]
struct Pace {
    began: Instant,
    first: u64,
}

impl Pace {
    /// The mean rate of the phase, and the time left.
    fn speed(&self, done: u64, total: Option<u64>) -> String {
        let steps = done.saturating_sub(self.first) as f64;
        let per_second = steps / self.began.elapsed().as_secs_f64();
        let left = total.map(|total| total.saturating_sub(done) as f64 / per_second);
        let left = left.map(|left| Duration::try_from_secs_f64(left).unwrap_or_default());
        speed(per_second, left)
    }
}

struct State {
    cost: RunningMean,
    last_line: Instant,
}

/// Without a terminal, the time between two lines, and before the first one.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// Of steps with a known number.
const OF_TOTAL: &str = "{prefix} [{wide_bar}] {human_pos}/{human_len}{speed}{msg}";
/// Of samples from a stream.
const OF_STREAM: &str = "{prefix}  {human_pos} samples{speed}{msg}";

impl Bar {
    /// A bar, or with `quiet` no output at all.
    pub fn new(quiet: bool) -> Self {
        Self::with_output(match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Output::Quiet,
            (false, true) => Output::Terminal,
            (false, false) => Output::Lines,
        })
    }

    fn with_output(output: Output) -> Self {
        let bar = Bar {
            // The first step shows it: before, each setting would be drawn.
            bar: ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden()),
            output,
            state: Mutex::new(State {
                cost: RunningMean::default(),
                last_line: Instant::now(),
            }),
            pace: Arc::new(Mutex::new(Pace {
                began: Instant::now(),
                first: 0,
            })),
        };
        bar.set_template(OF_TOTAL);
        bar
    }

    fn set_template(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            let pace = Arc::clone(&self.pace);
            let key = move |state: &ProgressState, out: &mut dyn Write| {
                let pace = *locked(&pace);
                let _ = write!(out, "{}", pace.speed(state.pos(), state.len()));
            };
            let style = style.with_key("speed", key);
            self.bar.set_style(style.progress_chars("=> "));
        }
    }

    /// Shows a phase with a known number of steps.
    pub fn show(&self, progress: Progress) {
        if self.bar.length().is_none() {
            self.set_template(OF_TOTAL);
        }
        self.bar.set_length(progress.total as u64);
        self.update(progress.phase, progress.done, progress.cost);
    }

    /// Shows the number of samples so far of a stream.
    pub fn count(&self, phase: &'static str, samples: usize, cost: Option<f64>) {
        if self.bar.length().is_some() {
            self.set_template(OF_STREAM);
            self.bar.unset_length();
        }
        self.update(phase, samples, cost);
    }

    fn update(&self, phase: &'static str, done: usize, cost: Option<f64>) {
        if self.output == Output::Quiet {
            return;
        }
        let (done, mut state) = (done as u64, self.state());
        let before = self.bar.position();
        self.bar.set_position(done);
        if self.bar.prefix() != phase || before > done {
            // Steps done before the phase begins, as on a resume, have no rate.
            self.bar.set_prefix(phase);
            *locked(&self.pace) = Pace {
                began: Instant::now(),
                first: done,
            };
            state.cost = RunningMean::default();
        }
        if let Some(cost) = cost {
            state.cost.add(cost, done.saturating_sub(before).max(1));
        }
        let mean = state.cost.mean();
        let cost = mean.map_or(String::new(), |mean| format!("  mean cost {mean:.4}"));
        self.bar.set_message(cost);
        match self.output {
            Output::Terminal if self.bar.is_hidden() => {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                self.bar.tick();
            }
            Output::Lines if state.last_line.elapsed() >= LINE_EVERY => {
                state.last_line = Instant::now();
                eprintln!("{}", self.line());
            }
            _ => {}
        }
    }

    /// The state as one line of text.
    fn line(&self) -> String {
        let (phase, done) = (self.bar.prefix(), thousands(self.bar.position()));
        let total = self.bar.length();
        let of = match total {
            Some(total) => format!("/{}", thousands(total)),
            None => " samples".into(),
        };
        let speed = locked(&self.pace).speed(self.bar.position(), total);
        let cost = self.bar.message();
        format!("{phase} {done}{of}{speed}{cost}")
    }

    /// Prints a line above the bar.
    pub fn above(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// Removes the bar; a later step shows it again.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.bar.set_prefix("");
        self.bar.reset();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mean over samples that forgets: the weight of a batch falls by 5 % with each batch after it.
#[derive(Clone, Copy, Debug, Default)]
struct RunningMean {
    sum: f64,
    weight: f64,
}

impl RunningMean {
    fn add(&mut self, cost: f64, samples: u64) {
        if cost.is_finite() {
            self.sum = 0.95 * self.sum + cost * samples as f64;
            self.weight = 0.95 * self.weight + samples as f64;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// The rate with two digits, and the time left where the number of steps is known; empty without a rate.
fn speed(per_second: f64, left: Option<Duration>) -> String {
    if per_second <= 0.0 || !per_second.is_finite() {
        return String::new();
    }
    let rate = match per_second {
        r if r < 1.0 / 60.0 => format!("{:.0}/h", 3600.0 * r),
        r if r < 1.0 => format!("{:.0}/min", 60.0 * r),
        r => {
            let unit = 10_f64.powf(r.log10().floor() - 1.0).max(1.0);
            format!("{}/s", thousands(((r / unit).round() * unit) as u64))
        }
    };
    match left {
        Some(left) => format!("  {rate}  {:#} left", HumanDuration(left)),
        None => format!("  {rate}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_two_digits_and_the_time_left() {
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(speed(0.0, seconds(5)), "");
        assert_eq!(speed(f64::INFINITY, seconds(5)), "");
        assert_eq!(speed(1234.0, seconds(2)), "  1,200/s  2s left");
        assert_eq!(speed(7.0, seconds(600)), "  7/s  10m left");
        assert_eq!(speed(0.25, seconds(8)), "  15/min  8s left");
        assert_eq!(speed(0.005, seconds(600)), "  18/h  10m left");
        assert_eq!(speed(7.0, None), "  7/s");
    }

    /// Seven attacks of eight in 210 s had "0/min  14h left".
    #[test]
    fn steps_of_minutes_have_their_mean_rate() {
        let pace = Pace {
            began: Instant::now() - Duration::from_secs(210),
            first: 1,
        };
        assert_eq!(pace.speed(8, Some(28)), "  2/min  10m left");
        assert_eq!(pace.speed(1, Some(28)), "");
    }

    #[test]
    fn lines_have_the_phase_the_steps_and_the_running_mean() {
        let bar = Bar::with_output(Output::Lines);
        for (done, cost) in [(1000, 3.0), (2000, 3.0), (2010, 90.0)] {
            bar.show(Progress {
                phase: "learning",
                done,
                total: 4000,
                cost: Some(cost),
            });
        }
        let line = bar.line();
        assert!(line.starts_with("learning 2,010/4,000"), "{line}");
        // The last batch has 10 samples of 2,010.
        assert!(line.contains("  mean cost 3.4"), "{line}");
        bar.show(Progress {
            phase: "scoring",
            done: 10,
            total: 20,
            cost: None,
        });
        assert!(bar.line().starts_with("scoring 10/20") && !bar.line().contains("cost"));
        bar.count("stream", 70, None);
        assert!(bar.line().starts_with("stream 70 samples"));
    }
}
