//! Agents that are lost and come back, that join a mesh which is running, and that leave it for good.

use crate::common::{json, ok, refused};
use crate::feeding::Feeding;
use dictmesh::Model;

fn assert_finite(feeding: &Feeding) {
    let atoms = feeding.run.atoms();
    let mut all = atoms.iter().flat_map(|w| w.as_slice());
    assert!(all.all(|v| v.is_finite()));
}

#[test]
fn the_others_go_on_without_a_lost_agent_and_take_it_back() {
    let mut feeding = Feeding::start("--agents 4 --topology ring --policy go-on --deadline 1");
    feeding.feed_until(4);
    feeding.run.kill(2);
    feeding.feed_until(3);
    feeding.run.start(2);
    feeding.feed_until(4);
    feeding.end();
    feeding.run.finish();
    assert_finite(&feeding);
}

/// Three agents with certificates run; a fourth comes in with new atoms, then one of the first leaves, and the run goes
/// on to its end. What is left is put together into one model.
#[test]
fn an_agent_joins_a_running_mesh_and_another_leaves_it() {
    let mut feeding = Feeding::start("--agents 3 --topology path --tls");
    feeding.feed_until(3);
    let place = feeding.run.place.path().to_path_buf();
    refused(
        &place,
        "mesh add m --neighbours 7",
        &["--neighbours 7", "0 to 2"],
    );
    let added = json(&place, "mesh add m --neighbours 1,2 --atoms 3 --json");
    assert_eq!(
        (added["id"].as_u64(), added["name"].as_str()),
        (Some(3), Some("agent-3"))
    );
    feeding.run.agents.push(None);
    // Its neighbours are told of it; they finish what they are at.
    for k in [1, 2] {
        feeding.run.signal(k, "-TERM");
    }
    for k in [1, 2] {
        assert_eq!(feeding.run.wait(k), Some(130));
        feeding.run.start(k);
    }
    feeding.feed_until(3);
    feeding.run.start(3);
    feeding.feed_until(4);

    let asked = json(&place, "mesh leave m/agent-2/agent.toml --json");
    assert_eq!(asked["running"], true);
    feeding.feed_until(3);
    assert_eq!(feeding.run.wait(2), Some(0));
    let left_at = Model::load(feeding.run.file(2, "atoms.safetensors")).unwrap();
    let left_at = left_at.description.progress.samples_learned;
    for command in ["agent", "mesh leave"] {
        let words = format!("{command} m/agent-2/agent.toml");
        refused(&place, &words, &["agent-2 has left", "mesh add"]);
    }
    refused(
        &place,
        "join m -o all.st",
        &["atoms.safetensors", "not there"],
    );

    feeding.feed();
    feeding.end();
    for k in [0, 1, 3] {
        assert_eq!(feeding.run.wait(k), Some(0), "{}", feeding.run.log(k));
    }
    assert_finite(&feeding);
    let joined = json(&place, "join m -o all.st --json");
    assert_eq!(joined["agents"], 3);
    let samples = joined["samples"].as_u64().unwrap();
    assert!(left_at > 0 && left_at < samples, "{left_at} of {samples}");
    let (model, own) = (
        Model::load(place.join("all.st")).unwrap(),
        feeding.run.atoms(),
    );
    let edges: Vec<(usize, usize)> = model.description.edges.clone();
    assert_eq!(edges, [(0, 1), (1, 2)], "0 - 1 - 3, numbered anew");
    for (block, k) in model.blocks.iter().zip([0, 1, 3]) {
        assert_eq!(*block.atoms, own[k], "{k}");
    }
    assert_eq!(model.blocks[2].atoms.cols(), 3);
    ok(&place, "score all.st x.csv --quiet");
}

/// A wish to leave outlives the process it was made to.
#[test]
fn an_agent_that_does_not_run_leaves_when_it_is_started() {
    let mut feeding = Feeding::start("--agents 3 --topology complete");
    feeding.feed_until(3);
    feeding.run.kill(1);
    let place = feeding.run.place.path().to_path_buf();
    let asked = json(&place, "mesh leave m/agent-1/agent.toml --json");
    assert_eq!(asked["running"], false);
    feeding.run.start(1);
    feeding.feed_until(2);
    assert_eq!(feeding.run.wait(1), Some(0));
    feeding.end();
    for k in [0, 2] {
        assert_eq!(feeding.run.wait(k), Some(0), "{}", feeding.run.log(k));
    }
}
