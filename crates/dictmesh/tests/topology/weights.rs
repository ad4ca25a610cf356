//! Laws of combination weights, and the descriptions of graphs and weights in files.

use super::{all, close, rules};
use dictmesh::{Error, Matrix, Topology, TopologySpec, WeightRule, Weights};
use std::f64::consts::PI;

#[test]
fn weights_are_doubly_stochastic_and_positive_on_neighbourhoods() {
    for (name, t) in all() {
        for rule in rules() {
            let plain = Weights::new(&t, &rule).unwrap();
            let n = t.agents();
            for a in [&plain, &plain.lazy()] {
                let dense = a.to_matrix();
                for k in 0..n {
                    let mut neighbourhood = t.neighbours(k).to_vec();
                    neighbourhood.push(k);
                    neighbourhood.sort_unstable();
                    let column: Vec<usize> = a.column(k).iter().map(|&(l, _)| l).collect();
                    assert_eq!(column, neighbourhood, "{name}, {rule:?}");
                    assert!(a.column(k).iter().all(|&(_, weight)| weight > 0.0));
                    close(dense.column(k).iter().sum(), 1.0, "column sum");
                    close((0..n).map(|j| dense.get(k, j)).sum(), 1.0, "row sum");
                    for l in 0..n {
                        assert_eq!(a.get(l, k), dense.get(l, k));
                        assert_eq!(a.get(l, k), a.get(k, l), "{name}, {rule:?}");
                    }
                }
                assert!(a.is_symmetric());
                let gap = a.spectral_gap();
                assert!(gap > 1e-6 && gap <= 1.0, "{name}, {rule:?}: gap {gap}");
                // What a rule makes would also be accepted from a user.
                let again = Weights::new(&t, &WeightRule::Given(dense.clone())).unwrap();
                assert_eq!(again.to_matrix(), dense);
                assert!(again.is_symmetric());
            }
        }
    }
}

#[test]
fn rules_give_their_formulas() {
    let star = Topology::star(4).unwrap();
    let metropolis = Weights::new(&star, &WeightRule::Metropolis).unwrap();
    assert_eq!(metropolis.get(0, 3), 0.25);
    close(metropolis.get(3, 3), 0.75, "leaf");
    assert_eq!(metropolis.get(0, 0), 0.25);
    assert_eq!(metropolis.get(1, 2), 0.0);
    let path = Topology::path(4).unwrap();
    let uniform = Weights::new(&path, &WeightRule::Uniform).unwrap();
    close(uniform.get(0, 0), 2.0 / 3.0, "end");
    assert_eq!(uniform.get(1, 1), 1.0 / 3.0);
    for n in 1..30 {
        let complete = Topology::complete(n).unwrap();
        for rule in rules() {
            let a = Weights::new(&complete, &rule).unwrap();
            let everywhere = 1.0 / n as f64;
            assert!(a.to_matrix().as_slice().iter().all(|&v| v == everywhere));
            close(a.spectral_gap(), 1.0, "gap");
        }
    }
}

#[test]
fn spectral_gaps_have_closed_forms() {
    for n in 3..12 {
        let ring = Topology::ring(n).unwrap();
        let a = Weights::new(&ring, &WeightRule::Metropolis).unwrap();
        let angles: Vec<f64> = (1..n).map(|j| 2.0 * PI * j as f64 / n as f64).collect();
        let eigenvalue = |t: &f64| (1.0 + 2.0 * t.cos()) / 3.0;
        let largest = |of: &dyn Fn(&f64) -> f64| angles.iter().map(of).fold(0.0, f64::max);
        close(
            a.spectral_gap(),
            1.0 - largest(&|t| eigenvalue(t).abs()),
            "ring",
        );
        let lazy = |t: &f64| (1.0 + eigenvalue(t)) / 2.0;
        close(a.lazy().spectral_gap(), 1.0 - largest(&lazy), "lazy ring");

        // A ring that favours one direction is doubly stochastic without being symmetric; its
        // singular values are |1/2 + 0.3 w + 0.2 / w| over the roots of unity w.
        let skewed = Matrix::from_fn(n, n, |l, k| match (l + n - k) % n {
            0 => 0.5,
            1 => 0.3,
            d if d == n - 1 => 0.2,
            _ => 0.0,
        });
        let a = Weights::new(&ring, &WeightRule::Given(skewed)).unwrap();
        assert!(!a.is_symmetric() && !a.lazy().is_symmetric());
        let singular = |t: &f64| (0.5 + 0.5 * t.cos()).hypot(0.1 * t.sin());
        close(a.spectral_gap(), 1.0 - largest(&singular), "skewed ring");
        close(a.get(1, 0), 0.3, "a_lk is in row l and column k");
        close(a.column(0)[1].1, 0.3, "agent 0 gives 0.3 to agent 1");
    }
}

