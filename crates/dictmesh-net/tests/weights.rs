//! Agents on a network take samples without weights only.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{Plan, Started};
use dictmesh::Topology;
use dictmesh_net::memory::Hub;

#[test]
fn samples_with_weights_are_refused_with_the_reason() {
    let mut plan = Plan::new(Topology::path(1).unwrap(), 5, 2);
    let mesh = plan.mesh(false);
    plan.x = plan.x.weighted(vec![1.0, 2.0]).unwrap();
    let agent = Started::new(&plan, &mesh, 0).start(&Hub::new(1));
    let message = agent.wait().map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("weights other than 1"), "{message}");
}
