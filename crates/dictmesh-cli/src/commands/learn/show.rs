//! What a person sees of learning.

use super::super::launch::not_met;
use super::super::pages::{
    atom_samples, atoms_at_agents, atoms_section, list, mesh_section, settings_section, versions,
    words,
};
use super::super::prepare::How;
use super::super::{command_line, command_line_with, say, Result};
use super::reply::{AtomTerms, DryRun, LearnReply};
use super::{checkpoint, Args, Begun, Learned};
use dictmesh_apps::learning::expected_seconds;
use dictmesh_apps::memory::Sizes;
use dictmesh_apps::terms::{atom_terms, Terms};
use dictmesh_report::numbers::fixed;
use dictmesh_report::numbers::{bytes, counted, thousands};
use dictmesh_report::{AxisSpec, Figure, Lines, Report, Section, Series};
use std::path::PathBuf;

/// Atoms shown in a terminal, and terms of each.
const SHOWN: (usize, usize) = (8, 6);

/// Bytes of the program itself: the peak of resident memory where it learns from two samples.
const PROGRAM: u64 = 18_000_000;

/// What it would take, by a few samples.
pub fn dry_run(args: &Args, begun: &Begun) -> Result<()> {
    let (mesh, total) = (&begun.state.mesh, begun.data.total);
    let (m, k, n) = (mesh.rows(), mesh.atoms(), mesh.agents());
    let batch = mesh.batch().min(total);
    let sizes = Sizes {
        data: begun.data.feed(mesh).resident().map_err(say)?,
        ..Sizes::of(mesh, batch, false)
    };
    let bytes = sizes.bytes().saturating_add(PROGRAM);
    let first = begun.data.feed(mesh).parts(0).map_err(say)?.next();
    let first = first.ok_or("the data have no samples")?.map_err(say)?;
    let all = (begun.passes as u64).saturating_mul(total as u64);
    let left = all - begun.state.position.learned;
    let seconds = expected_seconds(mesh, &first, batch, left).map_err(say)?;
    let dry_run = DryRun {
        samples: total,
        features: m,
        atoms: k,
        agents: n,
        bytes,
        seconds,
    };
    args.speech.reply(&dry_run, || {
        format!(
            "{} of {}; {}\n\
                 about {} of memory and {seconds:.0} s (a few samples were timed)\n",
            counted(total, "sample"),
            counted(m, "feature"),
            atoms_at_agents(mesh),
            dictmesh_report::numbers::bytes(bytes)
        )
    })
}

/// An atom's number, the number of samples that used it, and its top terms.
type TopAtom = (usize, u64, Terms);

/// The terms of all atoms, if terms they have, the most used atom first.
fn top_atoms(begun: &Begun) -> Vec<TopAtom> {
    let how = &begun.data.preparation.how;
    let names = begun.data.names.as_deref();
    let named = matches!(how, How::Text { .. } | How::Counts { .. });
    if !named || how.row_name(0, names).is_none() {
        return Vec::new();
    }
    let term = |row| how.row_name(row, names).unwrap_or_default();
    let terms = atom_terms(&begun.state.mesh.dictionary(), SHOWN.1, &term);
    let used = atom_samples(&begun.state.mesh).into_iter();
    let mut all: Vec<_> = used
        .zip(terms)
        .enumerate()
        .map(|(q, (n, t))| (q, n, t))
        .collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    all
}