#[test]
fn given_weights_are_checked_entry_by_entry() {
    let path = Topology::path(3).unwrap();
    let weights = |rows: [[f64; 3]; 3]| {
        let a = Matrix::from_fn(3, 3, |i, j| rows[i][j]);
        Weights::new(&path, &WeightRule::Given(a))
    };
    let refused = |rows, at: (&str, usize), word: &str| match weights(rows) {
        Err(Error::Weights { line, index, fault }) => {
            assert_eq!((line, index), at, "{fault}");
            assert!(fault.contains(word), "{fault}");
        }
        other => panic!("{other:?}"),
    };
    assert!(weights([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.25, 0.75]]).is_ok());
    let nan = f64::NAN;
    refused(
        [[0.5, nan, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]],
        ("row", 0),
        "finite",
    );
    refused(
        [[0.5, 0.5, 0.0], [0.5, 1.0, -0.5], [0.0, 0.5, 0.5]],
        ("row", 1),
        "negative",
    );
    refused(
        [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]],
        ("row", 1),
        "a_kk > 0",
    );
    refused(
        [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]],
        ("row", 1),
        "1 and 2 are neigh",
    );
    refused(
        [[0.5, 0.3, 0.2], [0.5, 0.2, 0.3], [0.0, 0.5, 0.5]],
        ("row", 0),
        "0 and 2 are not",
    );
    refused(
        [[0.5, 0.5, 0.0], [0.5, 0.3, 0.3], [0.0, 0.2, 0.7]],
        ("row", 1),
        "sums to 1.1",
    );
    refused(
        [[0.5, 0.5, 0.0], [0.4, 0.2, 0.4], [0.0, 0.4, 0.6]],
        ("column", 0),
        "sums to 0.9",
    );
    for (rows, cols) in [(2, 3), (3, 2), (0, 0), (4, 4)] {
        let error = Weights::new(&path, &WeightRule::Given(Matrix::zeros(rows, cols)));
        assert!(matches!(error, Err(Error::Dimension { expected: 3, .. })));
    }
}

#[test]
fn descriptions_survive_a_file() {
    let specs = [
        (TopologySpec::Complete, r#"{"kind":"complete"}"#),
        (TopologySpec::Ring, r#"{"kind":"ring"}"#),
        (TopologySpec::Path, r#"{"kind":"path"}"#),
        (TopologySpec::Star, r#"{"kind":"star"}"#),
        (
            TopologySpec::Grid { rows: 2, cols: 3 },
            r#"{"kind":"grid","rows":2,"cols":3}"#,
        ),
        (
            TopologySpec::ErdosRenyi { p: 0.75, seed: 1 },
            r#"{"kind":"erdos-renyi","p":0.75,"seed":1}"#,
        ),
        (
            TopologySpec::RandomGeometric {
                radius: 0.9,
                seed: 1,
            },
            r#"{"kind":"random-geometric","radius":0.9,"seed":1}"#,
        ),
        (
            TopologySpec::Edges {
                edges: Topology::path(6).unwrap().edges(),
            },
            r#"{"kind":"edges","edges":[[0,1],[1,2],[2,3],[3,4],[4,5]]}"#,
        ),
    ];
    for (spec, text) in specs {
        assert_eq!(serde_json::to_string(&spec).unwrap(), text);
        let back: TopologySpec = serde_json::from_str(text).unwrap();
        assert_eq!(back, spec);
        assert_eq!(back.build(6).unwrap().agents(), 6, "{text}");
    }
    // Not symmetric, so that rows and columns cannot be taken for one another.
    let given = Matrix::from_columns(2, &[[0.5, 0.25], [0.0, 1.0]]).unwrap();
    let rules = [
        (WeightRule::Metropolis, r#""metropolis""#),
        (WeightRule::Uniform, r#""uniform""#),
        (
            WeightRule::Given(given),
            r#"{"given":[[0.5,0.0],[0.25,1.0]]}"#,
        ),
    ];
    for (rule, text) in rules {
        assert_eq!(serde_json::to_string(&rule).unwrap(), text);
        assert_eq!(serde_json::from_str::<WeightRule>(text).unwrap(), rule);
    }
    for text in [r#"{"given":[[1.0],[1.0,2.0]]}"#, r#"{"given":[[],[1.0]]}"#] {
        let error = serde_json::from_str::<WeightRule>(text).unwrap_err();
        assert!(error.to_string().contains("one length"), "{error}");
    }
    assert!(serde_json::from_str::<WeightRule>(r#"{"given":[]}"#).is_ok());
}
