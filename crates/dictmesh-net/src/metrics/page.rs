//! The text that Prometheus reads.

use super::{Metrics, BINS};
use crate::grpc::Traffic;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

impl Metrics {
    /// All numbers as they are now.
    pub fn page(&self) -> String {
        let mut page = String::new();
        let agent = format!("agent=\"{}\"", self.agent);
        let (rounds, seconds) = self.rounds();
        head(&mut page, "rounds_total", "counter", "Rounds of inference.");
        line(&mut page, "rounds_total", &agent, rounds as f64);
        head(
            &mut page,
            "round_seconds",
            "histogram",
            "The time of a round.",
        );
        let mut sum = 0;
        for (end, count) in BINS.iter().zip(&self.bins) {
            sum += count.load(Ordering::Relaxed);
            let labels = format!("{agent},le=\"{end}\"");
            line(&mut page, "round_seconds_bucket", &labels, sum as f64);
        }
        let labels = format!("{agent},le=\"+Inf\"");
        line(&mut page, "round_seconds_bucket", &labels, rounds as f64);
        line(&mut page, "round_seconds_sum", &agent, seconds);
        line(&mut page, "round_seconds_count", &agent, rounds as f64);
        self.edges(&mut page, &agent);
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed) as f64;
        let number = |n: &AtomicU64| f64::from_bits(n.load(Ordering::Relaxed));
        for (name, kind, help, value) in [
            (
                "bytes_written_total",
                "counter",
                "Bytes written to sockets: frames, hand-shakes, HTTP/2 and TLS.",
                count(&self.written),
            ),
            (
                "samples_total",
                "counter",
                "Samples learned.",
                count(&self.samples),
            ),
            (
                "epoch",
                "gauge",
                "Number of the agreement on the members; it rises when an agent joins, leaves or restarts.",
                count(&self.epoch),
            ),
            (
                "cost",
                "gauge",
                "Mean cost of a sample of the last batch.",
                number(&self.cost),
            ),
            (
                "disagreement",
                "gauge",
                "Largest residual of any agent at the end of the last batch: relative change of its dual vectors in a round, or distance from its neighbours'; NaN without a tolerance.",
                number(&self.disagreement),
            ),
        ] {
            head(&mut page, name, kind, help);
            line(&mut page, name, &agent, value);
        }
        page
    }

    fn edges(&self, page: &mut String, agent: &str) {
        type Of = fn(&Traffic) -> u64;
        let families: [(&str, &str, Of); 4] = [
            (
                "bytes_sent_total",
                "Bytes of frames given to the link.",
                |t| t.sent.load(Ordering::Relaxed),
            ),
            ("bytes_received_total", "Bytes of frames that came.", |t| {
                t.received.load(Ordering::Relaxed)
            }),
            (
                "frames_dropped_total",
                "Frames not sent as too many were under way; they are sent again.",
                |t| t.dropped.load(Ordering::Relaxed),
            ),
            (
                "reconnects_total",
                "Hand-shakes with a neighbour after the first.",
                |t| t.links.load(Ordering::Relaxed).saturating_sub(1),
            ),
        ];
        for (name, help, of) in families {
            head(page, name, "counter", help);
            for (neighbour, traffic) in &self.traffic {
                let labels = format!("{agent},neighbour=\"{neighbour}\"");
                line(page, name, &labels, of(traffic) as f64);
            }
        }
    }
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "# HELP dictmesh_{name} {help}");
    let _ = writeln!(page, "# TYPE dictmesh_{name} {kind}");
}

fn line(page: &mut String, name: &str, labels: &str, value: f64) {
    let _ = writeln!(page, "dictmesh_{name}{{{labels}}} {value}");
}
