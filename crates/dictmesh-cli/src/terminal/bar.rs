//! Progress.

use crate::demo::Progress;
use crate::picture::thousands;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, Once};
use std::time::Instant;

/// A progress bar on standard error with rate, cost and time left; nothing at all if that is not a
/// terminal.
pub struct Bar {
    bar: ProgressBar,
    /// When the phase was first heard of, and how far it was then.
    start: Arc<Mutex<(Instant, u64)>>,
    /// It is drawn from the first news on: every word and number is set one by one, and each would be drawn.
    drawn: Once,
    quiet: bool,
}

/// Of steps whose number is known.
const OF_ALL: &str = "{prefix} [{wide_bar}] {human_pos}/{human_len}{speed}{msg}";
/// Of samples that come until they end.
const COUNTED: &str = "{prefix}  {human_pos} samples{speed}{msg}";

impl Bar {
    /// A bar, or with `quiet` none.
    pub fn new(quiet: bool) -> Self {
        let bar = Bar {
            bar: ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden()),
            start: Arc::new(Mutex::new((Instant::now(), 0))),
            drawn: Once::new(),
            quiet: quiet || !std::io::stderr().is_terminal(),
        };
        bar.look(OF_ALL);
        bar
    }

    fn look(&self, template: &str) {
        let Ok(style) = ProgressStyle::with_template(template) else {
            return;
        };
        let since = Arc::clone(&self.start);
        let speed = move |state: &ProgressState, out: &mut dyn Write| {
            let Ok((when, from)) = since.lock().map(|start| *start) else {
                return;
            };
            let done = state.pos().saturating_sub(from);
            let left = state.len().map(|len| len.saturating_sub(state.pos()));
            let _ = write!(out, "{}", speed(done, left, when.elapsed().as_secs_f64()));
        };
        let style = style.with_key("speed", speed);
        self.bar.set_style(style.progress_chars("=> "));
    }

    /// Shows how far we are.
    pub fn show(&self, progress: Progress) {
        self.begin(progress.phase, progress.done);
        if self.bar.length().is_none() {
            self.look(OF_ALL);
        }
        self.bar.set_length(progress.total as u64);
        self.go_on(progress.done, progress.cost);
    }

    /// Shows how many samples are through, where nobody knows how many there will be.
    pub fn count(&self, phase: &'static str, samples: usize, cost: Option<f64>) {
        self.begin(phase, samples);
        if self.bar.length().is_some() {
            self.look(COUNTED);
            self.bar.unset_length();
        }
        self.go_on(samples, cost);
    }

    fn begin(&self, phase: &'static str, done: usize) {
        if self.bar.prefix() != phase || self.bar.position() > done as u64 {
            // What was done before this began says nothing about its speed.
            if let Ok(mut start) = self.start.lock() {
                *start = (Instant::now(), done as u64);
            }
        }
        self.bar.set_prefix(phase);
    }

    fn go_on(&self, done: usize, cost: Option<f64>) {
        self.bar.set_position(done as u64);
        let cost = cost.map_or(String::new(), |c| format!("  cost {c:.4}"));
        self.bar.set_message(cost);
        if !self.quiet {
            self.drawn.call_once(|| {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                self.bar.tick();
            });
        }
    }

    /// Says something above the bar, or where the bar would be.
    pub fn above(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The mean rate so far, and the time left at it if it is known how much is left; nothing as long as nothing was done.
/// Two digits do not flicker.
fn speed(done: u64, left: Option<u64>, seconds: f64) -> String {
    let rate = done as f64 / seconds;
    if done == 0 || !rate.is_finite() {
        return String::new();
    }
    let shown = match rate {
        r if r < 1.0 => format!("{}/min", (60.0 * r).round()),
        r => {
            let unit = 10_f64.powf(r.log10().floor() - 1.0).max(1.0);
            format!("{}/s", thousands(((r / unit).round() * unit) as u64))
        }
    };
    match left {
        Some(left) => format!("  {shown}  {} left", time_left((left as f64 / rate) as u64)),
        None => format!("  {shown}"),
    }
}

/// 75 seconds as 1:15.
fn time_left(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match hours {
        0 => format!("{minutes}:{:02}", seconds % 60),
        // Nothing is known yet.
        1000.. => "?".into(),
        _ => format!("{hours}:{minutes:02}:{:02}", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_told_when_it_is_known_and_does_not_flicker() {
        assert_eq!(speed(0, Some(100), 5.0), "");
        assert_eq!(speed(10, Some(100), 0.0), "");
        assert_eq!(speed(1234, Some(2468), 1.0), "  1,200/s  0:02 left");
        assert_eq!(speed(1239, Some(2468), 1.0), "  1,200/s  0:01 left");
        assert_eq!(speed(7, Some(70), 1.0), "  7/s  0:10 left");
        assert_eq!(speed(1, Some(2), 4.0), "  15/min  0:08 left");
        assert_eq!(speed(7, None, 1.0), "  7/s");
    }

    #[test]
    fn time_is_told_as_a_clock_does() {
        assert_eq!([0, 75, 3600].map(time_left), ["0:00", "1:15", "1:00:00"]);
        assert_eq!(time_left(u64::MAX), "?");
    }
}
