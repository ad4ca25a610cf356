//! `learn --over mpi` as a person runs it: the atoms of the mesh in one process to the last bit, through a rank that is
//! killed. Without the feature `mpi` the tests are ignored, and say how to get it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod at_the_end;

use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Mesh, Model, Samples, Topology};
use std::fs;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const ROWS: usize = 9;
/// Every wait ends.
const PATIENCE: Duration = Duration::from_secs(240);

/// Says how to get what these tests need, where they are run without it.
fn check_mpi() {
    let there = Command::new("mpirun").arg("--version").output().is_ok();
    assert!(
        cfg!(feature = "mpi") && there,
        "this needs MPI. Install it (scripts/install-mpi gets Debian's) and run cargo test -p dictmesh-cli --features mpi \
         --test mpi"
    );
}

fn samples(count: usize) -> Samples {
    let base = gaussian(ROWS, 4, &mut stream(5, 1));
    let mix = gaussian(4, count, &mut stream(5, 2));
    Samples::dense(base.times(&mix)).unwrap()
}

/// The samples as a table in which every number comes back to the last bit.
fn write(dir: &Path, x: &Samples) {
    let x = x.to_dense();
    let line = |sample: &[f64]| {
        let numbers: Vec<String> = sample.iter().map(|v| format!("{v:e}")).collect();
        numbers.join(",") + "\n"
    };
    let text: String = x.columns().map(line).collect();
    fs::write(dir.join("x.csv"), text).unwrap();
}

fn mpirun(dir: &Path, ranks: usize, args: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--oversubscribe", "-np", &ranks.to_string()])
        .arg(env!("CARGO_BIN_EXE_dictmesh"))
        .args([
            "learn", "x.csv", "-o", "model", "--over", "mpi", "--header", "no",
        ])
        .args(args)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("RAYON_NUM_THREADS", "1")
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Waits for its end, but not for ever.
fn ended(mut child: Child) -> Output {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the job does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

fn learned(dir: &Path, ranks: usize) -> Model {
    let part = |k: usize| Model::load(dir.join(format!("model.{k}"))).unwrap();
    let parts: Vec<Model> = (0..ranks).map(part).collect();
    for (k, part) in parts.iter().enumerate() {
        let agents: Vec<usize> = part.blocks.iter().map(|b| b.agent).collect();
        assert_eq!(agents, [k], "a rank has its own block and no other");
    }
    Model::join(parts).unwrap()
}

/// What the mesh in one process makes of the same choices, without rotation.
fn in_one_process(model: &Model, x: &Samples) -> Mesh {
    let d = &model.description;
    let topology = Topology::from_edges(d.agents, &d.edges).unwrap();
    let sizes: Vec<usize> = model.blocks.iter().map(|b| b.atoms.cols()).collect();
    let mut mesh = Mesh::builder(d.task.build().unwrap(), topology)
        .weights(d.weights.clone())
        .strategy(dictmesh::strategy::build(&d.strategy).unwrap())
        .stopping(d.stopping)
        .update(d.update)
        .batch(d.batch)
        .seed(d.seed)
        .informed(&d.informed)
        .accels(dictmesh::accel::Accels::parse("lanes").unwrap())
        .build(d.rows, &sizes, AtomInit::Samples(x))
        .unwrap();
    mesh.learn(x, |_| Continue(())).unwrap();
    mesh
}

fn assert_same(model: &Model, mesh: &Mesh, what: &str) {
    for block in &model.blocks {
        let (k, atoms) = (block.agent, mesh.block(block.agent).atoms());
        assert_eq!(*block.atoms, *atoms, "{what}: the atoms of agent {k}");
        assert_eq!(block.energy, mesh.atom_stats(k).energy, "{what}: agent {k}");
        assert_eq!(
            block.samples,
            mesh.atom_stats(k).samples,
            "{what}: agent {k}"
        );
    }
}

#[test]
#[cfg_attr(
    not(feature = "mpi"),
    ignore = "needs MPI: scripts/install-mpi, then --features dictmesh-cli/mpi"
)]
fn ranks_learn_what_one_process_learns_to_the_last_bit() {
    check_mpi();
    let x = samples(60);
    let strategies = [
        "diffusion",
        "consensus",
        "jacobi-admm",
        "exact-diffusion",
        "relaxed-admm",
        "tree",
    ];
    for (i, strategy) in strategies.into_iter().enumerate() {
        // A complete graph of two is bipartite, which jacobi-admm does not take.
        for ranks in [1, 2, 5] {
            let dir = tempfile::tempdir().unwrap();
            write(dir.path(), &x);
            let graph = ["ring", "path"][(i + ranks) % 2];
            let graph = if ranks < 3 { "path" } else { graph };
            let args = [
                "--atoms",
                "7",
                "--batch",
                "8",
                "--rounds",
                "15",
                "--quiet",
                "--topology",
                graph,
                "--strategy",
                strategy,
            ];
            let out = ended(mpirun(dir.path(), ranks, &args).spawn().unwrap());
            let what = format!("{strategy}, {ranks} ranks, {graph}: {}", said(&out));
            assert!(out.status.success(), "{what}");
            let model = learned(dir.path(), ranks);
            assert_eq!(model.description.agents, ranks);
            assert_eq!(model.description.progress.samples_learned, 60);
            assert_same(&model, &in_one_process(&model, &x), &what);
            assert!(!dir.path().join("model.checkpoint").exists(), "{what}");
        }
    }
}

