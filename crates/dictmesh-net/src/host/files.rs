//! The files of a mesh, as `mesh init`, `mesh add` and `launch` write them.

use super::error::failed;
use super::Result;
use crate::certificates::Authority;
use crate::config::{AgentConfig, MeshConfig};
use crate::words::plain;
use dictmesh::model::write_atomic;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Lets a directory appear with all that is in the draft; where it cannot, nothing of it is left.
pub fn appear(draft: TempDir, place: &Path) -> Result<()> {
    let moved = fs::rename(draft.path(), place);
    moved.map_err(|e| failed(place, &e))?;
    let _ = draft.keep(); // it has gone, and is not to be removed
    Ok(())
}

/// A directory for a draft of what is to appear beside it.
pub fn draft(beside: &Path) -> Result<TempDir> {
    let made = tempfile::Builder::new()
        .prefix(".dictmesh-")
        .tempdir_in(beside);
    made.map_err(|e| failed(beside, &e))
}

fn write(path: &Path, text: &str) -> Result<()> {
    Ok(write_atomic(path, |to| to.write_all(text.as_bytes()))?)
}

/// What agent `k` is told, into its directory. A file that says the same already stays as it is, with all that a person
/// wrote beside it.
pub fn agent_file(mesh: &MeshConfig, k: usize, place: &Path) -> Result<()> {
    let (path, agent) = (place.join(MeshConfig::AGENT_FILE), mesh.agent(k)?);
    let same = fs::read_to_string(&path)
        .is_ok_and(|text| AgentConfig::from_toml(&text).is_ok_and(|found| found == agent));
    if same {
        return Ok(());
    }
    let body = agent.to_toml()?;
    let head = format!(
        "# Agent {k} of the run {}, from mesh.toml ({}). Paths are seen from this directory.\n",
        mesh.run,
        sum(&body)
    );
    write(&path, &(head + &body))
}

/// What tells a file that was written here from one that was changed since.
fn sum(body: &str) -> String {
    format!("sum {:08x}", crc32fast::hash(body.as_bytes()))
}

/// Refuses to write over what a person may have written into the settings of agent `k`.
pub fn check_unchanged(mesh: &MeshConfig, k: usize, place: &Path) -> Result<()> {
    let file = place.join(MeshConfig::AGENT_FILE);
    let Ok(text) = fs::read_to_string(&file) else {
        return Ok(()); // none, or one that says by itself what is wrong with it when it is written
    };
    let (head, body) = text.split_once('\n').unwrap_or(("", &text));
    let is_of = |body: &str| head.contains(&format!("({})", sum(body)));
    if is_of(body) {
        return Ok(());
    }
    let (found, agent) = (AgentConfig::from_toml(&text), mesh.agent(k)?);
    // Without anything beside its settings.
    let bare = found.as_ref().ok().and_then(|found| found.to_toml().ok());
    let what = match &found {
        Ok(found) if *found == agent => return Ok(()),
        // Earlier versions wrote no sum, and wrote their files over without a question.
        Ok(_) if head == unsummed(mesh, k) && bare.as_deref() == Some(body) => return Ok(()),
        Ok(found) => differences(found, &agent)?.join(", "),
        Err(e) => format!("it cannot be read any more: {e}"),
    };
    let why = match bare {
        Some(bare) if is_of(&bare) => {
            "something that is no setting, as a comment, was written into it by hand"
        }
        _ if head.contains("(sum ") => "it was changed by hand",
        _ => "it was not written by this version of dictmesh, or was changed since",
    };
    Err(format!(
        "{}: {why}, and it would be written anew from mesh.toml: {what}. Make changes in mesh.toml, and give --overwrite to \
         lose what was written here; or run this agent by itself (dictmesh agent {0}). Nothing was changed",
        file.display(),
    ).into())
}

/// The first line of the file of agent `k` as it was before there were sums.
fn unsummed(mesh: &MeshConfig, k: usize) -> String {
    let run = &mesh.run;
    format!("# Agent {k} of the run {run}. Paths are seen from this directory.")
}

/// The settings that differ, with what is found and what `mesh.toml` gives.
fn differences(found: &AgentConfig, made: &AgentConfig) -> Result<Vec<String>> {
    let plainly = |e: toml::ser::Error| e.to_string();
    let [found, made] = [found, made].map(toml::Table::try_from);
    let (found, made) = (found.map_err(plainly)?, made.map_err(plainly)?);
    let mut told = Vec::new();
    differ("", &found, &made, &mut told);
    Ok(told)
}

fn differ(above: &str, found: &toml::Table, made: &toml::Table, told: &mut Vec<String>) {
    use toml::Value::{Array, Table};
    let names: BTreeSet<&String> = found.keys().chain(made.keys()).collect();
    for name in names {
        let key = format!("{above}{name}");
        match (found.get(name), made.get(name)) {
            (found, made) if found == made => {}
            (Some(Table(found)), Some(Table(made))) => {
                differ(&format!("{key}."), found, made, told);
            }
            (Some(Array(_)), _) | (_, Some(Array(_))) => told.push(format!("{key} differ")),
            (found, made) => {
                let [found, made] = [found, made].map(|v| v.map_or("nothing".into(), plain));
                told.push(format!("{key} is {found} (mesh.toml gives {made})"));
            }
        }
    }
}

/// The whole mesh, into its directory.
pub fn mesh_file(mesh: &MeshConfig, place: &Path) -> Result<()> {
    let head = "# The whole mesh, for dictmesh launch. The agents' own files were made from it.\n";
    let text = head.to_string() + &mesh.to_toml()?;
    write(&place.join("mesh.toml"), &text)
}

/// A certificate for the agent of this name, its key, and the authority's certificate.
pub fn write_credentials(authority: &Authority, name: &str, place: &Path) -> Result<()> {
    let own = authority.issue(name)?;
    let at = |name: &str| place.join(name);
    own.write(&at(MeshConfig::CERTIFICATE), &at(MeshConfig::KEY))?;
    write(
        &at(MeshConfig::AUTHORITY),
        &authority.credentials().certificate,
    )
}
