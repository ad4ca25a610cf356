//! Denoising by as many agents as the paper names: N = 196, one atom each.

use crate::commands::denoise::{atoms, before_and_after, quality, Quality};
use crate::commands::examples::{scene, with_noise};
use crate::commands::{command_line, say, Result, Speech};
use crate::output::Folder;
use crate::progress::Bar;
use crate::progress::Progress;
use crate::report::{Report, Section, Table};
use dictmesh::{Matrix, Stop, Stopping, TopologySpec};
use dictmesh_apps::denoising::{Coding, Denoised, Denoising};
use dictmesh_data::{self as data, Image};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The paper's N, and the size of patch that N = 196 is about twice the pixels of.
const AGENTS: usize = 196;
const PATCH: usize = 10;
/// Pixels from one patch to the next, passes over the patches, and rounds of each inference: what 196 agents
/// can do in a minute or so.
const STRIDE: usize = 2;
const PASSES: usize = 1;
const ROUNDS: usize = 200;
/// Patches for each update: few, as every agent holds vectors for each of them.
const BATCH: usize = 32;
/// The chance of a link between two agents: some 20 neighbours each.
const LINKS: f64 = 0.1;
/// What the paper has to say.
const PAPER: &str = "no figure (it cites an earlier paper)";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A directory with a clean picture; the first .png, .pgm or .jpg by name is taken [default: one is made]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Standard deviation of the noise that is put on it, where white is 255
    #[arg(long, value_name = "S", default_value_t = 25.0)]
    pub sigma: f64,
    /// The largest square from the middle of the picture is taken, of at most this side: agents are slow
    #[arg(long, value_name = "PIXELS", default_value_t = 64, value_parser = clap::value_parser!(u64).range(10..))]
    pub size: u64,
    /// Fixes everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Write a page with the pictures and the atoms into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// What was made of the noisy picture.
struct Outcome {
    name: &'static str,
    image: Image,
    quality: Quality,
}

pub fn run(args: Args) -> Result<()> {
    if !(args.sigma > 0.0 && args.sigma.is_finite()) {
        return Err(format!(
            "--sigma {}: the standard deviation of the noise must be a number above 0",
            args.sigma
        )
        .into());
    }
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let (name, clean) = picture(&args)?;
    let noisy = with_noise(&clean, args.sigma, args.seed);
    let before = quality(&clean, &noisy)?;
    let bar = Bar::new(args.speech.quiet);
    let mut outcomes = Vec::new();
    let mut mesh = None;
    for coding in [Coding::Mesh, Coding::Exact] {
        let done = denoise(&args, &noisy.planes[0], coding, &bar);
        let done = done.inspect_err(|_| bar.clear())?;
        let image = grey(done.image).rounded();
        outcomes.push(Outcome {
            name: match coding {
                Coding::Mesh => "ours, 196 agents",
                Coding::Exact => "ours, in one place",
            },
            quality: quality(&clean, &image)?,
            image,
        });
        mesh.get_or_insert(done.mesh);
    }
    bar.clear();
    let page = match (&args.report, &mesh) {
        (Some(dir), Some(mesh)) => {
            let shown = [
                ("clean", &clean, String::new()),
                ("noisy", &noisy, before.words()),
            ];
            let ours = outcomes
                .iter()
                .map(|o| (o.name, &o.image, o.quality.words()));
            let sections = vec![
                beside(&before, &outcomes),
                before_and_after(shown.into_iter().chain(ours)),
                atoms(mesh, PATCH, "The atoms, one at each agent."),
            ];
            Some(report(&args, &name, sections).write(dir)?)
        }
        _ => None,
    };
    tell(&args, &name, &clean, &before, &outcomes, page)
}

/// A clean picture in grey, from the directory or made here, and its name.
fn picture(args: &Args) -> Result<(String, Image)> {
    let side = usize::try_from(args.size).unwrap_or(usize::MAX);
    let Some(dir) = &args.data else {
        return Ok(("a generated picture".into(), scene(side.min(512))));
    };
    let path = first_picture(dir)?;
    let image = data::read_image(&path).map_err(say)?;
    let (h, w) = (image.height(), image.width());
    let side = side.min(h).min(w);
    if side < PATCH {
        return Err(format!(
            "{}: {w} x {h} pixels; expected at least {PATCH} x {PATCH}, the size of a patch",
            path.display()
        )
        .into());
    }
    let (top, left) = ((h - side) / 2, (w - side) / 2);
    let planes = &image.planes;
    let middle = Matrix::from_fn(side, side, |i, j| {
        let sum: f64 = planes.iter().map(|p| p.get(top + i, left + j)).sum();
        sum / planes.len() as f64
    });
    Ok((path.display().to_string(), grey(middle).rounded()))
}

