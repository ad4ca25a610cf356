//! Denoising by as many agents as the paper names: N = 196, one atom each.

use crate::commands::denoise::{atoms, before_and_after, shown};
use crate::commands::{command_line, say, Result, Speech};
use crate::progress::Bar;
use crate::render::text::table;
use crate::render::Reply;
use dictmesh_apps::reproduce::{grey_square, DenoisingExperiment, DenoisingResult};
use dictmesh_apps::synthetic::scene;
use dictmesh_data::output::Folder;
use dictmesh_data::{self as data, Image};
use dictmesh_report::numbers::counted;
use dictmesh_report::{Report, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What the paper reports.
const PAPER: &str = "no figure (it cites an earlier paper)";
/// Side of the generated picture at most.
const MOST_GENERATED: usize = 512;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A directory with a clean picture; the first .png, .pgm or .jpg by name is taken [default: one is generated]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Standard deviation of the noise to add, white is 255
    #[arg(long, value_name = "S", default_value_t = DenoisingExperiment::default().sigma)]
    pub sigma: f64,
    /// Side of the square taken from the middle of the picture, at most
    #[arg(long, value_name = "PIXELS", default_value_t = 64, value_parser = clap::value_parser!(u64).range(10..))]
    pub size: u64,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = DenoisingExperiment::default().seed)]
    pub seed: u64,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The quality of the picture denoised by the paper's agents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Denoised {
    /// The file of the clean picture; null if it was generated.
    picture: Option<String>,
    #[serde(flatten)]
    result: DenoisingResult,
    /// The seed.
    seed: u64,
    /// The page of the report.
    report: Option<String>,
}

impl Reply for Denoised {
    const COMMAND: &'static str = "reproduce-denoising";
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
    let experiment = DenoisingExperiment {
        sigma: args.sigma,
        seed: args.seed,
        ..DenoisingExperiment::default()
    };
    let (picture, clean) = picture(&args, experiment.patch)?;
    let bar = Bar::new(args.speech.quiet);
    let result = experiment.run(&clean, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let mut reply = Denoised {
        picture,
        result: result.map_err(say)?,
        seed: args.seed,
        report: None,
    };
    if let Some(dir) = &args.report {
        let page = report(&reply, &clean).write(dir)?;
        reply.report = Some(page.display().to_string());
    }
    args.speech.reply(&reply, || {
        let result = &reply.result;
        let mut text = format!(
            "{}, {} x {} pixels, noise of standard deviation {}\n{} of one atom each, patches of {patch} x \
             {patch}, {} apart, {} for each\n\n{}",
            name(&reply),
            result.width,
            result.height,
            result.sigma,
            counted(result.agents, "agent"),
            experiment.stride,
            counted(experiment.rounds, "round"),
            table(&rows(result)),
            patch = result.patch,
        );
        if let Some(page) = &reply.report {
            text += &format!("report: {page}\n");
        }
        text
    })
}

fn name(reply: &Denoised) -> &str {
    reply.picture.as_deref().unwrap_or("a generated picture")
}

/// A clean picture in grey with its file, or a generated one.
fn picture(args: &Args, patch: usize) -> Result<(Option<String>, Image)> {
    let side = usize::try_from(args.size).unwrap_or(usize::MAX);
    let Some(dir) = &args.data else {
        return Ok((None, scene(side.min(MOST_GENERATED))));
    };
    let path = first_picture(dir)?;
    let image = data::read_image(&path).map_err(say)?;
    if image.width().min(image.height()) < patch {
        return Err(format!(
            "{}: {} x {} pixels; expected at least {patch} x {patch}, the size of a patch",
            path.display(),
            image.width(),
            image.height()
        )
        .into());
    }
    Ok((Some(path.display().to_string()), grey_square(&image, side)))
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
    let first = pictures.into_iter().next();
    Ok(first.ok_or_else(|| {
        format!(
            "{shown}: no picture in it; expected a .png, .pgm, .ppm or .jpg without noise, such as the 512 x 512 \
             camera.png in the Python package scikit-image (skimage/data). Leave --data out for a generated one"
        )
    })?)
}

/// A head, a row for each picture, and the paper's.
fn rows(result: &DenoisingResult) -> Vec<Vec<String>> {
    let rows = [
        ("picture".to_string(), "quality".to_string()),
        ("noisy".into(), shown(&result.noisy)),
        (
            format!("ours, {} agents", result.agents),
            shown(&result.mesh),
        ),
        (
            "ours, one agent with all atoms".into(),
            shown(&result.centralized),
        ),
        ("paper".into(), PAPER.into()),
    ];
    rows.map(|(name, quality)| vec![name, quality]).to_vec()
}

fn report(reply: &Denoised, clean: &Image) -> Report {
    let result = &reply.result;
    let mut rows = rows(result);
    let mut sections = vec![Section {
        heading: "Beside the paper".into(),
        text: "The paper names denoising as an application, by a network of 196 agents. Its authors published the \
               experiment in an earlier paper (ICASSP 2014). The agents code by a fixed number of rounds, one agent \
               with all atoms codes exactly."
            .into(),
        tables: vec![Table {
            caption: "PSNR and SSIM against the clean picture".into(),
            head: rows.remove(0),
            rows,
        }],
        ..Section::default()
    }];
    if let Some(pictures) = &result.pictures {
        let shown = [
            ("clean", clean, String::new()),
            ("noisy", &pictures.noisy, shown(&result.noisy)),
            ("196 agents", &pictures.by_mesh, shown(&result.mesh)),
            ("one agent", &pictures.by_one, shown(&result.centralized)),
        ];
        sections.push(before_and_after(shown.into_iter()));
        sections.push(atoms(
            &pictures.mesh,
            result.patch,
            "The atoms, one at each agent.",
        ));
    }
    Report {
        title: "A picture denoised by 196 agents".into(),
        subtitle: name(reply).to_string(),
        facts: vec![
            ("agents".into(), result.agents.to_string()),
            ("patch".into(), format!("{0} x {0}", result.patch)),
            ("sigma".into(), result.sigma.to_string()),
        ],
        sections,
        command: command_line(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            ("seed".into(), reply.seed.to_string()),
        ],
    }
}
