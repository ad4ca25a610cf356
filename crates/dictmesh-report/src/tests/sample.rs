//! A report with every kind of figure, from made-up but likely numbers.

mod learned;

use crate::canvas::ticks::Scale;
use crate::*;

/// About standard normal: sums of 12 uniform numbers, of a congruential generator.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    (0..n)
        .map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
        .collect()
}

/// A sheet like that of a good run of 16 agents with three atoms each.
pub fn poster() -> Poster {
    let (agents, side) = (16, 8);
    let entries = noise(48 * side * side, 11);
    let atom = |(q, planted): (usize, &[f64])| {
        let level = if q % 11 == 4 { 0.5 } else { 0.05 };
        let other = noise(planted.len(), q as u64);
        let learned = planted.iter().zip(other).map(|(a, b)| a + level * b);
        PosterAtom {
            agent: q / 3,
            learned: learned.collect(),
            planted: Some(planted.to_vec()),
            cosine: 1.0 - 0.2 * level,
            recovered: level < 0.1,
        }
    };
    let mut edges: Vec<_> = (0..agents).map(|k| (k, (k + 1) % agents)).collect();
    edges.extend([(0, 5), (2, 9), (3, 12), (7, 14), (1, 10), (4, 8), (6, 13)]);
    edges.extend([(0, 11), (5, 15), (8, 12)]);
    let jitter = noise(250, 5);
    let cost = |t: usize| 0.34 + 0.75 * (-(t as f64) / 45.0).exp() + 0.03 * jitter[t];
    let strategy = |name: &str, rounds: Option<usize>| PosterStrategy {
        name: name.into(),
        rounds,
        bytes: rounds.unwrap_or(3000) as u64 * 52 * 64 * 8,
    };
    Poster {
        informed: (0..agents).map(|k| k % 4 == 0).collect(),
        edges,
        batch: 16,
        costs: (0..250).map(cost).collect(),
        cost: (1.13, 0.335),
        side,
        atoms: entries.chunks(side * side).enumerate().map(atom).collect(),
        planted: 48,
        target: (
            1e-4,
            "relative distance of the dual to the exact one".into(),
        ),
        round_limit: 3000,
        strategies: vec![
            strategy("diffusion", None),
            strategy("consensus", None),
            strategy("jacobi-admm", Some(812)),
            strategy("exact-diffusion", Some(341)),
            strategy("relaxed-admm", Some(96)),
            strategy("tree", Some(24)),
        ],
    }
}

pub fn report() -> Report {
    Report {
        title: "Novel documents in a stream of 8 blocks".into(),
        subtitle: "16 agents, one atom each, Huber residual; scored before learning".into(),
        facts: vec![
            ("mean area under the ROC curve".into(), "0.943".into()),
            ("documents".into(), "9,394".into()),
            ("atoms at the end".into(), "90".into()),
        ],
        sections: vec![
            scores(),
            learning(),
            learned::atoms(),
            learned::biclusters(),
            learned::pictures(),
        ],
        command: "dictmesh novelty tdt2.npz --labels topics.csv --agents 16 --topology \
                  erdos-renyi:0.5 --seed 1 --report out/"
            .into(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            ("seed".into(), "1".into()),
        ],
    }
}

