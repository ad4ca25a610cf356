use dictmesh::atoms::*;
use dictmesh::inference::StrategySpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::task::*;
use dictmesh::*;
fn main() {
    let t0 = std::time::Instant::now();
    for (gname, t) in [
        ("ER.3", Topology::erdos_renyi(12, 0.3, 1).unwrap()),
        ("ring", Topology::ring(12).unwrap()),
    ] {
        for res in [
            ResidualSpec::SquaredL2,
            ResidualSpec::Huber { eta: 0.2 },
            ResidualSpec::L1,
            ResidualSpec::Ball { sigma: 0.3 },
            ResidualSpec::Equality,
        ] {
            for nonneg in [false, true] {
                let (m, per, n) = (20usize, 3usize, 12usize);
                let mut w = gaussian(m, per * n, &mut stream(3, 1));
                for q in 0..w.cols() {
                    AtomSet::UnitBall.normalise(w.column_mut(q));
                }
                let y = gaussian(per * n, 4, &mut stream(4, 1));
                let y =
                    Matrix::from_fn(
                        per * n,
                        4,
                        |i, j| if i % 4 == 0 { y.get(i, j).abs() } else { 0.0 },
                    );
                let x = Samples::dense(w.times(&y)).unwrap();
                let reg = if nonneg {
                    RegularizerSpec::NonNegativeElasticNet {
                        gamma: 0.1,
                        delta: 0.1,
                    }
                } else {
                    RegularizerSpec::ElasticNet {
                        gamma: 0.1,
                        delta: 0.1,
                    }
                };
                let task = TaskSpec {
                    residual: res.clone(),
                    common: LocalSpec {
                        regularizer: reg,
                        penalty: AtomPenalty::None,
                        set: AtomSet::UnitBall,
                    },
                    own: Default::default(),
                }
                .build()
                .unwrap();
                for name in StrategySpec::NAMES {
                    let b = Mesh::builder(task.clone(), t.clone())
                        .informed(&[0, 3])
                        .strategy(StrategySpec::from_name(name).unwrap())
                        .stopping(Stopping {
                            tolerance: Some(1e-4),
                            rounds: 20000,
                        });
                    let mesh = match b.build(m, &vec![per; n], Start::Given(&w)) {
                        Ok(m) => m,
                        Err(e) => {
                            println!("{gname} {:?} {name}: {e}", res);
                            continue;
                        }
                    };
                    let exact = mesh.exact(&x).unwrap();
                    let inf = mesh.infer(&x).unwrap();
                    let mut enu = 0f64;
                    let mut ey = 0f64;
                    let mut ec = 0f64;
                    let yy = inf.stacked_codes();
                    for j in 0..4 {
                        let ns = exact
                            .duals
                            .column(j)
                            .iter()
                            .map(|v| v * v)
                            .sum::<f64>()
                            .sqrt();
                        for nu in &inf.duals {
                            enu = enu.max(
                                nu.column(j)
                                    .iter()
                                    .zip(exact.duals.column(j))
                                    .map(|(a, b)| (a - b) * (a - b))
                                    .sum::<f64>()
                                    .sqrt()
                                    / ns,
                            );
                        }
                        let ys = exact
                            .codes
                            .column(j)
                            .iter()
                            .map(|v| v * v)
                            .sum::<f64>()
                            .sqrt();
                        ey = ey.max(
                            yy.column(j)
                                .iter()
                                .zip(exact.codes.column(j))
                                .map(|(a, b)| (a - b) * (a - b))
                                .sum::<f64>()
                                .sqrt()
                                / ys,
                        );
                        ec = ec.max(
                            (inf.costs[j] - exact.certificates[j].dual).abs()
                                / exact.certificates[j].dual.abs(),
                        );
                    }
                    println!("{gname} {:?} nn={nonneg} {name}: {:?} rounds {} err nu {enu:.1e} y {ey:.1e} cost {ec:.1e} dis {:.1e}", res, inf.stop, inf.rounds, inf.disagreement);
                }
            }
        }
    }
    println!("{:.1}s", t0.elapsed().as_secs_f64());
}
