use super::*;
use dictmesh::{AtomInit, Matrix, Task, Topology};
use dictmesh_data::preparation::{DataOptions, How, Kind, Raw, Reading};
use std::fs;

/// A run that goes on at sample 100 has batches as small as any: none of them is as large as all that was before.
#[test]
fn batches_of_a_run_that_goes_on_are_counted_from_where_it_does() {
    let learned = Learned {
        costs: vec![4.0, 2.0, 1.0],
        from: 100,
        ends: vec![104, 108, 110],
        entries: vec![1.0; 3],
        ..Learned::default()
    };
    assert_eq!(learned.sizes().collect::<Vec<_>>(), [4, 4, 2]);
    // Five samples at each end: 4 of cost 4 and 1 of 2; 2 of cost 1 and 3 of 2.
    assert_eq!(learned.first_and_last(), (3.6, 1.6, 5));
    let back = Learned {
        from: 106,
        ..learned
    };
    assert_eq!(back.sizes().collect::<Vec<_>>(), [0, 4, 2]);
}

/// Stops after a number of batches, and asks for a checkpoint before each.
struct Stops {
    batches: usize,
    kept: Vec<u64>,
}

impl Watcher for Stops {
    fn progress(&mut self, _: Progress) {
        self.batches = self.batches.saturating_sub(1);
    }

    fn due(&self) -> Pause {
        match self.batches {
            0 => Pause::Stop,
            _ => Pause::Checkpoint,
        }
    }

    fn keep(&mut self, _: &Mesh, position: &Position) {
        self.kept.push(position.learned);
    }
}

const SAMPLES: usize = 30;

/// Learns `passes` passes over a file, pausing after every `every` batches; returns the atoms, the number of batches
/// and the positions of checkpoints.
fn learn(passes: usize, min_gain: f64, every: usize) -> (Matrix, usize, Vec<u64>) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("x.csv");
    let row = |i: usize| format!("{},{},{}\n", i % 3, (i * i) % 5, i % 2);
    fs::write(&file, (0..SAMPLES).map(row).collect::<String>()).unwrap();
    let options = DataOptions::default();
    let raw = Raw::open(&file, Kind::Numbers, &options, &Reading::default(), None).unwrap();
    let how = How::default();
    let task = Task::sparse_svd(0.1, 0.1).unwrap();
    let mut mesh = Mesh::builder(task, Topology::ring(3).unwrap())
        .batch(4)
        .build(3, &[1; 3], AtomInit::Random)
        .unwrap();
    let feed = Feed {
        raw: &raw,
        how: &how,
        rows: 3,
        batch: 4,
        shuffle: Some(0),
    };
    let fingerprint = raw.fingerprint().unwrap();
    let mut position = Position::start(&file, fingerprint, SAMPLES);
    let (mut batches, mut kept) = (0, Vec::new());
    loop {
        let mut stops = Stops {
            batches: every,
            kept: Vec::new(),
        };
        let mut passes = Passes {
            feed: Feed { ..feed },
            passes,
            min_gain,
            mesh: &mut mesh,
            position: &mut position,
        };
        let learned = passes.run(&mut stops).unwrap();
        batches += learned.costs.len();
        kept.extend(stops.kept);
        if !learned.interrupted {
            return (mesh.dictionary(), batches, kept);
        }
    }
}

#[test]
fn pauses_change_nothing_that_is_learned() {
    let (atoms, batches, kept) = learn(2, 0.0, usize::MAX);
    assert_eq!(batches, 16);
    assert_eq!(kept.len(), 16);
    assert_eq!(kept.last(), Some(&60));
    for every in [1, 3, 8] {
        let (paused, count, _) = learn(2, 0.0, every);
        assert_eq!((&paused, count), (&atoms, batches), "every {every}");
    }
}

#[test]
fn learning_ends_when_a_pass_gains_too_little() {
    let all = learn(50, 0.0, usize::MAX).1;
    let few = learn(50, 0.05, usize::MAX).1;
    assert!(
        few >= 16 && few < all && few.is_multiple_of(8),
        "{few} of {all}"
    );
}
