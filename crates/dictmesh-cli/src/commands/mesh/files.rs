//! The files of a mesh, as `mesh init` and `mesh add` write them.

use super::super::{say, Result};
use dictmesh::model::write_whole;
use dictmesh_net::certificates::Authority;
use dictmesh_net::config::MeshConfig;
use std::path::Path;

fn write(path: &Path, text: &str) -> Result<()> {
    write_whole(path, |to| to.write_all(text.as_bytes())).map_err(say)
}

/// What agent `k` is told, into its directory.
pub fn agent_file(mesh: &MeshConfig, k: usize, place: &Path) -> Result<()> {
    let agent = mesh.agent(k).and_then(|agent| agent.to_toml());
    let head = format!(
        "# Agent {k} of the run {}. Paths are seen from this directory.\n",
        mesh.run
    );
    write(
        &place.join(MeshConfig::AGENT_FILE),
        &(head + &agent.map_err(say)?),
    )
}

/// The whole mesh, into its directory.
pub fn mesh_file(mesh: &MeshConfig, place: &Path) -> Result<()> {
    let head = "# The whole mesh, for dictmesh launch. The agents' own files were made from it.\n";
    let text = head.to_string() + &mesh.to_toml().map_err(say)?;
    write(&place.join("mesh.toml"), &text)
}

/// A certificate for the agent of this name, its key, and the authority's certificate.
pub fn write_credentials(authority: &Authority, name: &str, place: &Path) -> Result<()> {
    let own = authority.issue(name).map_err(say)?;
    let at = |name: &str| place.join(name);
    own.write(&at(MeshConfig::CERTIFICATE), &at(MeshConfig::KEY))
        .map_err(say)?;
    write(
        &at(MeshConfig::AUTHORITY),
        &authority.credentials().certificate,
    )
}
