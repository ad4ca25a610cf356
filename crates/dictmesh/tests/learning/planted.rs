//! A dictionary planted in the samples comes back, whoever learns it and however often.

use super::{assert_atoms_in_their_sets, distance, go_on, noise};
use dictmesh::problem::atoms::{AtomSet, UnitBall};
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Stopping, Topology, Update};

const M: usize = 20;
const K: usize = 25;

fn planted_atoms(non_negative: bool) -> Matrix {
    let w = gaussian(M, K, &mut stream(11, 0));
    // Non-negative atoms are alike unless they are sparse.
    let mut w = Matrix::from_fn(M, K, |i, q| match non_negative {
        true if (i * 7 + q * 3) % 5 > 1 => 0.0,
        true => w.get(i, q).abs(),
        false => w.get(i, q),
    });
    (0..K).for_each(|q| UnitBall.normalise(w.column_mut(q)));
    w
}

/// Sums of two signed atoms or three non-negative ones, with a little noise.
fn mixtures(w: &Matrix, count: usize, non_negative: bool, seed: u64) -> Samples {
    let mut rng = stream(seed, 1);
    let draws = gaussian(6, count, &mut rng);
    let mut x = gaussian(M, count, &mut rng);
    x.as_mut_slice().iter_mut().for_each(|x| *x *= 0.005);
    for j in 0..count {
        for i in 0..if non_negative { 3 } else { 2 } {
            let (pick, size) = (draws.get(i, j), draws.get(i + 3, j));
            // Uniform enough: the digits of a Gaussian below the tenth.
            let q = (pick.abs() * 1e4) as usize % K;
            let sign = if size < 0.0 && !non_negative {
                -1.0
            } else {
                1.0
            };
            let y = sign * (0.5 + size.abs());
            for (x, w) in x.column_mut(j).iter_mut().zip(w.column(q)) {
                *x += y * w;
            }
        }
    }
    Samples::dense(x).unwrap()
}

/// The share of the planted atoms that some learned one matches up to sign.
fn recovered(learned: &Matrix, planted: &Matrix) -> f64 {
    let cosine = |a: &[f64], b: &[f64]| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b).abs() / (dot(a, a) * dot(b, b)).sqrt().max(1e-300)
    };
    let found = planted.columns().filter(|w| {
        let best = learned.columns().map(|l| cosine(l, w)).fold(0.0, f64::max);
        best > 0.98
    });
    found.count() as f64 / planted.cols() as f64
}

fn mesh_with(task: &Task, start: AtomInit<'_>) -> Mesh {
    Mesh::builder(task.clone(), Topology::ring(5).unwrap())
        .informed(&[0, 3])
        .batch(10)
        .update(Update::Adaptive { forgetting: 0.9 })
        .seed(4)
        .stopping(Stopping::tolerance(1e-2))
        .build(M, &[5, 7, 3, 6, 4], start)
        .unwrap()
}

fn held_out_cost(mesh: &Mesh, x: &Samples) -> f64 {
    let exact = mesh.exact(x).unwrap();
    exact.certificates.iter().map(|c| c.dual).sum::<f64>() / x.len() as f64
}

fn comes_back(task: Task, non_negative: bool) {
    let planted = planted_atoms(non_negative);
    let x = mixtures(&planted, 3000, non_negative, 1);
    let held_out = mixtures(&planted, 200, non_negative, 2);
    let mut mesh = mesh_with(&task, AtomInit::Samples(&x));
    let goal = held_out_cost(&mesh_with(&task, AtomInit::Given(&planted)), &held_out);
    let start = held_out_cost(&mesh, &held_out);
    assert!(recovered(&mesh.dictionary(), &planted) < 0.5, "too easy");
    for _ in 0..2 {
        mesh.learn(&x, go_on).unwrap();
    }
    let share = recovered(&mesh.dictionary(), &planted);
    let cost = held_out_cost(&mesh, &held_out);
    assert!(
        share >= 0.95,
        "{share} of the atoms came back; cost {start} -> {cost}, planted {goal}"
    );
    assert!(cost < 1.02 * goal, "cost {start} -> {cost}, planted {goal}");
    assert_atoms_in_their_sets(&mesh, "planted");
}

#[test]
fn a_planted_dictionary_comes_back() {
    comes_back(Task::sparse_svd(0.1, 0.02).unwrap(), false);
}

#[test]
fn a_planted_non_negative_dictionary_comes_back() {
    comes_back(Task::nmf(0.1, 0.05).unwrap(), true);
}

/// The same seed gives the same bits, another seed does not; threads change nothing.
#[test]
fn learning_repeats_and_does_not_depend_on_threads() {
    let x = mixtures(&planted_atoms(false), 500, false, 3);
    let task = Task::sparse_svd(0.1, 0.05).unwrap();
    let learn = |threads: usize, seed: u64| {
        // 20 x 250 x 5 numbers a round: enough for the rounds to run on several threads.
        let mut mesh = Mesh::builder(task.clone(), Topology::ring(5).unwrap())
            .batch(250)
            .seed(seed)
            .threads(threads)
            .build(M, &[5; 5], AtomInit::Random)
            .unwrap();
        let mut events = Vec::new();
        mesh.learn(&x, |event| {
            events.push(*event);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        let costs = mesh.infer(&x).unwrap().costs;
        let exact = mesh.exact(&x).unwrap().codes;
        (mesh.dictionary(), events, costs, exact)
    };
    let once = learn(1, 7);
    assert!(once == learn(1, 7), "the same seed");
    assert!(once == learn(2, 7), "two threads");
    assert!(once == learn(3, 7), "three threads");
    assert!(once.0 != learn(1, 8).0, "another seed");
}

/// A warm start changes where the rounds begin, not what they find.
#[test]
fn a_warm_start_finds_the_same() {
    let x = mixtures(&planted_atoms(false), 120, false, 5);
    let task = Task::sparse_svd(0.1, 0.1).unwrap();
    let learn = |warm: bool| {
        let mut mesh = Mesh::builder(task.clone(), Topology::ring(5).unwrap())
            .batch(40)
            .warm_start(warm)
            .stopping(Stopping::tolerance(1e-7))
            .build(M, &[5; 5], AtomInit::Samples(&x))
            .unwrap();
        let mut costs = Vec::new();
        mesh.learn(&x, |event| {
            costs.push(event.cost);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        (mesh.dictionary(), costs)
    };
    let (cold, warm) = (learn(false), learn(true));
    assert_eq!(cold.1.len(), 3);
    for (a, b) in cold.1.iter().zip(&warm.1) {
        assert!((a - b).abs() < 1e-5 * a, "{a} and {b}");
    }
    let off = distance(&cold.0, &warm.0);
    assert!(off < 1e-3, "the dictionaries are {off} apart");
    assert_ne!(cold.0, warm.0, "the warm start was not used");
}

/// A last batch that is shorter than the others cannot start where they ended, and does not.
#[test]
fn a_warm_start_survives_a_short_batch() {
    let x = noise(M, 25, 1);
    let task = Task::sparse_svd(0.1, 0.1).unwrap();
    let mut mesh = Mesh::builder(task, Topology::ring(5).unwrap())
        .batch(10)
        .warm_start(true)
        .build(M, &[5; 5], AtomInit::Random)
        .unwrap();
    mesh.learn(&x, go_on).unwrap();
    mesh.learn(&x, go_on).unwrap();
    assert_atoms_in_their_sets(&mesh, "warm");
}
