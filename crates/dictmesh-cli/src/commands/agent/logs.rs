//! What an agent says of itself: a line for each event on standard error, as text or as JSON.

use super::super::Result;
use clap::ValueEnum;
use serde_json::json;
use std::fmt::{Debug, Write};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::Context;
use tracing_subscriber::prelude::*;
use tracing_subscriber::Layer;

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Look {
    /// Text
    Text,
    /// JSON, one object a line
    Json,
}

/// Warnings and errors as lines of JSON on standard output, beside the other events of `--events`.
struct Warnings;

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        let line = json!({"event": "warning", "message": message.0});
        // A launcher that has ended reads nothing.
        let _ = super::super::print(&format!("{line}\n"));
    }
}

/// The message of an event with its fields.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

/// Writes log lines of dictmesh's crates, and those of others about errors, to standard error. With `events`,
/// warnings are printed as events, too.
pub fn start(look: Look, quiet: bool, verbose: u8, events: bool) -> Result<()> {
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (_, 0) => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let ours = Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("dictmesh", level)
        .with_target("dictmesh_net", level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    let warnings = Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("dictmesh", LevelFilter::WARN);
    let warnings = events.then(|| Warnings.with_filter(warnings));
    let all = tracing_subscriber::registry().with(warnings);
    match look {
        Look::Text => all.with(lines.with_filter(ours)).try_init(),
        Look::Json => all.with(lines.json().with_filter(ours)).try_init(),
    }
    .map_err(|e| format!("no log: {e}").into())
}
