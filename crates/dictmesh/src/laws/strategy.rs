//! The laws of a strategy, on small meshes.

use super::{atoms, distance, holds, plus, to_sparse, words, Law};
use crate::accel::Accels;
use crate::graph::Topology;
use crate::mesh::{AtomInit, Mesh, MeshBuilder, Stopping};
use crate::problem::regularizer::ElasticNet;
use crate::problem::residual::{Huber, SquaredL2};
use crate::problem::{Samples, Task};
use crate::random::{gaussian, stream};
use crate::strategy::Strategy;
use crate::Stop;
use dictmesh_kernels::matrix::{dot, norm, Matrix};
use std::sync::Arc;

/// The stopping rule of a comparison with the exact solution.
const STOPPING: Stopping = Stopping {
    tolerance: Some(1e-8),
    rounds: 100_000,
};
/// Relative distance allowed from the exact solution; the stopping rule estimates its own error to
/// a factor of a few.
const EXACT: f64 = 1e-5;
/// Relative distance that the order of sums explains.
const ROUNDING: f64 = 1e-10;

/// Checks every law of a strategy:
///
/// - `resolve` fills in every constant, with a step within its bound, and keeps the name (or has
///   that of the strategy that `choose` returns);
/// - every agent converges to the nu of `exact`, on an irregular graph with an empty block, on a
///   complete graph and for a single agent (unless `is_biased`);
/// - permuting agents permutes results (unless the strategy draws random numbers);
/// - results do not depend on the number of threads (bit-identical); a batch gives what its samples
///   give, and sparse samples what dense ones give;
/// - if `solves_alone`, a single agent needs one round; if `is_rotation_equivariant`, rotated atoms
///   and samples have rotated duals.
///
/// The meshes have the residuals squared l2 and Huber, if the strategy supports them, and symmetric
/// weights.
///
/// ```
/// use dictmesh::{laws, strategy::RelaxedAdmm};
/// use std::sync::Arc;
/// assert_eq!(laws::strategy(Arc::new(RelaxedAdmm::default())), Ok(()));
/// ```
pub fn strategy(strategy: Arc<dyn Strategy>) -> Law {
    let name = strategy.name();
    holds(!name.is_empty(), || "spec has no name".into())?;
    let net = words(ElasticNet::new(0.1, 0.3))?;
    let huber = words(Huber::new(0.2))?;
    let tasks = [Task::new(SquaredL2), Task::new(huber)].map(|task| task.regularizer(net));
    let accepts = |task: &&Task| strategy.check(task.residual(), true).is_ok();
    let accepted: Vec<&Task> = tasks.iter().filter(accepts).collect();
    holds(!accepted.is_empty(), || {
        format!("\"{name}\" accepts neither squared l2 nor Huber with symmetric weights")
    })?;
    for task in accepted {
        let subject = Subject {
            strategy: &strategy,
            task,
        };
        let label = |broken: String| format!("{}: {broken}", task.residual().name());
        subject.every_law().map_err(label)?;
    }
    Ok(())
}

/// Sparse combinations of the atoms.
fn samples(w: &Matrix, count: usize, seed: u64) -> Matrix {
    let mut y = gaussian(w.cols(), count, &mut stream(seed, 2));
    for (i, y) in y.as_mut_slice().iter_mut().enumerate() {
        *y = if i % 3 == 0 { y.abs() } else { 0.0 };
    }
    w.times(&y)
}

/// The largest distance of two columns, relative to the second; a zero column must be met to 1e-12.
fn apart(found: &Matrix, expected: &Matrix) -> f64 {
    let columns = found.columns().zip(expected.columns());
    let each = columns.map(|(a, b)| distance(a, b) / norm(b).max(1e-12));
    each.fold(0.0, |most, off| if off <= most { most } else { off })
}

/// A strategy and the task it solves.
#[derive(Clone, Copy)]
struct Subject<'a> {
    strategy: &'a Arc<dyn Strategy>,
    task: &'a Task,
}

