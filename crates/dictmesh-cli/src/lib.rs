//! The program `dictmesh` as a function, [`main_with`]: `src/bin/dictmesh.rs` calls it, and so does the
//! Python package.

#![allow(clippy::print_stdout, clippy::print_stderr)] // Printing is what it is for.

mod commands;
mod config;
mod globals;
mod help;
mod interrupt;
mod limits;
mod memory;
mod options;
mod progress;
mod render;

use clap::error::ContextKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::{Code, Ended, Failure};
use globals::GlobalArgs;
use render::json::line;
use std::ffi::OsString;
use std::sync::OnceLock;
use std::time::Instant;

/// Dictionary learning over a mesh of agents.
///
/// Each agent holds its own atoms; neighbours exchange only dual vectors or masked sums.
#[derive(Parser)]
#[command(name = "dictmesh", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failure: a file, its data, a number out of range, a full disk; the message says which
  2    the command line is wrong: an unknown command, flag or name, or one that is missing
  130  ended by Ctrl-C or SIGTERM; learn and an agent first save a checkpoint";

#[derive(Subcommand)]
enum Command {
    /// Learn a planted dictionary at 16 agents, in less than half a minute
    ///
    /// 16 agents on a random graph learn 48 small pictures from a stream of samples that mix a few
    /// of them. The results are the learned atoms beside the planted ones, the cost before and
    /// after, and the rounds and bytes of each strategy, as text and as a picture. It needs no
    /// data, no network and no settings.
    Demo(commands::demo::Args),
    /// Write small generated data to try every command on
    Examples(commands::examples::Args),
    /// Learn a dictionary from numbers, counts, raw text or pictures
    ///
    /// Minimises the mean over samples x of  f(x - W y) + h(y)  over atoms W in their set, where y is the
    /// best code of x. For numbers and pictures (the task sparse-svd) that is
    /// 1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2  with  |w_q| <= 1;
    /// for text and counts (the task nmf) the same with  y >= 0  and  w_q >= 0.
    Learn(Box<commands::learn::Args>),
    /// Code samples with a model: sparse codes, their cost and a certified gap
    Infer(Box<commands::infer::Args>),
    /// Score how novel each sample is to a model: higher is more novel
    Score(Box<commands::score::Args>),
    /// Find biclusters: rows of a table that vary together over some of its columns
    ///
    /// The table X (such as patients x genes) is decomposed into sparse layers, X = sum_k w_k y_k'. A sample
    /// is one COLUMN of the table, one gene over all patients. Minimises, over |w_k|_2 <= 1,
    /// mean over columns x of  [min over y of  1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2]  + beta |W|_1.
    /// Row m is in layer k if it has at least an even share of it, w_mk^2 >= |w_k|^2 / rows, column t if entry t
    /// of y_k is not 0; rows.csv and columns.csv have every entry.
    Bicluster(Box<commands::bicluster::Args>),
    /// Remove noise from a picture by a dictionary of its own patches
    ///
    /// Overlapping patches without their means are coded by  1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2
    /// with gamma = 2.5 sigma (2 sigma while learning); the code's picture W y of a patch is scaled to fit it
    /// best, and each pixel becomes the mean of the restored patches over it. A colour picture is split into
    /// luminance and two opponent colours; each of these planes gets its own dictionary.
    Denoise(commands::denoise::Args),
    /// Find what is new in a stream of documents, block by block
    ///
    /// The first block is learned. Each block after it is scored by what was learned so far, then agents
    /// join, and the mesh learns the block. The score of a document x (a TF-IDF vector of norm 1) is
    /// min over y >= 0 of  1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2,
    /// and atoms have w >= 0, |w| <= 1; with --paper, the Huber loss in place of the square. With labels, a
    /// document is truly novel if no block before has its label: ROC curves and AUC follow.
    Novelty(Box<commands::novelty::Args>),
    /// Choose gamma, the number of atoms, the strategy and its step for your data
    ///
    /// First, gamma and the number of atoms: dictionaries W are learned by minimising the mean over samples of
    ///
    ///   min over y of  f(x - W y) + h(y),   by default  1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2,
    ///
    /// and judged by  sum (x - W y)^2 / sum x^2  over entries of held-out samples that were hidden when their
    /// atoms were chosen. Then the paper's learning curve: every strategy, round by round, against the exact
    /// solution of a few samples, by  |nu|^2 / |nu_k - nu|^2  of the worst agent k and  |y|^2 / |y_i - y|^2,
    /// in dB. --rounds limits each run; the default is 2000.
    #[command(verbatim_doc_comment)]
    Tune(Box<commands::tune::Args>),
    /// Measure what curious neighbours recover of private atoms and samples from the messages they receive
    ///
    /// A run of each strategy is recorded. One neighbour of each agent follows the protocol, keeps all messages it
    /// receives, and computes W_k y_k from them; from that, the directions of the agent's atoms w_q, and x. The
    /// results are the cosines with the true atoms and samples (1 is recovered), with and without knowledge of x,
    /// and the rounds that the strategy needs.
    Audit(Box<commands::audit::Args>),
    /// Reproduce an experiment of the paper: our figures beside the paper's
    Reproduce(commands::reproduce::Args),
    /// Run one agent of a mesh; the others run elsewhere
    ///
    /// The agent stores its atoms, talks only to the neighbours in its settings file, and writes a
    /// checkpoint after every batch. After a restart, also after kill -9, it continues where the
    /// others are. SIGTERM and Ctrl-C finish the current batch first.
    Agent(commands::agent::Args),
    /// Start a whole mesh on this machine: one process for each agent
    Launch(commands::launch::Args),
    /// Join the blocks that agents or ranks wrote into one model
    Join(commands::join::Args),
    /// Write the settings and certificates of a mesh; let agents join and leave
    Mesh(commands::mesh::Args),
    /// Show what a model file contains
    Inspect(commands::inspect::Args),
    /// Print the JSON Schema of what a command prints with --json
    Schema(commands::schema::Args),
    /// Write a manual page of each command: man -l DIR/dictmesh-learn.1
    Man(commands::man::Args),
    /// Print the completions of commands, flags and names for a shell
    ///
    /// For bash:  dictmesh completions bash > ~/.local/share/bash-completion/completions/dictmesh
    Completions(CompletionsArgs),
}