fn scores() -> Section {
    let groups = |shift: f64, seed| {
        let known: Vec<f64> = noise(600, seed).iter().map(|v| 0.32 + 0.07 * v).collect();
        let new = noise(150, seed + 50);
        let new: Vec<f64> = new.iter().map(|v| 0.32 + shift + 0.09 * v).collect();
        (known, new)
    };
    let share = |values: &[f64], t: f64| {
        values.iter().filter(|v| **v >= t).count() as f64 / values.len() as f64
    };
    let curve = |name: &str, shift, seed| {
        let (known, new) = groups(shift, seed);
        let levels = (0..=100).rev().map(|t| f64::from(t) / 100.0);
        RocCurve {
            name: name.into(),
            points: levels.map(|t| (share(&known, t), share(&new, t))).collect(),
            auc: 0.8 + shift / 2.0,
        }
    };
    let rocs = RocPlot {
        curves: vec![
            curve("block 1", 0.10, 1),
            curve("block 2", 0.18, 2),
            curve("block 5", 0.16, 3),
            curve("block 6", 0.2, 4),
            curve("block 8", 0.24, 5),
        ],
    };
    let (known, new) = groups(0.18, 2);
    let histogram = Histogram {
        title: "Scores of known and novel documents".into(),
        x: "score: cost of the document".into(),
        groups: vec![("known".into(), known), ("novel".into(), new)],
        threshold: Some(0.45),
    };
    let bar = |name: &str, value, reference| Bar {
        reference: Some(reference),
        words: format!("{value:.2}"),
        ..Bar::new(name, value)
    };
    let bars = Bars {
        label: "area under the ROC curve".into(),
        scale: Scale::Linear,
        bars: vec![
            bar("block 1", 0.81, 0.79),
            bar("block 2", 0.95, 0.94),
            bar("block 5", 0.93, 0.92),
            bar("block 6", 0.96, 0.96),
            bar("block 8", 0.95, 0.94),
        ],
        reference: "the paper's best".into(),
    };
    let row = |cells: [&str; 5]| cells.map(String::from).to_vec();
    Section {
        heading: "How well novel documents stand out".into(),
        text: "Every block is scored with the atoms learned from the blocks before it, then learned \
               from. A document is novel if its topic did not occur before.\n\nAn area of 1 puts every \
               novel document above every known one; 0.5 is chance."
            .into(),
        commands: Vec::new(),
        figures: vec![
            Figure::new("roc", "The ROC curve of each block with novel documents.", rocs.draw()),
            Figure::new("scores", "The scores of block 2.", histogram.draw()),
            Figure::new("auc", "Each block beside the paper's best method.", bars.draw()),
        ],
        tables: vec![Table {
            caption: "Area under the ROC curve, mean over 5 seeds".into(),
            head: row(["block", "ours", "paper, diffusion", "paper, centralised", "paper, ADMM"]),
            rows: vec![
                row(["1", "0.81 ± 0.01", "0.79", "0.77", "0.75"]),
                row(["2", "0.95 ± 0.00", "0.94", "0.93", "0.91"]),
                row(["5", "0.93 ± 0.01", "0.92", "0.92", "0.89"]),
                row(["6", "0.96 ± 0.00", "0.96", "0.95", "0.93"]),
                row(["8", "0.95 ± 0.01", "0.94", "0.92", "0.91"]),
            ],
        }],
    }
}

fn learning() -> Section {
    let result = poster();
    let snr = |speed: f64, floor: f64| {
        let at = |i: u32| f64::from(i * 5);
        let value = |t: f64| (speed * t).min(floor) + 0.8 * (t / 17.0).sin();
        (0..=200).map(|i| (at(i), value(at(i)))).collect()
    };
    let curves = Lines {
        title: "SNR of the dual vector against rounds".into(),
        x: AxisSpec::linear("rounds"),
        y: AxisSpec::linear("SNR in dB"),
        series: vec![
            Series::new("relaxed-admm", snr(0.24, 120.0)),
            Series::new("exact-diffusion", snr(0.12, 120.0)),
            Series::new("jacobi-admm", snr(0.055, 120.0)),
            Series::new("diffusion", snr(0.09, 31.0)),
        ],
        levels: vec![
            (20.0, "20 dB".into()),
            (40.0, "40 dB".into()),
            (60.0, "60 dB".into()),
        ],
    };
    let time =
        |c: f64| [8, 16, 32, 64, 128, 256].map(|n| (f64::from(n), c * f64::from(n).powf(1.1)));
    let scale = Lines {
        title: "Time of a sample against agents".into(),
        x: AxisSpec::log("agents (log scale)"),
        y: AxisSpec::log("microseconds a sample (log scale)"),
        series: vec![
            Series::new("one thread", time(2.0).to_vec()),
            Series::new("four threads", time(0.6).to_vec()),
        ],
        levels: Vec::new(),
    };
    let mesh = MeshPlot {
        informed: result.informed.clone(),
        edges: result.edges.clone(),
        load: Vec::new(),
        load_label: String::new(),
    };
    let agents = 196;
    let far = |k: usize| [(k, (k + 1) % agents), (k, (k * 7 + 31) % agents)];
    let large = MeshPlot {
        informed: (0..agents).map(|k| k % 14 == 0).collect(),
        edges: (0..agents).flat_map(far).collect(),
        load: (0..agents).map(|k| 1.0 + (k % 9) as f64).collect(),
        load_label: "atoms kept".into(),
    };
    let figure = Figure::new;
    Section {
        heading: "How the mesh learned".into(),
        text: "Neighbours exchange dual vectors only; no atom leaves its agent.".into(),
        commands: Vec::new(),
        figures: vec![
            figure(
                "mesh",
                "The mesh: an agent's area grows with its links.",
                mesh.draw(),
            ),
            figure("large-mesh", "A larger mesh.", large.draw()),
            figure(
                "cost",
                "The cost of every mini-batch, and its running mean.",
                {
                    let ends: Vec<usize> =
                        (1..=result.costs.len()).map(|i| i * result.batch).collect();
                    Lines::costs(&result.costs, &ends).draw()
                },
            ),
            figure(
                "snr",
                "How fast each strategy nears the exact solution.",
                curves.draw(),
            ),
            figure("time", "Both axes logarithmic.", scale.draw()),
        ],
        tables: Vec::new(),
    }
}
