//! What a mesh takes of memory, against what there is: an allocation that fails ends the program without a
//! word, so that what cannot fit is refused before.

use crate::numbers::bytes;
use dictmesh::Mesh;
use dictmesh_net::config::{MOST_AGENTS, MOST_ATOMS};

/// The most agents and atoms that fit into a process: the graph's spectrum and W'W are dense.
const LIMITS: [(&str, usize); 2] = [("agents", MOST_AGENTS), ("atoms", MOST_ATOMS)];

/// `Ok` if a mesh can have so many agents and atoms, as the flags of these names say.
pub fn check_sizes(agents: usize, atoms: usize) -> Result<(), String> {
    check_limits(agents, atoms, |what, given| {
        format!("--{what} {given}: give a number")
    })
}

/// `Ok` if a mesh can have so many; `words` begin the sentence about what it cannot have.
fn check_limits(
    agents: usize,
    atoms: usize,
    words: impl Fn(&str, usize) -> String,
) -> Result<(), String> {
    for (given, (what, most)) in [agents, atoms].into_iter().zip(LIMITS) {
        if !(1..=most).contains(&given) {
            let words = words(what, given);
            return Err(format!(
                "{words} from 1 to {most}, which is the most that fits into a process"
            ));
        }
    }
    Ok(())
}

/// What memory goes with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// M, the numbers in a sample.
    pub rows: usize,
    /// K, over all agents.
    pub atoms: usize,
    /// N.
    pub agents: usize,
    /// Samples coded together.
    pub batch: usize,
    /// Numbers of the data that are held besides.
    pub data: usize,
    /// Whether long samples can be turned into the span of the atoms: not if the residual minds, as Huber's
    /// and the l1 norm do.
    pub rotates: bool,
}

impl Sizes {
    /// What a mesh takes that codes `batch` samples together; in one place if `exact`.
    pub fn of(mesh: &Mesh, batch: usize, exact: bool) -> Self {
        Sizes {
            rows: mesh.rows(),
            atoms: mesh.atoms(),
            agents: if exact { 1 } else { mesh.agents() },
            batch,
            data: 0,
            rotates: mesh.task().residual().is_rotation_invariant(),
        }
    }

    /// About how many bytes: the atoms with their update, W'W and its factor where they are wanted,
    /// the graph's matrices, every agent's dual vectors and multipliers of a batch, the codes and the data.
    pub fn bytes(&self) -> u64 {
        let [m, k, n, b, data] =
            [self.rows, self.atoms, self.agents, self.batch, self.data].map(|v| v as f64);
        let reduced = self.rotates && m >= 2.0 * (k + 1.0);
        let rows = if reduced { k + 1.0 } else { m };
        let gram = if reduced { 4.0 * k * k } else { k * k / n };
        let numbers = 3.0 * m * k + gram + 4.0 * n * n + 6.0 * rows * n * b + 2.0 * k * b + data;
        // A cast of a float keeps to the range of the integer.
        (8.0 * numbers) as u64
    }

    /// Refuses what is not possible or does not fit; `given` says by which flags it came about.
    pub fn check(&self, given: &str) -> Result<(), String> {
        check_limits(self.agents, self.atoms, |what, value| {
            format!("{given}: {value} {what}; choose a number")
        })?;
        let (need, free) = (self.bytes(), free());
        if need <= free {
            return Ok(());
        }
        Err(format!(
            "{given}: {} atoms of {} numbers, shared by {}, with {} samples at a time, need about {} of memory, \
             and {} are free; take fewer of them (how many numbers a text or a picture becomes, --hash, --vocabulary \
             and --patch say)",
            self.atoms,
            self.rows,
            match self.agents {
                1 => "1 agent".to_string(),
                n => format!("{n} agents"),
            },
            self.batch,
            bytes(need),
            bytes(free)
        ))
    }
}

/// Where nobody says how much there is.
const USUAL: u64 = 16_000_000_000;

/// The bytes that this process can still get, where the system tells.
fn free() -> u64 {
    let of = |path: &str, key: &str| number_after(&std::fs::read_to_string(path).ok()?, key);
    let machine = of("/proc/meminfo", "MemAvailable:").map(|kilobytes| kilobytes * 1024);
    let used = of("/proc/self/status", "VmSize:").map_or(0, |kilobytes| kilobytes * 1024);
    let allowed =
        of("/proc/self/limits", "Max address space").map(|most| most.saturating_sub(used));
    // What is kept of files goes when room is wanted.
    let group = |name: &str, key: &str| of(&format!("/sys/fs/cgroup/{name}"), key);
    let files = group("memory.stat", "inactive_file").unwrap_or(0);
    let taken = group("memory.current", "")
        .unwrap_or(0)
        .saturating_sub(files);
    let group = group("memory.max", "").map(|most| most.saturating_sub(taken));
    let limits = [machine, allowed, group];
    limits.into_iter().flatten().min().unwrap_or(USUAL)
}

/// The first word behind `key`, if it is a number.
fn number_after(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_passes_and_what_does_not_is_told_in_numbers() {
        let small = Sizes {
            rows: 64,
            atoms: 128,
            agents: 4,
            batch: 256,
            data: 1 << 20,
            rotates: true,
        };
        small.check("--atoms 128").unwrap();
        let long = Sizes {
            rows: 1 << 40,
            ..small
        };
        let said = long.check("--hash 40").unwrap_err();
        for word in ["--hash 40: ", "128 atoms", "TB of memory", "are free"] {
            assert!(said.contains(word), "{said}");
        }
        // What cannot be turned keeps its length, for every agent and sample.
        let turned = Sizes {
            rows: 1 << 18,
            ..small
        };
        let as_it_is = Sizes {
            rotates: false,
            ..turned
        };
        assert!(as_it_is.bytes() > 4 * turned.bytes());
        // Beyond all numbers is too much as well.
        for sizes in [
            Sizes {
                rows: usize::MAX,
                ..small
            },
            Sizes {
                batch: usize::MAX,
                ..small
            },
            Sizes {
                agents: usize::MAX,
                ..small
            },
            Sizes {
                atoms: usize::MAX,
                ..small
            },
        ] {
            assert!(sizes.check("x").is_err(), "{sizes:?}");
        }
    }

    #[test]
    fn the_system_is_read_as_it_writes() {
        let limits =
            "Limit  Soft Limit  Hard Limit  Units\nMax address space  4096  unlimited  bytes\n";
        assert_eq!(number_after(limits, "Max address space"), Some(4096));
        assert_eq!(
            number_after(
                "Max address space  unlimited  unlimited",
                "Max address space"
            ),
            None
        );
        assert_eq!(number_after("max\n", ""), None);
        assert_eq!(
            number_after("MemAvailable:   12 kB", "MemAvailable:"),
            Some(12)
        );
    }
}