/// Prints what was learned, or how to go on.
pub fn tell(
    args: &Args,
    begun: &Begun,
    learned: &Learned,
    before: u64,
    page: Option<PathBuf>,
) -> Result<()> {
    let mesh = &begun.state.mesh;
    let samples = mesh.progress().samples_learned - before;
    let interrupted = learned.run.interrupted;
    let saved = match interrupted {
        true => checkpoint(&args.output),
        false => args.output.clone(),
    };
    let saved = saved.display().to_string();
    let go_on = interrupted.then(|| command_line_with(&LEFT_OUT, &["--resume", &saved]));
    let (first, last, few) = learned.run.first_and_last();
    let atoms = top_atoms(begun);
    let terms = atoms.iter().map(|(q, n, terms)| AtomTerms {
        atom: *q,
        samples: *n,
        terms: list(terms).into_iter().map(String::from).collect(),
    });
    let page = page.map(|page| page.display().to_string());
    let reply = LearnReply {
        model: saved.clone(),
        samples,
        samples_before: learned.run.from,
        samples_per_pass: begun.data.total,
        atoms: mesh.atoms(),
        agents: mesh.agents(),
        cost_first: first,
        cost_last: last,
        cost_samples: few,
        nonzeros: learned.run.last.map(|e| e.sparsity),
        unused_atoms: mesh.unused_atoms().len(),
        rounds: learned.run.rounds,
        batches_at_limit: learned.run.at_limit,
        bytes: learned.run.bytes,
        bytes_written: learned.written,
        interrupted,
        resume: go_on.clone(),
        preparation: begun.data.preparation.how.describe(),
        top_terms: terms.collect(),
        report: page.clone(),
    };
    args.speech.reply(&reply, || {
        let mut text = learned_words(begun, learned, samples);
        for (q, n, terms) in atoms.iter().filter(|a| a.1 > 0).take(SHOWN.0) {
            text += &format!("atom {q:<3} in {n:>6} samples: {}\n", words(terms));
        }
        text += &match &go_on {
            None => format!("model: {saved}\n"),
            Some(command) => format!("interrupted; checkpoint: {saved}\ngo on with: {command}\n"),
        };
        if let Some(page) = &page {
            text += &format!("report: {page}\n");
        }
        text
    })
}

/// Options that the resumed run takes from the checkpoint, and whether they have a value.
const LEFT_OUT: [(&str, bool); 9] = [
    ("--resume", true),
    ("--centre", true),
    ("--norm", true),
    ("--counts", false),
    ("--patch", true),
    ("--stride", true),
    ("--vocabulary", true),
    ("--hash", true),
    ("--keep-stop-words", false),
];

fn learned_words(begun: &Begun, learned: &Learned, samples: u64) -> String {
    let mesh = &begun.state.mesh;
    let total = begun.data.total as u64;
    let passes = match samples.is_multiple_of(total) {
        _ if samples == total => String::new(),
        true => format!(" in {} passes", samples / total),
        false => format!(" ({samples} seen in this run)"),
    };
    let (first, last, few) = learned.run.first_and_last();
    let (first, last) = (fixed(first, 6), fixed(last, 6));
    let seen: usize = learned.run.sizes().sum();
    let cost = match few {
        0 if begun.passes == 0 => "not learned; the atoms are as given".into(),
        0 => "none, as no batch was finished".into(),
        _ if few == seen => format!("{first}, over all {}", counted(seen, "sample")),
        _ => format!(
            "{first} over the first {few}, {last} over the last {few} of {} samples",
            thousands(seen as u64)
        ),
    };
    let now = match learned.run.from {
        0 => String::new(),
        from => format!(
            "continued from sample {} of {}; costs are of the batches since then\n",
            thousands(from as u64),
            thousands(begun.passes as u64 * total),
        ),
    };
    let mut text = format!(
        "samples: {}\nlearned {} from {}{passes}\n{now}cost of a sample: {cost}\n",
        begun.data.preparation.how.describe(),
        atoms_at_agents(mesh),
        counted(begun.data.total, "sample"),
    );
    text += &not_met(mesh.stopping(), learned.run.at_limit);
    text += &match learned.written {
        Some(written) => format!(
            "{}; {} went over the links, {} with framing\n",
            counted(learned.run.rounds, "round"),
            bytes(learned.run.bytes),
            bytes(written)
        ),
        None if mesh.agents() > 1 => format!(
            "{}; on a network, {} would go over the links\n",
            counted(learned.run.rounds, "round"),
            bytes(learned.run.bytes)
        ),
        None => String::new(),
    };
    if let Some(event) = &learned.run.last {
        text += &format!(
            "codes have {:.1} entries that are not zero\n",
            event.sparsity
        );
    }
    let unused = mesh.unused_atoms().len();
    if unused > 0 {
        text += &format!(
            "{} never used: try fewer --atoms or a smaller --gamma\n",
            match unused {
                1 => "1 atom was".into(),
                n => format!("{n} atoms were"),
            }
        );
    }
    text
}

