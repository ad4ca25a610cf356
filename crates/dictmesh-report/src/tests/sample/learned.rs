//! What was learned: atoms, biclusters, pictures.

use super::{noise, poster};
use crate::canvas::grey;
use crate::*;

pub fn atoms() -> Section {
    let result = poster();
    let gallery = Gallery {
        title: "48 learned atoms".into(),
        height: 8,
        width: 8,
        shades: Shades::Signed,
        atoms: result.atoms.iter().map(|a| a.learned.clone()).collect(),
        labels: Vec::new(),
        owners: (result.atoms.iter().map(|a| a.agent).collect(), 16),
    };
    let wave = |q: usize, i: usize, phase: f64| {
        let (x, y) = ((i % 14) as f64, (i / 14) as f64);
        let (a, b) = (0.1 + 0.06 * (q % 14) as f64, 0.1 + 0.06 * (q / 14) as f64);
        (a * x + phase).cos() * (b * y + phase).cos()
    };
    let grey = Gallery {
        title: "196 learned atoms".into(),
        height: 14,
        width: 14,
        shades: Shades::Grey,
        atoms: (0..196)
            .map(|q| (0..196).map(|i| wave(q, i, 0.0)).collect())
            .collect(),
        owners: (Vec::new(), 0),
        ..gallery.clone()
    };
    let labelled = Gallery {
        title: "Atoms with labels".into(),
        labels: (0..12)
            .map(|q| format!("{:.2}", 1.0 / f64::from(q + 1)))
            .collect(),
        atoms: grey.atoms[..12].to_vec(),
        ..grey.clone()
    };
    let words = [
        "iraq",
        "weapons",
        "inspectors",
        "annan",
        "baghdad",
        "sanctions",
    ];
    let terms = (0..8).map(|q| TopTerms {
        title: format!("atom {}", 11 * q + 3),
        note: format!("lit by {:.2}", 0.9 / f64::from(q + 1)),
        terms: (0..6)
            .map(|i| (words[(i + q as usize) % 6].into(), 0.61 / (1.0 + i as f64)))
            .collect(),
    });
    let terms = terms.map(|t| t.draw()).collect();
    let figure = Figure::new;
    Section {
        heading: "What it learned".into(),
        text: String::new(),
        commands: Vec::new(),
        figures: vec![
            Figure::panels(
                "terms",
                "The atoms that the most novel document lit up.",
                terms,
            ),
            figure(
                "atoms",
                "Every atom framed in its agent's colour.",
                gallery.draw(),
            ),
            figure(
                "labelled-atoms",
                "Atoms with a number each.",
                labelled.draw(),
            ),
            figure(
                "grey-atoms",
                "Patches of a grey picture, one atom an agent.",
                grey.draw(),
            ),
        ],
        tables: Vec::new(),
    }
}

pub fn biclusters() -> Section {
    let (rows, columns) = (56, 400);
    let mut values = noise(rows * columns, 3);
    let classes = ["Carcinoid", "Colon", "Normal", "SmallCell"];
    let class = |r: usize| (r * 7 + r / 9) % 4;
    let block = |c: usize| Block {
        name: format!("layer {}", c + 1),
        rows: (0..rows).filter(|&r| class(r) == c).collect(),
        columns: (0..columns).filter(|g| g % 5 == c && g % 3 != 0).collect(),
    };
    let blocks: Vec<Block> = (0..3).map(block).collect();
    for (c, b) in blocks.iter().enumerate() {
        for &r in &b.rows {
            for &g in &b.columns {
                values[r * columns + g] += [2.4, -2.2, 1.8][c];
            }
        }
    }
    values[7] = f64::NAN;
    let heat = HeatMap {
        title: "Expression of 400 genes in 56 patients".into(),
        rows,
        columns,
        values,
        blocks,
        names: ("patients".into(), "genes".into()),
        row_labels: Vec::new(),
        row_classes: (0..rows).map(|r| classes[class(r)].into()).collect(),
    };
    let jitter = noise(2 * rows, 9);
    let centre = [(1.0, 0.1), (-0.6, 0.9), (-0.2, -0.8), (0.3, 0.2)];
    let at = |r: usize, d: usize| 0.14 * jitter[2 * r + d];
    let scatter = |x: &str, y: &str, swap: bool| Scatter {
        title: format!("Patients by {x} and {y}"),
        x: x.into(),
        y: y.into(),
        points: (0..rows)
            .map(|r| (centre[class(r)].0 + at(r, 0), centre[class(r)].1 + at(r, 1)))
            .map(|(x, y)| if swap { (y, x) } else { (x, y) })
            .collect(),
        classes: (0..rows).map(|r| classes[class(r)].into()).collect(),
        ringed: vec![12],
        ring: "misclassified".into(),
    };
    let pairs = vec![
        scatter("layer 1", "layer 2", false).draw(),
        scatter("layer 2", "layer 1", true).draw(),
    ];
    Section {
        heading: "Biclusters".into(),
        text: "Rows and columns in the order of the layers they belong to.".into(),
        commands: Vec::new(),
        figures: vec![
            Figure::new(
                "heat-map",
                "Three layers, framed; the strip shows the class.",
                heat.draw(),
            ),
            Figure::panels("patients", "Each patient by its coefficients.", pairs),
        ],
        tables: Vec::new(),
    }
}

pub fn pictures() -> Section {
    let side = 256;
    let clean = |i: usize| {
        let (x, y) = ((i % side) as f64 / 40.0, (i / side) as f64 / 40.0);
        let ring = ((x - 3.2).hypot(y - 3.2) * 4.0).sin();
        128.0 + 70.0 * ring * (0.4 * x).cos() + if y > 4.5 { 30.0 } else { -20.0 }
    };
    let noise = noise(side * side, 4);
    let picture = |title: &str, note: &str, sigma: f64| {
        let byte = |i: usize| (clean(i) + sigma * noise[i]).clamp(0.0, 255.0) as u8;
        let image = grey(side, side, (0..side * side).map(byte).collect());
        Picture {
            title: title.into(),
            note: note.into(),
            image,
        }
    };
    let panels = [
        picture("clean", "", 0.0),
        picture("noisy", "14.2 dB, SSIM 0.21", 50.0),
        picture("denoised", "28.9 dB, SSIM 0.84", 6.0),
    ];
    let panels = panels.iter().map(Picture::draw).collect();
    Section {
        heading: "Before and after".into(),
        text: String::new(),
        commands: Vec::new(),
        figures: vec![Figure::panels(
            "before-after",
            "Sigma 50, 196 agents.",
            panels,
        )],
        tables: Vec::new(),
    }
}
