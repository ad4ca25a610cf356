//! Rounds each strategy needs on the test problem: M = 100, 50 agents with 4 Gaussian unit atoms each,
//! gamma = delta = .1, squared residual, one informed agent. Error: max_k |nu_k - nu*| / |nu*|.
use dictmesh::inference::StrategySpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::task::Task;
use dictmesh::*;

fn problem(seed: u64, topology: Topology, size: f64) -> (Mesh, Samples) {
    let mut rng = stream(seed, 1000);
    let w = gaussian(100, 200, &mut rng);
    let mut x = gaussian(100, 1, &mut rng);
    let n = x.as_slice().iter().map(|v| v * v).sum::<f64>().sqrt();
    x.as_mut_slice().iter_mut().for_each(|v| *v *= size / n);
    let mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1).unwrap(), topology)
        .informed(&[0])
        .build(100, &[4; 50], Start::Given(&w))
        .unwrap();
    (mesh, Samples::dense(x).unwrap())
}

fn rounds(mesh: &Mesh, x: &Samples, max: usize) -> Vec<Option<usize>> {
    let exact = mesh.exact(x).unwrap();
    let star = exact.duals.column(0);
    let size = star.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut run = mesh.run(x).unwrap();
    let mut out = vec![None; 3];
    let goals = [1e-2, 1e-4, 1e-8];
    for r in 1..=max {
        run.round();
        let e = run
            .duals()
            .map(|nu| {
                nu.column(0)
                    .iter()
                    .zip(star)
                    .map(|(a, b)| (a - b).powi(2))
                    .sum::<f64>()
                    .sqrt()
            })
            .fold(0.0, f64::max)
            / size;
        for i in 0..3 {
            if out[i].is_none() && e <= goals[i] {
                out[i] = Some(r);
            }
        }
        if out[2].is_some() || !e.is_finite() {
            break;
        }
    }
    out
}

fn median(mut v: Vec<Option<usize>>) -> String {
    v.sort_by_key(|o| o.unwrap_or(usize::MAX));
    let at = |i: usize| v[i].map_or("never".into(), |n| n.to_string());
    let n = v.len();
    if n % 2 == 1 {
        at(n / 2)
    } else {
        format!("{}-{}", at(n / 2 - 1), at(n / 2))
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let name = args.get(1).map_or("relaxed-admm", |s| s);
    let seeds: u64 = args.get(2).map_or(10, |s| s.parse().unwrap());
    let scale: f64 = args.get(3).map_or(1.0, |s| s.parse().unwrap());
    let mult: f64 = args.get(4).map_or(1.0, |s| s.parse().unwrap());
    let max: usize = args.get(5).map_or(5000, |s| s.parse().unwrap());
    for graph in ["random", "ring"] {
        let t = std::time::Instant::now();
        let mut all = vec![Vec::new(); 3];
        let mut spec = None;
        for seed in 0..seeds {
            let topology = if graph == "ring" {
                Topology::ring(50)
            } else {
                Topology::erdos_renyi(50, 0.2, seed)
            }
            .unwrap();
            let (mut mesh, x) = problem(seed, topology, scale);
            let s = StrategySpec::from_name(name)
                .unwrap()
                .resolve(&mesh.common())
                .unwrap();
            let s = match s {
                StrategySpec::RelaxedAdmm { rho, alpha } => StrategySpec::RelaxedAdmm {
                    rho: rho.map(|r| r * mult),
                    alpha: args.get(6).map_or(alpha, |a| a.parse().ok()),
                },
                StrategySpec::JacobiAdmm { mu, penalty } => {
                    let m2: f64 = args.get(6).map_or(1.0, |a| a.parse().unwrap());
                    StrategySpec::JacobiAdmm {
                        mu: mu.map(|m| m * mult),
                        penalty: penalty.map(|p| p * m2),
                    }
                }
                StrategySpec::Diffusion { mu } => StrategySpec::Diffusion {
                    mu: mu.map(|m| m * mult),
                },
                StrategySpec::Consensus { mu } => StrategySpec::Consensus {
                    mu: mu.map(|m| m * mult),
                },
                StrategySpec::ExactDiffusion { mu } => StrategySpec::ExactDiffusion {
                    mu: mu.map(|m| m * mult),
                },
            };
            spec = Some(s.clone());
            mesh.set_strategy(s).unwrap();
            for (i, r) in rounds(&mesh, &x, max).into_iter().enumerate() {
                all[i].push(r);
            }
        }
        println!(
            "{graph:7} {} / {} / {}   {:?}  {:.1}s",
            median(all[0].clone()),
            median(all[1].clone()),
            median(all[2].clone()),
            spec,
            t.elapsed().as_secs_f64()
        );
    }
}
