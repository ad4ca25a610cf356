//! What people get wrong with the files of a mesh, as they meet it.

use crate::common::{files, ok, refused, run, said, PROGRAM};
use crate::feeding::Feeding;
use crate::run::Run;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

const THREE: &str = "--agents 3 --topology complete --atoms 6 --batch 4 --rounds 20";

fn edit(file: &Path, change: impl Fn(&str) -> String) {
    let before = fs::read_to_string(file).unwrap();
    let after = change(&before);
    assert_ne!(before, after, "{}", file.display());
    fs::write(file, after).unwrap();
}

#[test]
fn certificates_are_looked_at_before_anybody_is_dialled() {
    let (run, other) = (
        Run::new(4, &format!("{THREE} --tls")),
        Run::new(4, &format!("{THREE} --tls")),
    );
    let place = run.place.path();
    let copy = |from: &Run, k: usize, name: &str| {
        fs::copy(from.file(k, name), run.file(0, name)).unwrap();
    };
    let agent = "agent m/agent-0";
    copy(&run, 1, "private.key");
    let words = ["agent-0/private.key", "does not belong to the certificate"];
    refused(place, agent, &words);
    copy(&run, 1, "certificate.pem");
    let words = ["certificate.pem", "for agent-1, and this agent is agent-0"];
    refused(place, agent, &words);
    copy(&other, 0, "private.key");
    copy(&other, 0, "certificate.pem");
    let words = [
        "certificate.pem",
        "not signed by the authority in",
        "authority.pem",
    ];
    refused(place, agent, &words);
    // Nobody may ever write into it.
    fs::remove_file(run.file(0, "private.key")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(run.file(0, "private.key"))
        .status();
    assert!(pipe.unwrap().success());
    let words = ["agent-0/private.key", "this is not a regular file"];
    refused(place, agent, &words);
}

/// Files that were brought together from several hosts, one of them twice.
#[test]
fn atoms_of_one_agent_are_not_taken_for_those_of_another() {
    let run = Run::new(8, THREE);
    ok(run.place.path(), "launch m --quiet");
    ok(run.place.path(), "join m -o whole.st --quiet");
    fs::copy(
        run.file(0, "atoms.safetensors"),
        run.file(1, "atoms.safetensors"),
    )
    .unwrap();
    let words = [
        "agent-1/atoms.safetensors",
        "its agent or run is not that of agent-1",
    ];
    refused(run.place.path(), "join m -o twice.st", &words);
    assert!(!run.place.path().join("twice.st").exists());
}

/// One constant of one agent's task was changed, and another agent has lost its certificate.
#[test]
fn what_differs_between_two_agents_is_named_by_both() {
    let mut run = Run::new(4, &format!("{THREE} --gamma 0.125"));
    edit(&run.file(1, "agent.toml"), |text| {
        text.replace("gamma = 0.125", "gamma = 0.25")
    });
    run.start_all();
    let words = "task.regularizer.gamma is 0.25 at agent 1 and 0.125 at agent 0; make it the same";
    for (k, begins) in [(0, "no link: "), (1, "refused: ")] {
        let line = run.until_said(k, &[words]);
        assert!(line.contains(&format!("{begins}{words}")), "{line}");
    }

    let mut run = Run::new(4, &format!("{THREE} --tls"));
    let without = |text: &str| {
        let (before, rest) = text.split_once("[tls]").unwrap();
        let after = rest.find("\n[").unwrap();
        format!("{before}{}", &rest[after + 1..])
    };
    edit(&run.file(1, "agent.toml"), without);
    run.start_all();
    run.until_said(
        0,
        &["no link: agent 1 speaks plain text, and this agent TLS"],
    );
    run.until_said(
        1,
        &["no link: agent 2 speaks TLS, and this agent plain text"],
    );
    run.until_said(1, &["refused: it speaks TLS, and this agent plain text"]);
    run.until_said(2, &["refused: it speaks plain text, and this agent TLS"]);
}

/// Agent 1 was copied to another host while it ran, and is started there too: the copy is told so and ends, and the mesh goes
/// on to its end with the first.
#[test]
fn an_agent_that_runs_at_two_hosts_is_named() {
    let mut feeding = Feeding::start("--agents 3 --topology complete --tls");
    feeding.feed_until(3);
    let place = feeding.run.place.path().join("elsewhere");
    fs::create_dir_all(place.join("state")).unwrap();
    for (from, to) in [("", place.clone()), ("state", place.join("state"))] {
        let from = feeding.run.file(1, from);
        for name in files(&from).iter().filter(|name| from.join(name).is_file()) {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
    let host = crate::run::host();
    edit(&place.join("agent.toml"), |text| {
        let line = |line: &str| match line.starts_with("listen = ") {
            true => format!("listen = \"{host}:7499\"\n"),
            false => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    });
    let log = fs::File::create(place.join("copy.log")).unwrap();
    let copy = Command::new(PROGRAM)
        .arg("agent")
        .arg(place.join("agent.toml"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    feeding.run.agents.push(Some(copy));
    assert_eq!(feeding.run.wait(3), Some(1));
    feeding.run.agents.pop();
    let said = fs::read_to_string(place.join("copy.log")).unwrap();
    let last = said.lines().last().unwrap();
    assert!(
        last.starts_with("dictmesh: agent 2 says: agent 1 runs twice"),
        "{said}"
    );
    feeding
        .run
        .until_said(2, &["WARN", "agent 1 runs twice", "End one of them"]);
    feeding.feed_until(3);
    feeding.end();
    feeding.run.finish();
}

#[test]
fn a_file_of_the_other_kind_is_called_by_its_name() {
    let run = Run::new(4, THREE);
    let place = run.place.path();
    let words = [
        "this is a mesh's file",
        "agent-0/agent.toml",
        "dictmesh launch",
    ];
    refused(place, "agent m/mesh.toml", &words);
    let words = ["this is an agent's own file", "mesh.toml", "dictmesh agent"];
    refused(place, "launch m/agent-1/agent.toml", &words);
    // One that is broken is still told what is wrong with it.
    edit(&run.file(0, "agent.toml"), |text| {
        text.replace("atoms = ", "atom = ")
    });
    refused(place, "agent m/agent-0", &["line ", "\"atom\""]);
}

#[test]
fn places_that_cannot_be_had_are_told_with_what_to_do() {
    let run = Run::new(4, THREE);
    let place = run.place.path();
    fs::write(run.file(2, "state"), "in the way").unwrap();
    let words = [
        "agent-2/state",
        "is a file",
        "state = \"...\" in agent.toml",
    ];
    refused(place, "agent m/agent-2", &words);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    edit(&run.file(0, "agent.toml"), |text| {
        format!("metrics = \"{at}\"\n{text}")
    });
    let words = [
        &at[..],
        "another program listens there",
        "metrics = \"HOST:PORT\"",
    ];
    refused(place, "agent m/agent-0", &words);
}

/// Every line, the last too.
#[test]
fn a_log_of_json_ends_in_json() {
    let run_of = Run::new(4, THREE);
    fs::write(run_of.file(2, "state"), "in the way").unwrap();
    let out = run(run_of.place.path(), "agent m/agent-2 --log json");
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8(out.stderr).unwrap();
    let lines = said.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    let last = lines.last().unwrap();
    assert_eq!(last["level"], "ERROR", "{said}");
    let message = last["fields"]["message"].as_str().unwrap();
    assert!(message.contains("is a file"), "{said}");
}

/// Scores that nobody computes are not waited for.
#[test]
fn scores_that_the_run_does_without_cannot_be_printed() {
    let run = Run::new(4, THREE);
    let place = run.place.path();
    edit(&run.file(1, "agent.toml"), |text| {
        text.replace("score = true", "score = false")
    });
    let words = ["agent-1", "score = false", "set score = true at all agents"];
    refused(place, "agent m/agent-1 --score", &words);
}

/// Samples of another width, and none of them: an agent has no flags for either, and no model.
#[test]
fn samples_that_an_agent_cannot_take_are_told_by_its_settings() {
    let one = Run::new(4, THREE);
    let place = one.place.path();
    let narrow = "1,2,3\n4,5,6\n";
    fs::write(place.join("x.csv"), narrow).unwrap();
    let words = ["3 features", "rows = 12", "path in its agent.toml"];
    refused(place, "agent m/agent-0", &words);
    let out = run(place, "agent m/agent-0");
    for word in ["--transpose", "model"] {
        assert!(!said(&out).contains(word), "{}", said(&out));
    }
    let never = |text: &str| text.replace("passes = 1", "passes = 0");
    edit(&one.file(0, "agent.toml"), never);
    edit(&place.join("m/mesh.toml"), never);
    let words = ["passes = 0", "at least 1 is needed"];
    refused(place, "agent m/agent-0", &words);
    refused(place, "launch m", &words);
}

/// One agent alone, after its end: there is nobody whom it could leave; and when its disk has failed, what to do.
#[test]
fn what_cannot_be_gone_on_with_is_told_with_what_to_do() {
    let one = Run::new(4, "--agents 1 --atoms 2");
    let place = one.place.path();
    ok(place, "agent m/agent-0");
    let out = run(place, "mesh leave m/agent-0");
    assert!(said(&out).contains("nothing to leave"), "{}", said(&out));
    assert!(!said(&out).contains("others"), "{}", said(&out));
    let state = one.file(0, "state");
    let kept = files(&state);
    let kept = kept.iter().filter(|name| name.starts_with("checkpoint-"));
    kept.for_each(|name| fs::write(state.join(name), "broken").unwrap());
    let words = [
        "and so is every other",
        "restore the state directory",
        "joins = true",
    ];
    refused(place, "agent m/agent-0", &words);
}
