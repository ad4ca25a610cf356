//! The files of a mesh, as `mesh init` and `mesh add` write them.

use super::super::{refusal, say, Result};
use dictmesh::model::write_whole;
use dictmesh_net::certificates::Authority;
use dictmesh_net::config::MeshConfig;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Lets a directory appear with all that is in the draft; where it cannot, nothing of it is left.
pub fn appear(draft: TempDir, place: &Path) -> Result<()> {
    let moved = fs::rename(draft.path(), place);
    moved.map_err(|e| format!("{}: {}", place.display(), refusal(&e)))?;
    let _ = draft.keep(); // it has gone, and is not to be removed
    Ok(())
}

/// A directory for a draft of what is to appear beside it.
pub fn draft(beside: &Path) -> Result<TempDir> {
    let made = tempfile::Builder::new()
        .prefix(".dictmesh-")
        .tempdir_in(beside);
    made.map_err(|e| format!("{}: {}", beside.display(), refusal(&e)))
}

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
