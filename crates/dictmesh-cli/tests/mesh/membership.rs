//! Agents that are lost and come back, and one that joins a mesh that is running.

use crate::run::{table, Run, PATIENCE};
use dictmesh_net::config::{AgentConfig, NeighbourConfig};
use std::fs;
use std::io::Write;
use std::process::{ChildStdin, Stdio};
use std::time::{Duration, Instant};

const FLAGS: &str = "--atoms 8 --batch 4 --informed 0 --seed 5 --stdin";

/// Agent 0 with its standard input, and all others.
fn start(run: &mut Run) -> ChildStdin {
    let mut first = run.command(0).stdin(Stdio::piped()).spawn().unwrap();
    let feed = first.stdin.take().unwrap();
    run.agents[0] = Some(first);
    (1..run.agents.len()).for_each(|k| run.start(k));
    feed
}

/// Feeds batches until agent 0 has heard it.
fn feed_until(run: &mut Run, feed: &mut ChildStdin, words: &str) {
    let until = Instant::now() + PATIENCE;
    while !run.log(0).contains(words) {
        assert!(Instant::now() < until, "{words}:\n{}", run.log(0));
        feed_batch(run, feed);
    }
}

/// Feeds a batch and waits until it is learned.
fn feed_batch(run: &mut Run, feed: &mut ChildStdin) {
    let at = run.checkpoint(0).unwrap_or(0);
    feed.write_all(table(4).as_bytes()).unwrap();
    feed.flush().unwrap();
    run.until_sample(0, at + 4);
}

#[test]
fn the_others_go_on_without_a_lost_agent_and_take_it_back() {
    let flags = format!("--agents 4 --topology ring {FLAGS} --policy go-on --deadline 1");
    let mut run = Run::new(4, &flags);
    let mut feed = start(&mut run);
    feed_until(&mut run, &mut feed, "agents=4");
    feed_batch(&mut run, &mut feed);
    run.kill(2);
    feed_until(&mut run, &mut feed, "agents=3");
    feed_batch(&mut run, &mut feed);
    let without = run.log(0).matches("agents=4").count();
    run.start(2);
    let until = Instant::now() + PATIENCE;
    while run.log(0).matches("agents=4").count() == without {
        assert!(
            Instant::now() < until,
            "it is not taken back:\n{}",
            run.log(0)
        );
        feed_batch(&mut run, &mut feed);
        std::thread::sleep(Duration::from_millis(100));
    }
    feed_batch(&mut run, &mut feed);
    drop(feed);
    let atoms = run.finish();
    assert!(atoms
        .iter()
        .all(|w| w.as_slice().iter().all(|v| v.is_finite())));
}

#[test]
fn an_agent_joins_a_running_mesh() {
    let mut run = Run::new(4, &format!("--agents 3 --topology path {FLAGS}"));
    let known = |run: &Run, k: usize| AgentConfig::load(&run.file(k, "agent.toml")).unwrap();
    let (mut host, mut joins) = (known(&run, 2), known(&run, 2));
    joins.id = 3;
    joins.name = "agent-3".into();
    joins.listen = host.listen.replace(":7402", ":7403");
    joins.joins = true;
    joins.neighbours = vec![NeighbourConfig {
        id: 2,
        name: host.name.clone(),
        address: host.listen.clone(),
        joins: false,
    }];
    joins.state = "state".into();
    joins.output = Some("atoms.safetensors".into());
    host.neighbours.push(NeighbourConfig {
        id: 3,
        name: "agent-3".into(),
        address: joins.listen.clone(),
        joins: true,
    });
    run.agents.push(None);
    fs::create_dir(run.file(3, "")).unwrap();
    fs::write(run.file(2, "agent.toml"), host.to_toml().unwrap()).unwrap();
    fs::write(run.file(3, "agent.toml"), joins.to_toml().unwrap()).unwrap();
    let newcomer = run.agents.pop();
    let mut feed = start(&mut run);
    feed_until(&mut run, &mut feed, "agents=3");
    feed_batch(&mut run, &mut feed);
    run.agents.extend(newcomer);
    run.start(3);
    let until = Instant::now() + PATIENCE;
    while !run.log(0).contains("agents=4") {
        assert!(
            Instant::now() < until,
            "it does not come in:\n{}",
            run.log(0)
        );
        feed_batch(&mut run, &mut feed);
        std::thread::sleep(Duration::from_millis(100));
    }
    feed_batch(&mut run, &mut feed);
    drop(feed);
    let atoms = run.finish();
    assert_eq!(atoms.len(), 4);
    assert!(atoms
        .iter()
        .all(|w| w.as_slice().iter().all(|v| v.is_finite())));
}
