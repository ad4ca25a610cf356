//! What holds for the whole program: exit codes, the nearest name, completions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

fn dictmesh(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dictmesh"));
    command.current_dir(dir);
    command
}

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = dictmesh(&std::env::temp_dir()).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn exit_codes_are_documented_and_kept() {
    let (code, help, _) = run(&["--help"]);
    assert_eq!(code, Some(0));
    let codes = help.split("Exit codes:").nth(1).expect("a list of codes");
    for code in ["0 ", "1 ", "2 ", "130 "] {
        let listed = codes.lines().any(|line| line.trim().starts_with(code));
        assert!(listed, "{code}: {codes}");
    }
    assert_eq!(run(&["inspect", "not-there.st"]).0, Some(1));
    let wrong: [(&[&str], &str); 9] = [
        (&["lern"], "'learn'"),
        (
            &["learn", "x.csv", "-o", "m", "--strateg", "a"],
            "'--strategy'",
        ),
        (
            &["learn", "x.csv", "-o", "m", "--strategy", "difusion"],
            "did you mean diffusion?",
        ),
        (
            &["learn", "x.csv", "-o", "m", "--task", "nfm"],
            "did you mean nmf?",
        ),
        (
            &["learn", "x.csv", "-o", "m", "--residual", "hubber"],
            "did you mean huber?",
        ),
        (
            &["learn", "x.csv", "-o", "m", "--topology", "rng"],
            "did you mean ring?",
        ),
        (
            &["learn", "x.csv", "-o", "m", "--update", "adaptve"],
            "did you mean adaptive?",
        ),
        (
            &["infer", "m", "x.csv", "-o", "c", "--method", "exat"],
            "did you mean exact?",
        ),
        (&["learn", "x.csv"], "--output"),
    ];
    for (args, nearest) in wrong {
        let (code, out, said) = run(args);
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(said.contains(nearest) && out.is_empty(), "{args:?}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn completions_know_every_command_and_flag() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, script, _) = run(&["completions", shell]);
        assert_eq!(code, Some(0));
        for word in ["tune", "bicluster", "learning-curve", "atoms-grid"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(&["completions", "tcsh"]).0, Some(2));
}

/// The script at work, where there is a bash.
#[test]
fn bash_completes_a_command_and_a_name() {
    let Ok(version) = Command::new("bash").arg("--version").output() else {
        eprintln!("skipped: no bash on this machine");
        return;
    };
    assert!(version.status.success());
    let script = run(&["completions", "bash"]).1;
    let complete = |words: &str, at: usize| {
        let ask = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={at}; \
             _dictmesh dictmesh \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{}]}}\"; echo ${{COMPREPLY[@]}}",
            at - 1
        );
        let out = Command::new("bash").args(["--norc", "-c", &ask]).output();
        String::from_utf8(out.unwrap().stdout).unwrap()
    };
    assert_eq!(complete("dictmesh tu", 1).trim(), "tune");
    assert_eq!(
        complete("dictmesh learn --strategy rel", 3).trim(),
        "relaxed-admm"
    );
}

/// `-h` is one screen, and `--help` has every flag.
#[test]
fn the_short_help_is_one_screen() {
    for command in [
        "learn",
        "infer",
        "score",
        "tune",
        "audit",
        "mesh init",
        "launch",
        "novelty",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let short = run(&[&words[..], &["-h"]].concat()).1;
        let long = run(&[&words[..], &["--help"]].concat()).1;
        let lines = short.lines().count();
        assert!((12..=40).contains(&lines), "{command}: {lines}\n{short}");
        assert!(short.contains("--help"), "{short}");
        // A clause, and a default whole or not at all.
        let is_cut = |line: &str| line.rfind('[').is_some_and(|at| !line[at..].contains(']'));
        assert!(!short.lines().any(is_cut), "{short}");
        for flag in ["--threads", "--color", "--verbose", "--config", "--json"] {
            assert!(long.contains(flag), "{command}: {flag}");
        }
        assert!(long.len() > short.len());
    }
}

/// Defaults in the help are those of the library.
#[test]
fn the_help_prints_the_defaults_of_the_library() {
    use dictmesh::problem::TaskSpec;
    use dictmesh::{strategy, Stopping};
    let help = run(&["learn", "--help"]).1;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for task in TaskSpec::PRESETS {
        let spec = TaskSpec::preset(task).unwrap().common.regularizer;
        let gamma = format!("{} in ", spec.required("gamma").unwrap());
        let of = help.split("--gamma <X>").nth(1).unwrap();
        let of = of.split("--delta").next().unwrap();
        assert!(of.contains(&gamma) && of.contains(task), "{of}");
    }
    let tolerance = format!("[default: {:e}]", Stopping::default().tolerance.unwrap());
    let latency = format!("[default: {}]", strategy::auto::DEFAULT_LATENCY);
    let bits = format!("[default: {} with", strategy::tree::DEFAULT_BITS);
    for default in [tolerance, latency, bits] {
        assert!(help.contains(&default), "{default}: {help}");
    }
    // None of them is typed beside the flags.
    let source = include_str!("../src/options.rs");
    assert!(!source.contains("[default: 1e") && !source.contains("[default: 0"));
}

#[test]
fn each_command_has_a_manual_page() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("man");
    assert_eq!(run(&["man", to.to_str().unwrap()]).0, Some(0));
    let help = run(&["--help"]).1;
    let commands = help.split("Commands:").nth(1).unwrap();
    let commands = commands.split("Options:").next().unwrap();
    let names = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names.iter().filter(|name| **name != "help") {
        let page = std::fs::read_to_string(to.join(format!("dictmesh-{name}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS"), "{name}");
    }
    assert!(to.join("dictmesh.1").is_file() && to.join("dictmesh-mesh-init.1").is_file());
}
