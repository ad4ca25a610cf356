//! Messages about meshes that do not fit into this process, with the flags that were given.

use crate::commands::{Failure, Result};
use dictmesh_apps::memory::{check_counts, Sizes, Unfit};
use dictmesh_report::numbers::{bytes, counted};

/// `Ok` if a mesh can have these numbers of agents and atoms, given by the flags of these names.
pub fn check_sizes(agents: usize, atoms: usize) -> Result<()> {
    check_counts(agents, atoms).map_err(|e| match e {
        Unfit::Count { what, given, most } => {
            of_count(&format!("--{what} {given}: give a number"), most)
        }
        e => e.to_string().into(),
    })
}

/// Refuses sizes that are impossible or do not fit; `given` names their flags.
pub fn check(sizes: &Sizes, given: &str) -> Result<()> {
    sizes.check().map_err(|e| match e {
        Unfit::Count {
            what,
            given: value,
            most,
        } => of_count(&format!("{given}: {value} {what}; choose a number"), most),
        Unfit::Memory { sizes, need, free } => format!(
            "{given}: {} atoms of {} numbers, shared by {}, with {} samples at a time, need about {} of memory, \
             and {} are free; take fewer of them (--hash, --vocabulary and --patch set how many numbers a text or \
             a picture becomes)",
            sizes.atoms,
            sizes.rows,
            counted(sizes.agents, "agent"),
            sizes.batch,
            bytes(need),
            bytes(free)
        )
        .into(),
    })
}

fn of_count(words: &str, most: usize) -> Failure {
    format!("{words} from 1 to {most}, the most of one process").into()
}