/// On a complete graph the ranks exchange sums, in an order of MPI's own: the same to rounding, with fewer bytes.
#[test]
#[cfg_attr(
    not(feature = "mpi"),
    ignore = "needs MPI: scripts/install-mpi, then --features dictmesh-cli/mpi"
)]
fn a_complete_graph_is_an_allreduce_and_learns_the_same() {
    check_mpi();
    let x = samples(200);
    for strategy in dictmesh::strategy::GOSSIP {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &x);
        let flags = "--atoms 9 --batch 8 --rounds 15 --json --topology complete --strategy";
        let args: Vec<&str> = flags.split(' ').chain([strategy]).collect();
        let out = ended(mpirun(dir.path(), 5, &args).spawn().unwrap());
        let what = format!("{strategy}: {}", said(&out));
        assert!(out.status.success(), "{what}");
        let told: serde_json::Value = serde_json::from_slice(&out.stdout).expect(&what);
        // A frame to each of four others in each of 15 rounds of 25 batches would be more than this.
        let frames = 4 * 8 * (ROWS * 8) as u64 * 15 * 25;
        assert!(told["bytes"].as_u64().unwrap() < frames, "{what}");
        let model = learned(dir.path(), 5);
        let mesh = in_one_process(&model, &x);
        for block in &model.blocks {
            let atoms = mesh.block(block.agent).atoms();
            let pairs = block.atoms.as_slice().iter().zip(atoms.as_slice());
            let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off <= 1e-9, "{off:e}: {what}");
        }
    }
    // The middle of a star has all others as neighbours, who have only it: no sum over all.
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &x);
    let flags = "--atoms 9 --batch 50 --rounds 15 --quiet --topology star";
    let args: Vec<&str> = flags.split(' ').collect();
    let out = ended(mpirun(dir.path(), 5, &args).spawn().unwrap());
    assert!(out.status.success(), "{}", said(&out));
    let model = learned(dir.path(), 5);
    assert_same(&model, &in_one_process(&model, &x), "star");
    // One model of all blocks, when asked for.
    let join = |ranks: usize| {
        let parts = (0..ranks).map(|k| format!("model.{k}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_dictmesh"));
        command
            .arg("join")
            .args(parts)
            .args(["-o", "all", "--quiet"]);
        command.current_dir(dir.path()).output().unwrap()
    };
    let out = join(4);
    assert!(said(&out).contains("the blocks of 4 are missing"));
    assert!(!out.status.success() && !dir.path().join("all").exists());
    let out = join(5);
    assert!(out.status.success(), "{}", said(&out));
    let all = Model::load(dir.path().join("all")).unwrap();
    assert_eq!(all.blocks, model.blocks);
}

