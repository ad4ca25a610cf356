//! What a person sees of learning.

use super::super::launch::not_met;
use super::super::pages::{
    atom_samples, atom_terms, atoms_at_agents, atoms_section, list, mesh_section, objective,
    settings_section, versions, words, Terms,
};
use super::super::prepare::How;
use super::super::{command_line, command_line_with, say, Ended, Result};
use super::{checkpoint, Args, Begun, Learned};
use crate::memory::Sizes;
use crate::numbers::fixed;
use crate::numbers::{bytes, counted, thousands};
use crate::report::{AxisSpec, Figure, Lines, Report, Section, Series};
use serde_json::{json, Value};
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
    args.speech.tell(
        json!({"samples": total, "rows": m, "atoms": k, "agents": n, "bytes": bytes, "seconds": seconds}),
        || {
            format!(
                "{} of {}; {}\n\
                 about {} of memory and {seconds:.0} s (a few samples were timed)\n",
                counted(total, "sample"),
                counted(m, "feature"),
                atoms_at_agents(mesh),
                crate::numbers::bytes(bytes)
            )
        },
    )
}

/// An atom's number, how many samples it took part in, and its top terms.
type AtomTerms = (usize, u64, Terms);

/// The terms of all atoms, if terms they have, the most used atom first.
fn top_atoms(begun: &Begun) -> Vec<AtomTerms> {
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

/// The mean cost of a sample in the first and in the last batches, a tenth of all but at least three if there
/// are six, and how many these are.
fn first_and_last(learned: &Learned) -> (f64, f64, usize) {
    let sizes = sizes(learned).map(|size| size as f64);
    let batches: Vec<(f64, f64)> = sizes.zip(learned.costs.iter().copied()).collect();
    let mean = |batches: &[(f64, f64)]| {
        let samples: f64 = batches.iter().map(|b| b.0).sum();
        batches.iter().map(|b| b.0 * b.1).sum::<f64>() / samples.max(1.0)
    };
    let all = batches.len();
    let few = (all / 10).max(3).min(all / 2).max(1).min(all);
    (mean(&batches[..few]), mean(&batches[all - few..]), few)
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
    let terms: Vec<Value> = atoms
        .iter()
        .map(|(q, n, terms)| json!({"atom": q, "samples": n, "terms": list(terms)}))
        .collect();
    let page = page.map(|page| page.display().to_string());
    let result = json!({
        "model": saved, "samples": samples, "samples_before": learned.from, "samples_a_pass": begun.data.total, "atoms": mesh.atoms(), "agents": mesh.agents(),
        "cost_first": first, "cost_last": last, "cost_batches": few, "unused_atoms": mesh.unused_atoms().len(),
        "sparsity": learned.last.map(|e| e.sparsity), "interrupted": interrupted,
        "batches_at_limit": learned.at_limit, "bytes": learned.bytes.map(|b| b.0),
        "bytes_written": learned.bytes.map(|b| b.1), "resume": go_on, "preparation": begun.data.preparation.how.describe(),
        "top_terms": terms, "report": page,
    });
    args.speech.tell(result, || {
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
    let cost = match (learned.costs.len(), few) {
        (0, _) if begun.passes == 0 => "not learned; the atoms are as given".into(),
        (0, _) => "none, as no batch came to its end".into(),
        (1, _) => format!("{first}, all in one batch"),
        (all, 1) => format!("{first} in the first of {all} batches, {last} in the last"),
        (all, n) => {
            format!("{first} in the first {n} of {all} batches, {last} in the last {n}")
        }
    };
    let now = match learned.from {
        0 => String::new(),
        from => format!(
            "gone on from sample {} of {} in all; costs are of the batches since\n",
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
    if let Some((sent, written)) = learned.bytes {
        text += &format!(
            "{} went over the links, {} with framing\n",
            bytes(sent),
            bytes(written)
        );
    }
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
    let batches = match few {
        1 => "batch".into(),
        n => format!("{n} batches"),
    };
    let facts = vec![
        (format!("cost, last {batches}"), format!("{last:.5}")),
        (format!("cost, first {batches}"), format!("{first:.5}")),
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
            bytes: None,
            ended: Ended::Complete,
        };
        assert_eq!(Drawn::of(&learned).ends, [104, 108, 110]);
        assert_eq!(sizes(&learned).collect::<Vec<_>>(), [4, 4, 2]);
        assert_eq!(first_and_last(&learned), (4.0, 1.0, 1));
        let back = Learned {
            from: 106,
            ..learned
        };
        assert_eq!(sizes(&back).collect::<Vec<_>>(), [0, 4, 2]);
    }
}
