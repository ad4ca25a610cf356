//! A rank that is killed when all is learned and nothing is written.

use super::*;

/// A rank is killed when others have come to their end already: they have it in their checkpoints that there is nothing
/// left to do, and the killed one has not. They go on together all the same; this used to wait for ever.
#[test]
#[cfg_attr(
    not(feature = "mpi"),
    ignore = "needs MPI: scripts/install-mpi, then --features dictmesh-cli/mpi"
)]
fn a_rank_that_is_killed_at_the_very_end_can_be_resumed_from() {
    check_mpi();
    let x = samples(9);
    for graph in ["ring", "complete"] {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        write(&place, &x);
        let flags = format!("--atoms 8 --batch 1 --rounds 400 --topology {graph} --quiet");
        let flags: Vec<&str> = flags.split(' ').collect();
        // Checkpoints are written at the start, after eight batches, and at the end.
        let file = |k: usize, position: usize| {
            place.join(format!(
                "model.checkpoint/agent-{k}/checkpoint-{position:020}"
            ))
        };
        kill_at_the_end(&place, &flags);
        // As it would be, had the rank been killed before it wrote that it was at its end.
        assert!((0..4).all(|k| file(k, 9).exists()), "{graph}");
        fs::remove_file(file(1, 9)).unwrap();
        (0..4).for_each(|k| fs::remove_file(place.join(format!("model.{k}"))).unwrap());
        let again = [&flags[..], &["--resume", "model.checkpoint"]].concat();
        let out = ended(mpirun(&place, 4, &again).spawn().unwrap());
        assert!(out.status.success(), "{graph}: {}", said(&out));
        let model = learned(&place, 4);
        let mesh = in_one_process(&model, &x);
        if graph == "ring" {
            assert_same(&model, &mesh, graph);
        }
        assert!(!place.join("model.checkpoint").exists());
        // All blocks are written, and the job was ended before all checkpoints were gone.
        fs::create_dir_all(place.join("model.checkpoint/agent-2")).unwrap();
        let out = ended(mpirun(&place, 4, &again).spawn().unwrap());
        assert!(out.status.success(), "{graph}: {}", said(&out));
        assert!(!place.join("model.checkpoint").exists());
        assert_eq!(learned(&place, 4).blocks, model.blocks);
    }
}

/// A barrier that nobody comes through.
const STANDS_STILL: &str =
    "#include <mpi.h>\n#include <unistd.h>\nint MPI_Barrier(MPI_Comm c) { (void)c; for (;;) pause(); }\n";

/// Runs a job of four ranks and kills one when all have written their blocks, and wait for each other before they remove
/// their checkpoints. There they stand still: MPI's profiling interface is made for calls to be replaced.
fn kill_at_the_end(place: &Path, flags: &[&str]) {
    fs::write(place.join("still.c"), STANDS_STILL).unwrap();
    let mut mpicc = Command::new("mpicc");
    mpicc.args(["-shared", "-fPIC", "-o", "still.so", "still.c"]);
    assert!(mpicc.current_dir(place).status().unwrap().success());
    let mut job = mpirun(place, 4, flags);
    let mut child = job
        .env("LD_PRELOAD", place.join("still.so"))
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    while !(0..4).all(|k| place.join(format!("model.{k}")).exists()) {
        assert!(
            child.try_wait().unwrap().is_none(),
            "{}",
            said(&ended(child))
        );
        assert!(Instant::now() < until, "no progress");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_rank_1(place, child);
}
