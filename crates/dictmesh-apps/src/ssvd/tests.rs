#![allow(clippy::unwrap_used)]

use super::*;
use dictmesh::random::{gaussian, stream};

fn plain(layers: usize) -> SparseSvd {
    SparseSvd {
        layers,
        lambda: 0.0,
        beta: 0.0,
        ..SparseSvd::default()
    }
}

fn support(v: &[f64]) -> Vec<usize> {
    (0..v.len()).filter(|i| v[*i] != 0.0).collect()
}

#[test]
fn two_planted_biclusters_in_noise_come_back() {
    let (m, t) = (40, 200);
    let mut x = gaussian(m, t, &mut stream(1, 0));
    x.as_mut_slice().iter_mut().for_each(|v| *v *= 0.05);
    // Rows 0..8 with columns 0..40, and rows 10..16 of alternating sign with columns 60..85.
    for j in 0..40 {
        (0..8).for_each(|i| x.column_mut(j)[i] += 2.0);
    }
    for j in 60..85 {
        (10..16).for_each(|i| x.column_mut(j)[i] += if i % 2 == 0 { -1.5 } else { 1.5 });
    }
    let layers = SparseSvd {
        layers: 2,
        lambda: 0.5,
        beta: 0.5,
        ..SparseSvd::default()
    }
    .run(&x)
    .unwrap();
    assert_eq!(support(&layers[0].w), (0..8).collect::<Vec<_>>());
    assert_eq!(support(&layers[0].y), (0..40).collect::<Vec<_>>());
    assert_eq!(support(&layers[1].w), (10..16).collect::<Vec<_>>());
    assert_eq!(support(&layers[1].y), (60..85).collect::<Vec<_>>());
    assert!(layers[0].s > layers[1].s);
    for layer in &layers {
        assert!(layer.converged && (norm(&layer.w) - 1.0).abs() < 1e-14);
        assert!((norm(&layer.y) - layer.s).abs() < 1e-12 * layer.s);
        assert!(largest_entry(&layer.w) > 0.0);
    }
}

/// Without thresholds, the layers must match faer's SVD for tall, wide and square matrices.
#[test]
fn without_thresholds_it_is_the_svd() {
    for (m, t) in [(6, 30), (30, 6), (9, 9), (1, 5), (5, 1)] {
        let x = gaussian(m, t, &mut stream(2, (m * 100 + t) as u64));
        let layers = plain(3.min(m).min(t)).run(&x).unwrap();
        let values = x.view().singular_values().unwrap();
        for (layer, value) in layers.iter().zip(values) {
            assert!((layer.s - value).abs() < 1e-9 * value, "{m} x {t}");
        }
    }
}

#[test]
fn nothing_left_gives_zero_layers() {
    let zero = Matrix::zeros(3, 4);
    let noise = gaussian(3, 4, &mut stream(3, 0));
    let killed_y = SparseSvd {
        lambda: 1e3,
        ..plain(2)
    };
    let killed_w = SparseSvd {
        beta: f64::MAX,
        ..plain(2)
    };
    for layers in [
        plain(2).run(&zero).unwrap(),
        killed_y.run(&noise).unwrap(),
        killed_w.run(&noise).unwrap(),
    ] {
        assert_eq!(layers.len(), 2);
        for layer in layers {
            assert_eq!(
                (layer.w, layer.y, layer.s),
                (vec![0.0; 3], vec![0.0; 4], 0.0)
            );
        }
    }
}

#[test]
fn a_single_row_or_column_is_one_layer() {
    let row = Matrix::from_vec(1, 3, vec![-3.0, 0.0, 4.0]).unwrap();
    let layers = plain(2).run(&row).unwrap();
    assert_eq!(layers[0].w, [1.0]);
    assert!((layers[0].s - 5.0).abs() < 1e-14);
    assert_eq!(layers[1].s, 0.0, "only rounding is left");
    let column = Matrix::from_vec(3, 1, vec![-3.0, 0.0, 4.0]).unwrap();
    let layers = plain(2).run(&column).unwrap();
    for (found, expected) in layers[0].w.iter().zip([-0.6, 0.0, 0.8]) {
        assert!((found - expected).abs() < 1e-15);
    }
    assert!((layers[0].y[0] - 5.0).abs() < 1e-14);
    assert_eq!(layers[1].s, 0.0);
}

/// Squares of such entries overflow or underflow; the layers must not change.
#[test]
fn scaling_the_data_and_the_thresholds_scales_the_layers() {
    let x = gaussian(6, 10, &mut stream(4, 0));
    let run = |scale: f64| {
        let mut scaled = x.clone();
        scaled.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
        let settings = SparseSvd {
            layers: 2,
            lambda: 0.3 * scale,
            beta: 0.3 * scale,
            ..SparseSvd::default()
        };
        settings.run(&scaled).unwrap()
    };
    let reference = run(1.0);
    for scale in [2f64.powi(600), 2f64.powi(-600)] {
        for (a, b) in run(scale).iter().zip(&reference) {
            assert_eq!(a.w, b.w);
            assert_eq!(a.s, b.s * scale);
        }
    }
}

#[test]
fn stopping_early_is_a_value() {
    let x = gaussian(20, 30, &mut stream(5, 0));
    let layers = SparseSvd {
        max_iterations: 1,
        lambda: 2.0,
        beta: 2.0,
        ..plain(1)
    }
    .run(&x)
    .unwrap();
    assert_eq!((layers[0].iterations, layers[0].converged), (1, false));
}

#[test]
fn bad_input_is_refused() {
    let x = Matrix::zeros(2, 2);
    for bad in [
        plain(0),
        SparseSvd {
            max_iterations: 0,
            ..plain(1)
        },
        SparseSvd {
            lambda: -1.0,
            ..plain(1)
        },
        SparseSvd {
            beta: f64::NAN,
            ..plain(1)
        },
        SparseSvd {
            tolerance: f64::INFINITY,
            ..plain(1)
        },
    ] {
        assert!(matches!(bad.run(&x), Err(Error::Parameter { .. })));
    }
    assert!(matches!(
        plain(1).run(&Matrix::zeros(0, 3)),
        Err(Error::Empty { .. })
    ));
    assert!(matches!(
        plain(1).run(&Matrix::zeros(3, 0)),
        Err(Error::Empty { .. })
    ));
    let nan = Matrix::from_vec(1, 2, vec![0.0, f64::NAN]).unwrap();
    assert!(matches!(plain(1).run(&nan), Err(Error::NotFinite { .. })));
}

#[test]
fn a_set_flag_stops_it() {
    let x = gaussian(6, 9, &mut stream(3, 0));
    let layers = plain(3).run_unless(&x, &AtomicBool::new(true)).unwrap();
    assert_eq!(layers, []);
    // Interrupted within a layer: the unconverged layer is returned.
    let sparse = SparseSvd {
        lambda: 0.3,
        beta: 0.3,
        ..plain(1)
    };
    assert!(sparse.run(&x).unwrap()[0].iterations > 1);
    let layer = sparse.layer(&x, 1.0, &AtomicBool::new(true));
    assert!(layer.iterations == 1 && !layer.converged);
    assert_eq!(plain(3).run(&x).unwrap().len(), 3);
}