impl Subject<'_> {
    fn every_law(self) -> Law {
        self.constants()?;
        let irregular = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
        let irregular = words(Topology::from_edges(6, &irregular))?;
        self.solution(irregular, &[3, 0, 4, 1, 2, 4], &[1, 4])?;
        self.solution(words(Topology::complete(4))?, &[2; 4], &[0, 1, 2, 3])?;
        self.solution(words(Topology::ring(1))?, &[6], &[0])?;
        self.threads()?;
        if !self.is_random()? {
            self.permutation()?;
            self.batch()?;
            self.rotation()?;
        }
        Ok(())
    }

    fn builder(self, topology: Topology, stopping: Stopping) -> MeshBuilder {
        let mesh = Mesh::builder(self.task.clone(), topology);
        mesh.strategy(self.strategy.clone()).stopping(stopping)
    }

    /// The mesh of these atoms, `size` per agent, that runs this number of rounds.
    fn mesh(
        self,
        topology: Topology,
        w: &Matrix,
        size: usize,
        rounds: usize,
    ) -> Result<Mesh, String> {
        let sizes = vec![size; topology.agents()];
        let builder = self.builder(topology, Stopping::rounds(rounds));
        words(builder.build(w.rows(), &sizes, AtomInit::Given(w)))
    }

    /// Resolving fills in every constant and is idempotent; the default step is within its bound.
    fn constants(self) -> Law {
        let mesh = self.mesh(words(Topology::ring(3))?, &atoms(5, 6, 1), 2, 1)?;
        let shared = mesh.shared_constants();
        let resolved = words(self.strategy.resolve(&shared))?;
        let again = words(resolved.resolve(&shared))?;
        holds(resolved.spec() == again.spec(), || {
            format!("resolve changes {} to {}", resolved.spec(), again.spec())
        })?;
        let chosen = words(self.strategy.choose(&shared))?;
        let name = chosen.map_or(self.strategy.name(), |chosen| chosen.name());
        holds(resolved.name() == name, || {
            format!("resolve changes the name to \"{}\"", resolved.name())
        })?;
        words(resolved.agent(stream(0, 0)))?;
        let step = resolved.step(&shared);
        holds(
            step.is_none_or(|(mu, bound)| mu > 0.0 && mu <= bound),
            || format!("the default step and its bound are {step:?}"),
        )
    }

    /// Every agent converges to the nu of `exact`. A single agent that solves alone stops after one
    /// round.
    fn solution(self, topology: Topology, sizes: &[usize], informed: &[usize]) -> Law {
        let agents = topology.agents();
        let w = atoms(10, sizes.iter().sum(), 5);
        let x = words(Samples::dense(samples(&w, 3, 6)))?;
        let builder = self.builder(topology, STOPPING).informed(informed);
        let mesh = words(builder.build(10, sizes, AtomInit::Given(&w)))?;
        let found = words(mesh.infer(&x))?;
        holds(found.stop == Stop::Converged, || {
            format!("{agents} agents: {} ({} rounds)", found.stop, found.rounds)
        })?;
        if self.strategy.is_biased() {
            return Ok(());
        }
        let exact = words(mesh.exact(&x))?;
        let each = found.duals.iter().map(|nu| apart(nu, &exact.duals));
        let off = each.fold(0.0, f64::max);
        holds(off <= EXACT, || {
            format!("{agents} agents: nu is {off:e} from that of exact")
        })
    }

    /// Whether results depend on the seed.
    fn is_random(self) -> Result<bool, String> {
        let w = atoms(9, 6, 3);
        let x = words(Samples::dense(samples(&w, 1, 4)))?;
        let duals = |seed| {
            let builder = self.builder(words(Topology::ring(3))?, Stopping::rounds(3));
            let mesh = words(builder.seed(seed).build(9, &[2; 3], AtomInit::Given(&w)))?;
            Ok::<_, String>(words(mesh.infer(&x))?.duals)
        };
        Ok(duals(0)? != duals(1)?)
    }

    fn permutation(self) -> Law {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)];
        let order = [3, 0, 4, 1, 2]; // agent k becomes agent order[k]
        let w = atoms(9, 10, 3);
        let x = words(Samples::dense(samples(&w, 2, 4)))?;
        let mut moved = Matrix::zeros(9, 10);
        for (k, to) in order.iter().enumerate() {
            for q in 0..2 {
                let atom = w.column(2 * k + q);
                moved.column_mut(2 * to + q).copy_from_slice(atom);
            }
        }
        let run = |edges: &[(usize, usize)], w: &Matrix, informed: usize| {
            let builder =
                self.builder(words(Topology::from_edges(5, edges))?, Stopping::rounds(60));
            let builder = builder.informed(&[informed]);
            let mesh = words(builder.build(9, &[2; 5], AtomInit::Given(w)))?;
            words(mesh.infer(&x))
        };
        let renamed = edges.map(|(a, b)| (order[a], order[b]));
        let (one, other) = (run(&edges, &w, 1)?, run(&renamed, &moved, order[1])?);
        for (k, to) in order.iter().enumerate() {
            let off = apart(&one.duals[k], &other.duals[*to]);
            holds(off <= ROUNDING, || {
                format!("permuting the agents changes nu of agent {k} by {off:e}")
            })?;
        }
        Ok(())
    }

    /// Results of 1 and 3 threads are bit-identical.
    fn threads(self) -> Law {
        let w = atoms(64, 48, 1);
        let x = words(Samples::dense(samples(&w, 20, 2)))?; // large enough to use threads
        let infer = |threads| {
            let graph = words(Topology::erdos_renyi(16, 0.3, 1))?;
            let builder = self.builder(graph, Stopping::rounds(30)).threads(threads);
            let mesh = words(builder.build(64, &[3; 16], AtomInit::Given(&w)))?;
            words(mesh.infer(&x))
        };
        let (one, three) = (infer(1)?, infer(3)?);
        holds(one.duals == three.duals && one.costs == three.costs, || {
            "results depend on the number of threads".into()
        })
    }

    /// A batch gives what its samples give; sparse samples are bit-identical to dense ones.
    fn batch(self) -> Law {
        let w = atoms(12, 8, 1);
        let full = samples(&w, 3, 2);
        let hole = |i: usize, j: usize| if i % 3 == j { 0.0 } else { full.get(i, j) };
        let x = Matrix::from_fn(12, 3, hole);
        let sparse = words(to_sparse(&x))?;
        let dense = words(Samples::dense(x))?;
        let mesh = self.mesh(words(Topology::complete(4))?, &w, 2, 100)?;
        let whole = words(mesh.infer(&dense))?;
        holds(whole.duals == words(mesh.infer(&sparse))?.duals, || {
            "sparse and dense samples have different results".into()
        })?;
        for j in 0..3 {
            let alone = words(mesh.infer(&dense.range(j..j + 1)))?;
            for (k, (whole, alone)) in whole.duals.iter().zip(&alone.duals).enumerate() {
                let off = apart(&whole.columns_range(j..j + 1), alone);
                holds(off <= ROUNDING, || {
                    format!("the batch changes nu of sample {j} at agent {k} by {off:e}")
                })?;
            }
        }
        Ok(())
    }

    /// Rotation of atoms and samples rotates the duals, if the strategy and the residual state so.
    fn rotation(self) -> Law {
        let applies = self.task.residual().is_rotation_invariant();
        if !(applies && self.strategy.is_rotation_equivariant()) {
            return Ok(());
        }
        let axis = atoms(9, 1, 8);
        let reflected = |m: &Matrix| {
            let mut out = m.clone();
            for (j, v) in m.columns().enumerate() {
                let axis = axis.column(0);
                let mirrored = plus(v, -2.0 * dot(axis, v), axis);
                out.column_mut(j).copy_from_slice(&mirrored);
            }
            out
        };
        let w = atoms(9, 8, 3);
        let x = samples(&w, 2, 4);
        let run = |w: &Matrix, x: Matrix| {
            let mut mesh = self.mesh(words(Topology::complete(4))?, w, 2, 60)?;
            mesh.set_accels(Accels::none());
            words(mesh.infer(&words(Samples::dense(x))?))
        };
        let (plain, turned) = (run(&w, x.clone())?, run(&reflected(&w), reflected(&x))?);
        for (k, (plain, turned)) in plain.duals.iter().zip(&turned.duals).enumerate() {
            let off = apart(&reflected(plain), turned);
            holds(off <= ROUNDING, || {
                format!("is_rotation_equivariant, but nu of agent {k} is off by {off:e}")
            })?;
        }
        Ok(())
    }
}
