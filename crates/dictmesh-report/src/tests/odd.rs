//! Every plot on every odd input: a sheet that can be written, never a panic.

use super::check_xml;
use crate::canvas::grey;
use crate::canvas::ticks::Scale;
use crate::*;

/// Lists of numbers: ordinary, empty, one, constant, with holes, of all sizes.
fn odd_values() -> Vec<Vec<f64>> {
    vec![
        (0..40).map(|i| f64::from(i) * 0.3 - 2.0).collect(),
        vec![],
        vec![3.5],
        vec![2.0; 30],
        vec![0.0; 5],
        vec![
            1.0,
            f64::NAN,
            3.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            2.0,
            f64::NAN,
        ],
        vec![f64::NAN; 4],
        vec![1e-300, 1e300, -1e300, f64::MAX, f64::MIN, 5e-324],
        (0..30_000).map(|i| f64::from(i % 997)).collect(),
    ]
}

fn odd_names() -> Vec<String> {
    vec![
        "ordinary".into(),
        String::new(),
        "a very long name that goes on and on ".repeat(20),
        "<&\"'> \u{0}\u{b} 漢字 🙂 \n two lines".into(),
    ]
}

fn check(canvas: &Canvas) {
    check_xml(&canvas.svg());
    assert!(canvas.png(1.0).is_ok());
}

/// Calls with every odd list and every odd name.
fn each(mut plot: impl FnMut(&[f64], &str) -> Canvas) {
    for (i, values) in odd_values().iter().enumerate() {
        // Names matter to the layout whatever the numbers are: one number list tries them all.
        for name in odd_names().iter().take(if i == 0 { 4 } else { 1 }) {
            check(&plot(values, name));
        }
    }
}

fn pairs(values: &[f64]) -> Vec<(f64, f64)> {
    let points = values.iter().enumerate();
    points.map(|(i, &v)| (i as f64, v)).collect()
}

#[test]
fn lines() {
    for scales in [(Scale::Linear, Scale::Linear), (Scale::Log, Scale::Log)] {
        each(|values, name| {
            let axis = |scale| AxisSpec {
                label: name.into(),
                scale,
            };
            let turned = pairs(values).into_iter().map(|(x, y)| (y, x)).collect();
            let lines = Lines {
                title: name.into(),
                x: axis(scales.0),
                y: axis(scales.1),
                series: vec![Series::new(name, pairs(values)), Series::new(name, turned)],
                levels: values.iter().take(5).map(|&v| (v, name.into())).collect(),
            };
            lines.draw()
        });
    }
    each(|values, _| {
        let ends: Vec<usize> = (1..=values.len()).collect();
        Lines::costs(values, &ends).draw()
    });
    let many = (0..30).map(|i| Series::new(&format!("curve {i}"), vec![(0.0, f64::from(i))]));
    let lines = Lines {
        series: many.collect(),
        ..Lines::costs(&[], &[])
    };
    check(&lines.draw());
}

#[test]
fn rocs() {
    each(|values, name| {
        let curve = RocCurve {
            name: name.into(),
            points: pairs(values),
            auc: values.first().copied().unwrap_or(f64::NAN),
        };
        RocPlot {
            curves: vec![curve; values.len().min(20)],
        }
        .draw()
    });
}

#[test]
fn scatters() {
    each(|values, name| {
        Scatter {
            title: name.into(),
            x: name.into(),
            y: name.into(),
            points: pairs(values),
            classes: odd_names(),
            ringed: vec![0, 1, 999_999],
            ring: name.into(),
        }
        .draw()
    });
}

#[test]
fn histograms_and_bars() {
    each(|values, name| {
        Histogram {
            title: name.into(),
            x: name.into(),
            groups: vec![(name.into(), values.to_vec()); values.len().min(3)],
            threshold: values.last().copied(),
        }
        .draw()
    });
    for scale in [Scale::Linear, Scale::Log] {
        each(|values, name| {
            let bar = |&v: &f64| Bar {
                reached: v > 1.0,
                reference: Some(-v),
                words: if v > 2.0 { name.into() } else { String::new() },
                ..Bar::new(name, v)
            };
            Bars {
                label: name.into(),
                scale,
                bars: values.iter().take(50).map(bar).collect(),
                reference: name.into(),
            }
            .draw()
        });
    }
}

#[test]
fn terms() {
    each(|values, name| {
        let terms = values.iter().take(50).map(|&v| (name.to_string(), v));
        TopTerms {
            title: name.into(),
            note: name.into(),
            terms: terms.collect(),
        }
        .draw()
    });
}

#[test]
fn galleries() {
    for shades in [Shades::Signed, Shades::Grey] {
        for (height, width) in [(0, 0), (1, 1), (2, 3), (300, 2), (2, 700)] {
            each(|values, name| {
                Gallery {
                    title: name.into(),
                    height,
                    width,
                    shades,
                    atoms: vec![values.iter().take(900).copied().collect(); values.len().min(3)],
                    labels: vec![name.into(), name.into()],
                    owners: (vec![0, 77], 1),
                }
                .draw()
            });
        }
    }
}

#[test]
fn meshes() {
    each(|values, name| {
        let agents = values.len().min(40);
        MeshPlot {
            informed: values.iter().take(agents).map(|&v| v > 1.0).collect(),
            edges: (0..agents).map(|k| (k, (k * k) % (agents + 1))).collect(),
            load: values.to_vec(),
            load_label: name.into(),
        }
        .draw()
    });
    // Dense: not a blot, and not a large file.
    let links = (0..196).flat_map(|a| (0..a).map(move |b| (a, b)));
    let dense = MeshPlot {
        informed: vec![true; 196],
        edges: links.collect(),
        load: Vec::new(),
        load_label: String::new(),
    };
    assert!(dense.draw().svg().len() < 200_000);
}

#[test]
fn heat_maps() {
    for (rows, columns) in [(0, 0), (0, 5), (1, 1), (5, 8), (8, 5), (3, 9000), (2000, 2)] {
        each(|values, name| {
            let block = Block {
                name: name.into(),
                rows: vec![0, 2, 1, 2, 99_999],
                columns: vec![4, 0, 99_999],
            };
            HeatMap {
                title: name.into(),
                rows,
                columns,
                values: values.to_vec(),
                blocks: vec![block; 3],
                names: (name.into(), name.into()),
                row_labels: vec![name.into(); rows],
                row_classes: odd_names(),
            }
            .draw()
        });
    }
    check(&HeatMap::default().draw());
}

#[test]
fn pictures() {
    let sizes = [(0, 0), (1, 1), (900, 3), (3, 900), (1000, 1000)];
    for (width, height) in sizes {
        for name in odd_names() {
            let picture = Picture {
                title: name.clone(),
                note: name,
                image: grey(width, height, vec![7; 5]),
            };
            check(&picture.draw());
        }
    }
}

/// Two curves of the same course: the lower one is drawn wider, or nobody would know that it is there.
#[test]
fn a_curve_under_another_is_seen() {
    let draw = |apart: f64| {
        let curve = |by: f64| (0..9).map(move |i| (f64::from(i), f64::from(i * i) + by));
        let lines = Lines {
            series: vec![
                Series::new("one", curve(0.0).collect()),
                Series::new("other", curve(apart).collect()),
            ],
            ..Lines::costs(&[], &[])
        };
        lines.draw().svg()
    };
    let wide = "stroke-width=\"4.";
    assert!(draw(0.0).contains(wide));
    assert!(!draw(20.0).contains(wide));
}
