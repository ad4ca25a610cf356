//! The options of every command: threads, messages, colour and the file of settings.

use clap::{ArgAction, ColorChoice};
use std::path::PathBuf;
use std::sync::OnceLock;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// The options of every command.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "General")]
pub struct GlobalArgs {
    /// The number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", global = true, hide_short_help = true)]
    pub threads: Option<usize>,
    /// Print nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print decisions and times on standard error; -vv prints more
    #[arg(short, long, global = true, action = ArgAction::Count, hide_short_help = true)]
    pub verbose: u8,
    /// When to print colours; NO_COLOR turns them off, too
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_short_help = true
    )]
    pub color: ColorChoice,
    /// Read flags from this TOML file; flags on the command line win
    ///
    /// Its keys are the names of flags without their dashes: gamma = 0.1. Keys of one command may stand
    /// under its name: [tune].
    #[arg(long, value_name = "TOML", global = true)]
    pub config: Option<PathBuf>,
}

static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// When to print colours.
pub fn color() -> ColorChoice {
    COLOR.get().copied().unwrap_or(ColorChoice::Auto)
}

impl GlobalArgs {
    /// Sets up colours and messages; an agent has a log of its own.
    pub fn apply(&self, has_log: bool) {
        let _ = COLOR.set(self.color);
        match self.color {
            ColorChoice::Never => console::set_colors_enabled_stderr(false),
            ColorChoice::Always => console::set_colors_enabled_stderr(true),
            ColorChoice::Auto => {}
        }
        if has_log {
            return;
        }
        let level = match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (_, 0) => LevelFilter::WARN,
            (_, 1) => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        };
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .without_time()
            .with_target(false)
            .with_ansi(false);
        let ours = Targets::new().with_target("dictmesh", level);
        // It fails only if there is a subscriber, and this is the first.
        let _ = tracing_subscriber::registry()
            .with(lines.with_filter(ours))
            .try_init();
    }
}
