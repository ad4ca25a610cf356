//! What `mesh init` writes, and what it refuses.

use crate::common::{files, ok, refused, run, said};
use crate::run::table;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_mesh_with_certificates_is_ready_to_be_copied() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(20)).unwrap();
    let said = ok(
        at,
        "mesh init m --data x.csv --agents 3 --atoms 6 --topology path --tls \
         --hosts 10.0.0.1,10.0.0.2,10.0.0.2 --strategy relaxed-admm",
    );
    assert!(
        said.contains("3 agents and 2 edges, samples of 12 rows"),
        "{said}"
    );
    assert!(said.contains("rho"), "the constants are filled in: {said}");
    for k in 0..3 {
        let names = files(&at.join(format!("m/agent-{k}")));
        for name in [
            "agent.toml",
            "authority.pem",
            "certificate.pem",
            "private.key",
        ] {
            assert!(
                names.iter().any(|n| n.ends_with(name)),
                "{name} in {names:?}"
            );
        }
    }
    for key in [
        "authority.key",
        "agent-0/private.key",
        "agent-2/private.key",
    ] {
        let mode = fs::metadata(at.join("m").join(key))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
    let agent = fs::read_to_string(at.join("m/agent-1/agent.toml")).unwrap();
    assert!(
        agent.contains("10.0.0.2:7400") && agent.contains("10.0.0.2:7401"),
        "{agent}"
    );
    // Nothing of another agent's atoms, and no secret, is in it.
    assert!(!agent.contains("KEY"), "{agent}");
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(20)).unwrap();
    fs::write(at.join("a.txt"), "some words\n").unwrap();
    for (flags, words) in [
        (
            "--data x.csv --agents 2 --hosts 10.0.0.1",
            ["--plain-text", "--tls"],
        ),
        (
            "--data x.csv --agents 3 --hosts a,b",
            ["2 hosts for 3 agents", "one for each"],
        ),
        ("--data x.csv --agents 2 --rows 5", ["have 12", "--rows"]),
        (
            "--data a.txt --agents 2",
            ["text", "learn --over processes"],
        ),
        (
            "--data x.csv --agents 2 --passes 0",
            ["--passes 0", "at least 1 is needed"],
        ),
        (
            "--data x.csv --agents 2 --informed 5",
            ["--informed 5", "0 to 1"],
        ),
        ("--data x.csv --agents 2 --port 65535", ["65536", "65535"]),
        (
            "--data x.csv --agents 3 --port 7400 --metrics 7402",
            ["agent-0 would be watched on port 7402", "agent-2 listens"],
        ),
        (
            "--data x.csv --agents 3 --port 7402 --metrics 7400",
            ["agent-2 would be watched on port 7402", "agent-0 listens"],
        ),
        (
            "--data x.csv --agents 2 --hosts 127.0.0.1,127.0.0.2 --metrics 9400",
            ["agent-0 and agent-1", "both be watched on port 9400"],
        ),
    ] {
        refused(at, &format!("mesh init m {flags}"), &words);
    }
    ok(at, "mesh init m --data x.csv --agents 2");
    refused(
        at,
        "mesh init m --data x.csv --agents 2",
        &["there already"],
    );
    refused(at, "launch nothing.toml", &["nothing.toml"]);
    refused(at, "agent nothing.toml", &["nothing.toml"]);
    let file = at.join("m/agent-0/agent.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("run =", "rum =")).unwrap();
    refused(at, "agent m/agent-0/agent.toml", &["rum", "line 2"]);
}

/// A link that leads nowhere stands where the newcomer's directory should appear: its key must not stay behind under
/// another name.
#[test]
fn an_agent_that_cannot_be_added_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (at, mesh) = (place.path(), place.path().join("m"));
    fs::write(at.join("x.csv"), table(20)).unwrap();
    ok(at, "mesh init m --data x.csv --agents 2 --tls");
    std::os::unix::fs::symlink("nowhere", mesh.join("agent-2")).unwrap();
    let settings = || fs::read_to_string(mesh.join("mesh.toml")).unwrap();
    let before = (files(&mesh), settings());
    refused(at, "mesh add m --neighbours 1", &["agent-2"]);
    assert_eq!((files(&mesh), settings()), before);
    fs::remove_file(mesh.join("agent-2")).unwrap();
    ok(at, "mesh add m --neighbours 1");
}

/// As everywhere in the program, what is missing is a wrong command line.
#[test]
fn a_flag_that_is_missing_is_named_with_exit_code_2() {
    let place = tempfile::tempdir().unwrap();
    for (flags, word) in [
        ("--agents 3", "--data <DATA>|--watch <DIR>|--stdin"),
        ("--agents 3 --rows 4", "--data <DATA>|--watch <DIR>|--stdin"),
        ("--agents 3 --stdin", "--rows <M>"),
        ("--agents 3 --watch in", "--rows <M>"),
    ] {
        let out = run(place.path(), &format!("mesh init m {flags}"));
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        assert!(said(&out).contains(word), "{}", said(&out));
    }
    assert!(files(place.path()).is_empty());
}

/// An allocation that fails would end the process without a word.
#[test]
fn sizes_beyond_memory_are_refused_with_what_fits() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(20)).unwrap();
    ok(at, "mesh init m --data x.csv --agents 2 --atoms 4");
    let (atoms, most) = ("--atoms 100000000000", "from 1 to 10000000");
    refused(at, &format!("mesh add m --neighbours 0 {atoms}"), &[most]);
    refused(at, &format!("mesh init n --data x.csv {atoms}"), &[most]);
    refused(
        at,
        "mesh init n --stdin --rows 4000000000 --agents 2",
        &["rows = 4000000000", "at most", "shorter samples"],
    );
    let file = at.join("m/agent-0/agent.toml");
    let text = fs::read_to_string(&file).unwrap();
    let batch = text.lines().find(|l| l.starts_with("batch = ")).unwrap();
    for (changed, words) in [
        (
            text.replace("\natoms = 2", "\natoms = 100000000000"),
            ["atoms = 100000000000", "at most 10000000"],
        ),
        (
            text.replace("\nrows = 12", "\nrows = 4000000000"),
            ["rows = 4000000000", "at most"],
        ),
        (
            text.replace("\nrows = 12", "\nrows = 200000000")
                .replace(batch, "batch = 1")
                .replace("\natoms = 2", "\natoms = 40000"),
            ["40000 atoms of 200000000 numbers", "TB of memory"],
        ),
    ] {
        assert_ne!(changed, text);
        fs::write(&file, changed).unwrap();
        refused(at, "agent m/agent-0/agent.toml", &words);
    }
}
