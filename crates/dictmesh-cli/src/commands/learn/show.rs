//! What a person sees of learning.

use super::super::launch::not_met;
use super::super::pages::{
    atom_samples, atom_terms, atoms_at_agents, atoms_section, list, mesh_section, objective,
    settings_section, versions, words, Terms,
};
use super::super::prepare::How;
use super::super::{command_line, command_line_with, say, Ended, Result};
use super::reply::{AtomTerms, DryRun, LearnReply};
use super::{checkpoint, Args, Begun, Learned};
use dictmesh_apps::memory::Sizes;
use dictmesh_report::numbers::fixed;
use dictmesh_report::numbers::{bytes, counted, thousands};
use dictmesh_report::{AxisSpec, Figure, Lines, Report, Section, Series};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Atoms shown in a terminal, and terms of each.
const SHOWN: (usize, usize) = (8, 6);

/// Samples that a dry run learns at most.
const TIMED: usize = 32;

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
    let time = |count: usize| -> Result<f64> {
        // Atoms may have started from the first samples, which would be too easy.
        let x = first.range(first.len() - count..first.len());
        let mut trial = mesh.clone();
        let clock = std::time::Instant::now();
        let learned = trial.learn(&x, |_| ControlFlow::Continue(()));
        learned.map_err(say)?;
        Ok(clock.elapsed().as_secs_f64())
    };
    // A batch costs something, and each of its samples: two small ones tell both. The first warms up.
    let batch = batch.min(first.len());
    let (few, more) = (batch.min(8), batch.min(TIMED));
    let [_, short, long] = [time(1)?, time(few)?, time(more)?];
    let each = (long - short).max(0.0) / (more - few).max(1) as f64;
    let each = each.min(long / more as f64);
    let one_batch = long + each * (batch - more) as f64;
    let all = (begun.passes as u64).saturating_mul(total as u64);
    let left = all - begun.state.position.learned;
    let seconds = one_batch * left as f64 / batch as f64;
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

/// The samples of each batch.
fn sizes(learned: &Learned) -> impl Iterator<Item = usize> + '_ {
    let starts = std::iter::once(&learned.from).chain(&learned.ends);
    let each = starts.zip(&learned.ends);
    // Agents may have gone back to before the sample that they first agreed on.
    each.map(|(start, end)| end.saturating_sub(*start))
}

/// The mean cost over the first and over the last n samples of this run, and n: a tenth of all, but at least
/// three batches, if the run has twice as many.
fn first_and_last(learned: &Learned) -> (f64, f64, usize) {
    let batches: Vec<(usize, f64)> = sizes(learned).zip(learned.costs.iter().copied()).collect();
    let all: usize = batches.iter().map(|batch| batch.0).sum();
    let largest = batches.iter().map(|batch| batch.0).max().unwrap_or(0);
    let few = match batches.len() {
        0 | 1 => all,
        _ => (all / 10).max(3 * largest).min(all / 2),
    };
    let mean = |batches: &mut dyn Iterator<Item = &(usize, f64)>| {
        let (mut left, mut sum) = (few, 0.0);
        for (size, cost) in batches {
            let taken = left.min(*size);
            left -= taken;
            // A batch of which nothing is taken may have any cost.
            sum += if taken > 0 { taken as f64 * cost } else { 0.0 };
        }
        sum / few.max(1) as f64
    };
    let first = mean(&mut batches.iter());
    (first, mean(&mut batches.iter().rev()), few)
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
    let interrupted = learned.ended == Ended::Interrupted;
    let saved = match interrupted {
        true => checkpoint(&args.output),
        false => args.output.clone(),
    };
    let saved = saved.display().to_string();
    let go_on = interrupted.then(|| command_line_with(&LEFT_OUT, &["--resume", &saved]));
    let (first, last, few) = first_and_last(learned);
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
        samples_before: learned.from,
        samples_per_pass: begun.data.total,
        atoms: mesh.atoms(),
        agents: mesh.agents(),
        cost_first: first,
        cost_last: last,
        cost_samples: few,
        nonzeros: learned.last.map(|e| e.sparsity),
        unused_atoms: mesh.unused_atoms().len(),
        rounds: learned.rounds,
        batches_at_limit: learned.at_limit,
        bytes: learned.bytes,
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
    let (first, last, few) = first_and_last(learned);
    let (first, last) = (fixed(first, 6), fixed(last, 6));
    let seen: usize = sizes(learned).sum();
    let cost = match few {
        0 if begun.passes == 0 => "not learned; the atoms are as given".into(),
        0 => "none, as no batch was finished".into(),
        _ if few == seen => format!("{first}, over all {}", counted(seen, "sample")),
        _ => format!(
            "{first} over the first {few}, {last} over the last {few} of {} samples",
            thousands(seen as u64)
        ),
    };
    let now = match learned.from {
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
    text += &not_met(mesh.stopping(), learned.at_limit);
    text += &match learned.written {
        Some(written) => format!(
            "{}; {} went over the links, {} with framing\n",
            counted(learned.rounds, "round"),
            bytes(learned.bytes),
            bytes(written)
        ),
        None if mesh.agents() > 1 => format!(
            "{}; on a network, {} would go over the links\n",
            counted(learned.rounds, "round"),
            bytes(learned.bytes)
        ),
        None => String::new(),
    };
    if let Some(event) = &learned.last {
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
    let about = begun.data.model(&begun.state)?.description;
    let (first, last, few) = first_and_last(learned);
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
        text: format!("What is minimised: {}.", objective(&about.task)),
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
        let sizes: Vec<usize> = sizes(learned).collect();
        let full = sizes.iter().copied().max().unwrap_or(0);
        let kept: Vec<usize> = (0..sizes.len()).filter(|i| 2 * sizes[*i] >= full).collect();
        Drawn {
            costs: kept.iter().map(|i| learned.costs[*i]).collect(),
            ends: kept.iter().map(|i| learned.ends[*i]).collect(),
            entries: kept.iter().map(|i| learned.entries[*i]).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that goes on at sample 100 has batches as small as any: none of them is as large as all that was before.
    #[test]
    fn batches_of_a_run_that_goes_on_are_counted_from_where_it_does() {
        let learned = Learned {
            costs: vec![4.0, 2.0, 1.0],
            from: 100,
            ends: vec![104, 108, 110],
            entries: vec![1.0; 3],
            past: Vec::new(),
            last: None,
            at_limit: 0,
            rounds: 0,
            bytes: 0,
            written: None,
            ended: Ended::Complete,
        };
        assert_eq!(Drawn::of(&learned).ends, [104, 108, 110]);
        assert_eq!(sizes(&learned).collect::<Vec<_>>(), [4, 4, 2]);
        // Five samples at each end: 4 of cost 4 and 1 of 2; 2 of cost 1 and 3 of 2.
        assert_eq!(first_and_last(&learned), (3.6, 1.6, 5));
        let back = Learned {
            from: 106,
            ..learned
        };
        assert_eq!(sizes(&back).collect::<Vec<_>>(), [0, 4, 2]);
    }
}
