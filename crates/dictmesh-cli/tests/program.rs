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