/// The process that is this rank of a job in this directory.
fn rank(dir: &Path, wanted: usize) -> Option<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut processes = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    let wanted = format!("OMPI_COMM_WORLD_RANK={wanted}");
    processes.find(|pid| {
        let at = fs::read_link(format!("/proc/{pid}/cwd"));
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|b| *b == 0);
        at.is_ok_and(|at| at == dir) && variables.any(|v| v == wanted.as_bytes())
    })
}

/// Kills a rank of a job in this directory, which ends and names the checkpoint.
fn kill_rank_1(place: &Path, job: Child) {
    let victim = rank(place, 1).expect("rank 1 is there");
    let killed = Command::new("kill").args(["-9", &victim]).status().unwrap();
    assert!(killed.success());
    let out = ended(job);
    let words = said(&out);
    assert!(!out.status.success(), "{words}");
    assert!(words.contains("--resume model.checkpoint"), "{words}");
}

/// A rank is killed in the middle: the job ends, names the checkpoint, and goes on from it to the same atoms.
#[test]
#[cfg_attr(
    not(feature = "mpi"),
    ignore = "needs MPI: scripts/install-mpi, then --features dictmesh-cli/mpi"
)]
fn a_killed_rank_ends_the_job_and_resume_goes_on_to_the_same_atoms() {
    check_mpi();
    let x = samples(400);
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().canonicalize().unwrap();
    write(&place, &x);
    let flags = [
        "--atoms",
        "6",
        "--batch",
        "1",
        "--rounds",
        "60",
        "--topology",
        "ring",
        "--passes",
        "2",
        "--quiet",
    ];
    let child = mpirun(&place, 3, &flags).spawn().unwrap();
    // Until every rank has a checkpoint with samples in it.
    let kept = |k: usize| {
        let files = fs::read_dir(place.join(format!("model.checkpoint/agent-{k}")));
        files.is_ok_and(|files| files.flatten().count() >= 2)
    };
    let until = Instant::now() + PATIENCE;
    while !(0..3).all(kept) {
        assert!(Instant::now() < until, "no checkpoints");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_rank_1(&place, child);
    assert!(!place.join("model.0").exists(), "nothing half learned");

    // Other choices are another run.
    let other = [
        &flags[..],
        &["--gamma", "0.2", "--resume", "model.checkpoint"],
    ]
    .concat();
    let out = ended(mpirun(&place, 3, &other).spawn().unwrap());
    assert!(
        !out.status.success() && said(&out).contains("run"),
        "{}",
        said(&out)
    );

    let again = [&flags[..], &["--resume", "model.checkpoint"]].concat();
    let out = ended(mpirun(&place, 3, &again).spawn().unwrap());
    assert!(out.status.success(), "{}", said(&out));
    let model = learned(&place, 3);
    assert_eq!(model.description.progress.samples_learned, 2 * 400);
    let mut mesh = in_one_process(&model, &x);
    for _ in 1..2 {
        mesh.learn(&x, |_| Continue(())).unwrap();
    }
    assert_same(&model, &mesh, "resumed");
}

#[test]
#[cfg_attr(
    not(feature = "mpi"),
    ignore = "needs MPI: scripts/install-mpi, then --features dictmesh-cli/mpi"
)]
fn what_ranks_cannot_do_is_said_by_one_of_them() {
    check_mpi();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &samples(20));
    for (args, word) in [
        (&["--agents", "4"][..], "start mpirun -np 4"),
        (&["--topology", "grid:2x2"], "start mpirun -np 4"),
        (&["--report", "page"], "--report"),
        (&["--resume", "nowhere"], "--resume nowhere"),
        (&["--gamma", "-1"], "gamma"),
    ] {
        let out = ended(mpirun(dir.path(), 3, args).spawn().unwrap());
        let words = said(&out);
        assert!(
            !out.status.success() && words.contains(word),
            "{args:?}: {words}"
        );
        assert_eq!(
            words.matches("dictmesh: rank").count(),
            1,
            "{args:?}: {words}"
        );
        assert!(!dir.path().join("model.0").exists(), "{args:?}");
    }
}
