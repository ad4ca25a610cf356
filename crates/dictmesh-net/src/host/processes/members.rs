//! Who is to be started, with their files as the mesh's says.

use super::super::error::failed;
use super::super::files::{agent_file, check_unchanged};
use super::super::{leaving, lock, Result};
use super::Member;
use crate::config::{MeshConfig, SourceConfig};
use dictmesh::accel::Accels;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long agents of a launch that was killed just now may take to notice it.
const ORPHANS: Duration = Duration::from_secs(2);
/// How often it is looked whether they have.
const LOOK: Duration = Duration::from_millis(20);

/// An agent's log in its directory.
pub const LOG: &str = "agent.log";

/// Writes the agents' own files as the mesh's says, and tells where they are. Those who left for good stay away. Nothing is
/// written if one of them is running, or, unless `overwrite`, if the settings of one were changed by hand.
pub fn write_agents(
    mesh: &MeshConfig,
    place: &Path,
    overwrite: bool,
    accels: &Accels,
) -> Result<Vec<Member>> {
    let directory = |k: usize| place.join(&mesh.agents[k].name);
    let there = |k: &usize| !leaving::has_left(&directory(*k).join("state"));
    let all: Vec<usize> = (0..mesh.agents.len()).filter(there).collect();
    check_not_running(mesh, place, &all)?;
    check_readers(mesh, &all)?;
    for k in all.iter().filter(|_| !overwrite) {
        check_unchanged(mesh, *k, &directory(*k))?;
    }
    let member = |k: usize| member(mesh, k, directory(k), accels);
    all.into_iter().map(member).collect()
}

fn member(mesh: &MeshConfig, k: usize, directory: PathBuf, accels: &Accels) -> Result<Member> {
    fs::create_dir_all(&directory).map_err(|e| failed(&directory, &e))?;
    agent_file(mesh, k, &directory)?;
    if mesh.tls && !directory.join(MeshConfig::CERTIFICATE).exists() {
        return Err(format!(
            "{}: {} is not there; dictmesh mesh init --tls makes certificates",
            directory.display(),
            MeshConfig::CERTIFICATE
        )
        .into());
    }
    Ok(Member {
        name: mesh.agents[k].name.clone(),
        config: directory.join(MeshConfig::AGENT_FILE),
        log: directory.join(LOG),
        reads: reads(mesh, k)?,
        accel: accels.to_string(),
    })
}

/// Whether this agent takes its samples from standard input.
fn reads(mesh: &MeshConfig, k: usize) -> Result<bool> {
    let agent = mesh.agent(k)?;
    Ok(matches!(agent.source, Some(SourceConfig::Stdin)))
}

fn check_readers(mesh: &MeshConfig, all: &[usize]) -> Result<()> {
    let mut readers = 0;
    for k in all {
        readers += usize::from(reads(mesh, *k)?);
    }
    match readers {
        0 | 1 => Ok(()),
        _ => Err(format!(
            "{readers} agents take their samples from standard input, which only one can have; make only one informed, \
             or give the others a file or a directory"
        ).into()),
    }
}

/// Two launches of a mesh would be in each other's way.
fn check_not_running(mesh: &MeshConfig, place: &Path, all: &[usize]) -> Result<()> {
    let held = |k: &usize| {
        let name = &mesh.agents[*k].name;
        let holder = lock::holder(&place.join(name).join("state"))?;
        Some((name, holder))
    };
    let until = Instant::now() + ORPHANS;
    while let Some((name, holder)) = all.iter().find_map(held) {
        if Instant::now() >= until {
            return Err(format!(
                "{}: this mesh is running already ({name} holds its state directory, {holder}); its log is {}. To launch it \
                 anew, end that first: Ctrl-C or SIGTERM to whatever started it",
                place.display(),
                place.join(name).join("agent.log").display()
            ).into());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