/// The first picture in a directory, by name.
fn first_picture(dir: &Path) -> Result<PathBuf> {
    let shown = dir.display();
    let entries = std::fs::read_dir(dir);
    let entries = entries.map_err(|e| format!("{shown}: cannot read this directory: {e}"))?;
    let mut pictures: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
            let ending = ending.to_ascii_lowercase();
            ["png", "pgm", "ppm", "jpg", "jpeg"].contains(&ending.as_str())
        })
        .collect();
    pictures.sort();
    Ok(pictures.into_iter().next().ok_or_else(|| {
        format!(
            "{shown}: no picture in it; expected a .png, .pgm, .ppm or .jpg without noise, such as the 512 x 512 \
             camera.png in the Python package scikit-image (skimage/data). Leave --data out for a generated one"
        )
    })?)
}

fn grey(plane: Matrix) -> Image {
    Image {
        planes: vec![plane],
        alpha: None,
        bits: 8,
    }
}

fn denoise(args: &Args, noisy: &Matrix, coding: Coding, bar: &Bar) -> Result<Denoised> {
    let settings = Denoising {
        patch: PATCH,
        stride: STRIDE,
        passes: PASSES,
        batch: BATCH,
        stopping: Stopping::rounds(ROUNDS),
        sigma: Some(args.sigma),
        agents: AGENTS,
        atoms_each: 1,
        topology: TopologySpec::ErdosRenyi {
            p: LINKS,
            seed: args.seed,
        },
        coding,
        seed: args.seed,
        ..Denoising::default()
    };
    let across = |n: usize| (n - PATCH).div_ceil(STRIDE) + 1;
    let patches = across(noisy.rows()) * across(noisy.cols());
    let total = settings.passes * patches.min(settings.learned);
    let done = settings.run(noisy, |event| {
        bar.show(Progress {
            phase: "learning",
            done: event.samples as usize,
            total,
            cost: Some(event.cost),
        });
        ControlFlow::Continue(())
    });
    let done = done.map_err(say)?;
    match done.stop {
        Stop::Converged | Stop::RoundLimit => Ok(done),
        stop => Err(format!("denoising stopped: {stop}").into()),
    }
}

fn tell(
    args: &Args,
    name: &str,
    clean: &Image,
    before: &Quality,
    outcomes: &[Outcome],
    page: Option<PathBuf>,
) -> Result<()> {
    let by = |at: usize| outcomes.get(at).map(|o| o.quality.json());
    let page = page.map(|page| page.display().to_string());
    args.speech.tell(
        json!({
            "picture": name, "side": clean.height(), "sigma": args.sigma, "agents": AGENTS, "patch": PATCH,
            "noisy": before.json(), "agents_result": by(0), "one_place": by(1), "paper": null,
            "seed": args.seed, "report": page,
        }),
        || {
            let mut text = format!(
                "{name}, {0} x {0} pixels, noise of sigma {1}\n{AGENTS} agents of one atom each, patches of {PATCH} x \
                 {PATCH}, {STRIDE} apart, {ROUNDS} rounds for each\n",
                clean.height(),
                args.sigma
            );
            text += &format!("{:<20}{}\n", "noisy", before.words());
            for outcome in outcomes {
                text += &format!("{:<20}{}\n", outcome.name, outcome.quality.words());
            }
            text += &format!("{:<20}{PAPER}\n", "paper");
            if let Some(page) = &page {
                text += &format!("report: {page}\n");
            }
            text
        },
    )
}

fn beside(before: &Quality, outcomes: &[Outcome]) -> Section {
    let line = |name: &str, words: String| vec![name.to_string(), words];
    let ours = outcomes.iter().map(|o| line(o.name, o.quality.words()));
    let rows = std::iter::once(line("noisy", before.words()))
        .chain(ours)
        .chain([line("paper", PAPER.into())]);
    Section {
        heading: "Beside the paper".into(),
        text: "The paper names denoising as an application and its network of 196 agents, and leaves the \
               experiment to an earlier paper of its authors (ICASSP 2014). Agents code by a fixed number of rounds, one place exactly."
            .into(),
        tables: vec![Table {
            caption: "PSNR and SSIM against the clean picture".into(),
            head: ["picture", "quality"].map(String::from).to_vec(),
            rows: rows.collect(),
        }],
        ..Section::default()
    }
}

fn report(args: &Args, name: &str, sections: Vec<Section>) -> Report {
    Report {
        title: "A picture denoised by 196 agents".into(),
        subtitle: name.to_string(),
        facts: vec![
            ("agents".into(), AGENTS.to_string()),
            ("patch".into(), format!("{PATCH} x {PATCH}")),
            ("sigma".into(), args.sigma.to_string()),
        ],
        sections,
        command: command_line(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            ("seed".into(), args.seed.to_string()),
        ],
    }
}
