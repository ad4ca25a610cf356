//! Agents that start in another order, without what they had, or at a host that does not know its own name.

use crate::common::{json, ok};
use crate::feeding::Feeding;
use crate::run::{host, table, Run};
use std::fs;

/// Agent 0, which sees the samples, never comes; another that does joins when the first has waited for a while.
#[test]
fn whoever_starts_first_waits_for_somebody_with_samples() {
    let flags = "--agents 2 --topology path --atoms 4 --batch 4 --informed 0";
    let mut run = Run::new(24, &format!("{flags} --policy go-on --deadline 1"));
    let place = run.place.path().to_path_buf();
    json(&place, "mesh add m --neighbours 1 --informed --json");
    run.agents.push(None);
    run.start(1);
    run.until_said(1, &["no informed agent is present"]);
    run.start(2);
    for k in [1, 2] {
        assert_eq!(run.wait(k), Some(0), "{}", run.log(k));
        assert_eq!(run.checkpoint(k), Some(24), "{}", run.log(k));
    }
}

/// The disk of one is lost: the others need not end because it comes back with nothing.
#[test]
fn one_that_has_lost_what_it_learned_is_refused_alone() {
    for (flags, lost) in [
        ("--agents 4 --topology ring", 2),
        ("--agents 2 --topology path", 1),
    ] {
        let mut feeding = Feeding::start(flags);
        let agents = feeding.run.agents.len();
        feeding.feed_until(agents);
        (0..6).for_each(|_| feeding.feed());
        feeding.run.kill(lost);
        fs::remove_dir_all(feeding.run.file(lost, "state")).unwrap();
        feeding.run.start(lost);
        assert_eq!(feeding.run.wait(lost), Some(1), "{}", feeding.run.log(lost));
        let said = feeding.run.log(lost);
        let last = said.lines().last().unwrap();
        for words in [
            "nothing of what was learned",
            "sample 0 only",
            "joins = true",
        ] {
            assert!(last.contains(words), "{last}");
        }
        for k in (0..agents).filter(|k| *k != lost) {
            let line = feeding.run.until_said(k, &["refused, and waited for"]);
            assert!(line.contains(&format!("agents={lost}")), "{line}");
        }
        // As the message says.
        let file = feeding.run.file(lost, "agent.toml");
        let text = fs::read_to_string(&file).unwrap();
        let joins = text.replace("\ndeadline", "\njoins = true\ndeadline");
        fs::write(&file, joins).unwrap();
        feeding.run.start(lost);
        feeding.feed_until(agents);
        feeding.feed();
        feeding.end();
        feeding.run.finish();
    }
}

/// Its own name is for the others: agent 0 does not listen, and others listen at all IPv4 addresses of their host.
#[test]
fn an_agent_need_not_know_its_own_name() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(8)).unwrap();
    let init = "--data x.csv --agents 2 --atoms 4 --topology path --plain-text --hosts";
    ok(at, &format!("mesh init m {init} here.invalid,{}", host()));
    ok(at, &format!("mesh init n {init} 10.0.0.1,there.invalid"));
    let listens = |file: &str| {
        let text = fs::read_to_string(at.join(file)).unwrap();
        let line = text.lines().find(|line| line.starts_with("listen = "));
        line.unwrap().to_string()
    };
    assert_eq!(
        listens("n/agent-0/agent.toml"),
        "listen = \"10.0.0.1:7400\""
    );
    assert_eq!(listens("n/agent-1/agent.toml"), "listen = \"0.0.0.0:7400\"");
    let mut run = Run {
        place,
        agents: vec![None, None],
    };
    run.start_all();
    run.finish();
    assert!(run.log(0).contains("listens=nowhere"), "{}", run.log(0));
}