/// The page.
pub fn report(args: &Args, begun: &Begun, learned: &Learned) -> Result<Report> {
    let mesh = &begun.state.mesh;
    let preparation = &begun.data.preparation;
    let about = begun.model()?.description;
    let (first, last, few) = learned.run.first_and_last();
    let of = counted(few, "sample");
    let facts = vec![
        (format!("cost, last {of}"), format!("{last:.5}")),
        (format!("cost, first {of}"), format!("{first:.5}")),
        ("atoms".into(), mesh.atoms().to_string()),
        (
            match mesh.agents() {
                1 => "agent".into(),
                _ => "agents".into(),
            },
            mesh.agents().to_string(),
        ),
        (
            "samples seen, all passes".into(),
            mesh.progress().samples_learned.to_string(),
        ),
    ];
    let shown = Drawn::of(learned);
    let costs = Section {
        heading: "The cost".into(),
        text: format!("What is minimised: {}.", about.task.objective()),
        figures: vec![
            Figure::new("cost", &costs_caption(&shown), costs(&shown).draw()),
            Figure::new(
                "entries",
                "How many atoms a sample takes in each batch.",
                entries(&shown).draw(),
            ),
        ],
        ..Section::default()
    };
    let names = begun.data.names.as_deref();
    let mut sections = vec![costs, atoms_section(mesh, &preparation.how, names)];
    sections.extend(mesh_section(mesh));
    sections.push(settings_section(&about, preparation));
    Ok(Report {
        title: "A dictionary learned".into(),
        subtitle: format!("{}: {}", args.data.display(), preparation.how.describe()),
        facts,
        sections,
        command: command_line(),
        versions: versions(mesh.seed()),
    })
}

/// What is drawn of the batches.
struct Drawn {
    costs: Vec<f64>,
    ends: Vec<usize>,
    entries: Vec<f64>,
    /// Batches left out.
    short: usize,
}

impl Drawn {
    /// All batches but those that the end of a pass cut to less than half: their mean over a few samples would look
    /// like a cliff.
    fn of(learned: &Learned) -> Self {
        let sizes: Vec<usize> = learned.run.sizes().collect();
        let full = sizes.iter().copied().max().unwrap_or(0);
        let kept: Vec<usize> = (0..sizes.len()).filter(|i| 2 * sizes[*i] >= full).collect();
        Drawn {
            costs: kept.iter().map(|i| learned.run.costs[*i]).collect(),
            ends: kept.iter().map(|i| learned.run.ends[*i]).collect(),
            entries: kept.iter().map(|i| learned.run.entries[*i]).collect(),
            short: sizes.len() - kept.len(),
        }
    }
}

fn costs_caption(drawn: &Drawn) -> String {
    let mean = match Lines::smooths(drawn.costs.len()) {
        true => ", and its running mean",
        false => "",
    };
    let short = match drawn.short {
        0 => String::new(),
        1 => " A last batch of few samples is left out.".into(),
        n => format!(" {n} batches of few samples, each the last of a pass, are left out."),
    };
    format!("What a sample costs in each batch, before the batch is learned{mean}.{short}")
}

/// The cost over samples; on a log axis if it falls by more than two powers of ten.
fn costs(drawn: &Drawn) -> Lines {
    let costs = &drawn.costs;
    let mut lines = Lines::costs(costs, &drawn.ends);
    let low = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = costs.iter().copied().fold(0.0, f64::max);
    if low > 0.0 && high > 100.0 * low {
        lines.y = AxisSpec::log("cost of a sample");
    }
    lines
}

fn entries(drawn: &Drawn) -> Lines {
    let ends = drawn.ends.iter().map(|end| *end as f64);
    let points = ends.zip(drawn.entries.iter().copied()).collect();
    Lines {
        title: "Mean number of entries of a code that are not zero, in each mini-batch".into(),
        x: AxisSpec::linear("samples"),
        y: AxisSpec::linear("entries that are not zero"),
        series: vec![Series::new("entries", points)],
        levels: Vec::new(),
    }
}
