//! The memory of a mesh against the memory that is free. A failed allocation aborts the program, so that a mesh
//! that does not fit is refused before.

use crate::numbers::bytes;
use dictmesh::Mesh;
use dictmesh_net::config::{MOST_AGENTS, MOST_ATOMS};
#[cfg(any(target_os = "linux", test))]
use std::{fs, path::Path};

/// The most agents and atoms that fit into a process: the graph's spectrum and W'W are dense.
const LIMITS: [(&str, usize); 2] = [("agents", MOST_AGENTS), ("atoms", MOST_ATOMS)];

/// `Ok` if a mesh can have these numbers of agents and atoms, given by the flags of these names.
pub fn check_sizes(agents: usize, atoms: usize) -> Result<(), String> {
    check_limits(agents, atoms, |what, given| {
        format!("--{what} {given}: give a number")
    })
}

/// `Ok` if a mesh can have these numbers; `words` begin the message otherwise.
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

/// The sizes that memory depends on.
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
    /// Numbers of the data in memory.
    pub data: usize,
    /// Whether the residual is rotation-invariant, so that long samples are rotated into the span of the atoms.
    pub rotates: bool,
}

impl Sizes {
    /// The sizes of a mesh that codes `batch` samples together; in one place if `exact`.
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

    /// The approximate number of bytes: the atoms with their update, W'W and its factor where they are needed,
    /// the graph's matrices, the dual vectors and multipliers of all agents, the codes and the data.
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

    /// Refuses sizes that are impossible or do not fit; `given` names their flags.
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

/// The bytes that this process can still allocate: of the machine, its address space and its control groups.
#[cfg(target_os = "linux")]
fn free() -> u64 {
    let of = |path: &str, key: &str| number_after(&fs::read_to_string(path).ok()?, key);
    let machine = of("/proc/meminfo", "MemAvailable:").map(|kilobytes| kilobytes * 1024);
    let used = of("/proc/self/status", "VmSize:").map_or(0, |kilobytes| kilobytes * 1024);
    let allowed =
        of("/proc/self/limits", "Max address space").map(|most| most.saturating_sub(used));
    let limits = [machine, allowed, groups(Path::new("/"))];
    limits.into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// The bytes that are available on this machine.
#[cfg(not(target_os = "linux"))]
fn free() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    match system.available_memory() {
        0 => u64::MAX, // Not known on this system.
        bytes => bytes,
    }
}

/// The files of a control group: its limit, its use, and the key of the reclaimable file cache in `memory.stat`.
#[cfg(any(target_os = "linux", test))]
const GROUP_FILES: [[&str; 3]; 2] = [
    ["memory.max", "memory.current", "inactive_file"],
    [
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ],
];

/// The bytes left to this process by its control groups, version 1 or 2, as containers and SLURM set them. A limit
/// holds for all groups below it, so that each group up to the root counts. `root` is / outside of tests.
#[cfg(any(target_os = "linux", test))]
fn groups(root: &Path) -> Option<u64> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = root.join("sys/fs/cgroup");
    let mut least = None;
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let mount = match controllers {
            "" if mounts.join("unified").is_dir() => mounts.join("unified"),
            "" => mounts.clone(),
            c if c.split(',').any(|c| c == "memory") => mounts.join("memory"),
            _ => continue,
        };
        // A container may see its own group at the mount, under a path that does not exist there.
        let path = mount.join(path.trim_start_matches('/'));
        let up = path
            .ancestors()
            .take_while(|group| group.starts_with(&mount));
        least = up.filter_map(room).chain(least).min();
    }
    least
}

/// The limit of a group less its use, without the file cache that the system can reclaim.
#[cfg(any(target_os = "linux", test))]
fn room(group: &Path) -> Option<u64> {
    GROUP_FILES.iter().find_map(|[limit, used, cache]| {
        let of =
            |file: &str, key: &str| number_after(&fs::read_to_string(group.join(file)).ok()?, key);
        let cache = of("memory.stat", &format!("{cache} ")).unwrap_or(0);
        let used = of(used, "").unwrap_or(0).saturating_sub(cache);
        Some(of(limit, "")?.saturating_sub(used))
    })
}

/// The first word after `key` at the start of a line, if it is a number.
#[cfg(any(target_os = "linux", test))]
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
        // Samples that are not rotated keep their length, for every agent and sample.
        let turned = Sizes {
            rows: 1 << 18,
            ..small
        };
        let as_it_is = Sizes {
            rotates: false,
            ..turned
        };
        assert!(as_it_is.bytes() > 4 * turned.bytes());
        // Overflow is refused as well.
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

    /// Limits of SLURM's job and of a slice above the group of the process, in both versions of control groups.
    #[test]
    fn limits_of_all_groups_above_the_process_count() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(groups(dir.path()), None);
        put("proc/self/cgroup", "0::/a.slice/job_7/step_0\n");
        let v2 = "sys/fs/cgroup/a.slice";
        put(&format!("{v2}/job_7/step_0/memory.max"), "max\n");
        assert_eq!(groups(dir.path()), None);
        put(&format!("{v2}/job_7/memory.max"), "1000\n");
        put(&format!("{v2}/job_7/memory.current"), "700\n");
        let stat = "anon 1\ninactive_file 300\ntotal_inactive_file 9\n";
        put(&format!("{v2}/job_7/memory.stat"), stat);
        assert_eq!(groups(dir.path()), Some(600));
        put(&format!("{v2}/memory.max"), "500\n");
        assert_eq!(groups(dir.path()), Some(500));
        // Version 1, with the groups of other controllers beside it.
        put(
            "proc/self/cgroup",
            "9:cpu:/x\n4:memory:/slurm/job_7\n0::/\n",
        );
        let v1 = "sys/fs/cgroup/memory";
        put(
            &format!("{v1}/memory.limit_in_bytes"),
            "9223372036854771712\n",
        );
        put(&format!("{v1}/slurm/job_7/memory.limit_in_bytes"), "4000\n");
        put(&format!("{v1}/slurm/job_7/memory.usage_in_bytes"), "5000\n");
        assert_eq!(groups(dir.path()), Some(0));
        // A container that sees its own group at the mount.
        put("proc/self/cgroup", "4:memory:/docker/1234\n");
        put(&format!("{v1}/memory.limit_in_bytes"), "4096\n");
        assert_eq!(groups(dir.path()), Some(4096));
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