#[derive(Args)]
struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// The command line as clap has to know it: a negative number is a wrong value, not an unknown flag. If
/// `short`, its help is that of `-h`.
fn command(short: bool) -> clap::Command {
    fn bear(command: clap::Command) -> clap::Command {
        let bear_numbers = |arg: clap::Arg| match arg.get_action().takes_values() {
            true if arg.get_long().is_some() => arg.allow_negative_numbers(true),
            _ => arg,
        };
        command.mut_args(bear_numbers).mut_subcommands(bear)
    }
    help::complete(bear(Cli::command()), short)
}

/// What to give in place of a value that is no number.
fn advice(error: &clap::Error) -> Option<&'static str> {
    use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
    let source = std::error::Error::source(error)?;
    if source.is::<ParseFloatError>() {
        return Some("give a number, such as 0.1 or 1e-4");
    }
    Some(match source.downcast_ref::<ParseIntError>()?.kind() {
        IntErrorKind::PosOverflow => "give a smaller number",
        IntErrorKind::Empty => "give a number",
        _ => "give a whole number, not negative, such as 16",
    })
}

/// The flag that an error of clap is about, and what is wrong with its value.
fn about_flag(error: &clap::Error) -> Option<(String, String, String)> {
    let text = |kind| error.get(kind).map(ToString::to_string);
    let flag = text(ContextKind::InvalidArg)?;
    let flag = flag.split(' ').next().unwrap_or_default().to_string();
    let value = text(ContextKind::InvalidValue)?;
    let why = advice(error).map(str::to_string);
    let why = why.or_else(|| std::error::Error::source(error).map(ToString::to_string));
    Some((flag, value, why?))
}

/// Runs the program with these arguments, the first of which is its name, and returns its exit code.
///
/// Installs handlers of signals and starts rayon's global pool: call it once in a process that does
/// nothing else. Ctrl-C may end the process without a return.
pub fn main_with(args: impl IntoIterator<Item = OsString>) -> u8 {
    interrupt::watch();
    limits::outlive_file_size();
    let words: Vec<OsString> = args.into_iter().collect();
    // Errors are JSON, too, if the result is.
    let mut flags = words.iter().take_while(|word| *word != "--");
    let as_json = flags.any(|word| word == "--json");
    match start(words, as_json) {
        Ok(Ended::Complete) => 0,
        Ok(Ended::Interrupted) => interrupt::INTERRUPTED,
        Ok(Ended::Failed) => FAILURE,
        Err(failure) => {
            match (as_json, failure.code) {
                (true, _) => eprintln!("{}", line(&failure)),
                (false, Code::Usage) => eprintln!("{failure}"),
                (false, _) => eprintln!("dictmesh: {failure}"),
            }
            match failure.code {
                Code::Usage => WRONG_USAGE,
                _ => FAILURE,
            }
        }
    }
}

/// The exit code of a failure.
const FAILURE: u8 = 1;
/// The exit code of a wrong command line.
const WRONG_USAGE: u8 = 2;

