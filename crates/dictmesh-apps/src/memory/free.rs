//! The memory that is free for this process.

#[cfg(any(target_os = "linux", test))]
use std::{fs, path::Path};

/// The bytes that this process can still allocate: of the machine, its address space and its
/// control groups.
#[cfg(target_os = "linux")]
pub fn free() -> u64 {
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
pub fn free() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    match system.available_memory() {
        0 => u64::MAX, // Not known on this system.
        bytes => bytes,
    }
}

/// The files of a control group: its limit, its use, and the key of the reclaimable file cache in
/// `memory.stat`.
#[cfg(any(target_os = "linux", test))]
const GROUP_FILES: [[&str; 3]; 2] = [
    ["memory.max", "memory.current", "inactive_file"],
    [
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ],
];

/// The bytes left to this process by its control groups, version 1 or 2, as containers and SLURM
/// set them. A limit holds for all groups below it, so that each group up to the root counts.
/// `root` is / outside of tests.
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

    /// Limits of SLURM's job and of a slice above the group of the process, in both versions of
    /// control groups.
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