/// The command that starts this program again, where it is not the executable of this process.
static RELAUNCH: OnceLock<Vec<OsString>> = OnceLock::new();

/// As [`main_with`], in a process that another executable started: `relaunch`, a program and its first
/// arguments, starts this program again. `dictmesh launch` starts its agents by it.
pub fn main_in(args: impl IntoIterator<Item = OsString>, relaunch: Vec<OsString>) -> u8 {
    // Only the first call sets it.
    let _ = RELAUNCH.set(relaunch);
    main_with(args)
}

/// A command that starts this program.
fn this_program() -> std::io::Result<std::process::Command> {
    match RELAUNCH.get().and_then(|words| words.split_first()) {
        Some((program, first)) => {
            let mut command = std::process::Command::new(program);
            command.args(first);
            Ok(command)
        }
        None => std::env::current_exe().map(std::process::Command::new),
    }
}

fn start(words: Vec<OsString>, as_json: bool) -> commands::Result<Ended> {
    let mut command = command(words.iter().any(|word| word == "-h"));
    command.build();
    let added = config::expand(&command, words)?;
    let parsed = command.try_get_matches_from_mut(&added.words);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(e) if !e.use_stderr() => {
            // A closed pipe leaves no place to report to.
            let _ = e.print();
            return Ok(Ended::Complete);
        }
        Err(e) => return Err(refused(&e, &added, &command, as_json)),
    };
    let is_agent = matches!(cli.command, Command::Agent(_));
    cli.globals.apply(is_agent);
    limits::start_threads(cli.globals.threads)?;
    tracing::info!("threads: {}", rayon::current_num_threads());
    let begun = Instant::now();
    let done = perform(cli.command);
    // The last line of an agent's log is about its end.
    if !is_agent {
        tracing::info!("took {:.3} s", begun.elapsed().as_secs_f64());
    }
    done
}

/// Why the command line is wrong.
fn refused(
    e: &clap::Error,
    added: &config::Added,
    command: &clap::Command,
    as_json: bool,
) -> Failure {
    let about = about_flag(e);
    let shown = e.to_string();
    let shown = shown.strip_prefix("error: ").unwrap_or(&shown);
    // Messages of our own parsers begin with the flag.
    let own = shown.lines().next().unwrap_or_default();
    let (flag, why) = match &about {
        Some((flag, _, why)) => (flag.as_str(), why.as_str()),
        None => (own.split([' ', ':']).next().unwrap_or_default(), own),
    };
    if let Some(failure) = added.in_file(flag, why) {
        return failure;
    }
    let text = match about {
        // Our own messages name the flag and the value.
        Some((_, _, why)) if why.starts_with("--") => why,
        Some((flag, value, _)) if advice(e).is_some() => {
            format!("{flag} {value}: {}", advice(e).unwrap_or_default())
        }
        _ if as_json => {
            let message = shown.split("\n\nUsage:").next().unwrap_or(shown);
            message.trim().to_string()
        }
        _ => return Failure::new(Code::Usage, e.to_string().trim_end()),
    };
    match as_json {
        true => Failure::new(Code::Usage, text),
        false => {
            let error = clap::Error::raw(e.kind(), text + "\n").with_cmd(command);
            Failure::new(Code::Usage, error.to_string().trim_end())
        }
    }
}

fn perform(command: Command) -> commands::Result<Ended> {
    match command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Examples(args) => commands::examples::run(args),
        Command::Learn(args) => return commands::learn::run(*args),
        Command::Agent(args) => return commands::agent::run(args),
        Command::Launch(args) => return commands::launch::run(&args),
        Command::Join(args) => commands::join::run(&args),
        Command::Mesh(args) => commands::mesh::run(args),
        Command::Infer(args) => return commands::infer::run(*args),
        Command::Score(args) => return commands::score::run(*args),
        Command::Bicluster(args) => commands::bicluster::run(*args),
        Command::Denoise(args) => commands::denoise::run(args),
        Command::Novelty(args) => return commands::novelty::run(*args),
        Command::Tune(args) => commands::tune::run(*args),
        Command::Audit(args) => commands::audit::run(*args),
        Command::Reproduce(args) => commands::reproduce::run(args),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Man(args) => commands::man::run(&args, self::command(false)),
        Command::Completions(args) => completions(args.shell),
    }
    .map(|()| Ended::Complete)
}

fn completions(shell: clap_complete::Shell) -> commands::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(false), "dictmesh", &mut script);
    commands::print(&String::from_utf8_lossy(&script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        command(false).debug_assert();
        command(true).debug_assert();
    }
}
