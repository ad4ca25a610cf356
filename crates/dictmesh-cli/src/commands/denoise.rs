//! `dictmesh denoise`: a picture without its noise.

mod pictures;
mod quality;
mod show;

pub use pictures::{atoms, before_and_after};
pub use quality::{quality, Quality};

use super::prepare::{Cut, How, Preparation};
use super::{
    check_apart, check_place, load_model, note, page_place, save_model, say, Result, Speech,
};
use crate::memory::{check_sizes, Sizes};
use crate::numbers::exact;
use crate::output::{write_file, Folder};
use crate::progress::Bar;
use dictmesh::{Matrix, Mesh, Stop};
use dictmesh_apps::denoising::{
    from_opponent, noise_level, to_opponent, Coding, Denoised, Denoising,
};
use dictmesh_data::{self as data, Image};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The noisy picture: .png, .jpg, .pgm, .ppm or .tif, grey or colour
    pub image: PathBuf,
    /// Where the picture without noise goes; its ending says the format
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Standard deviation of the noise, where white is 255; a plane with less than rounding makes (0.29 with 8
    /// bits) stays as it is [default: estimated]
    #[arg(long, value_name = "S")]
    pub sigma: Option<f64>,
    /// How many atoms in all [default: one for each agent, or 128]
    #[arg(long, value_name = "K")]
    pub atoms: Option<usize>,
    /// Side of the square patches in pixels [default: 8, or the model's]
    #[arg(long, value_name = "P")]
    pub patch: Option<usize>,
    /// Pixels from one patch to the next; more is faster and less good
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub stride: usize,
    /// Share the atoms among so many agents who code together (196 in the paper); much slower than the
    /// default, one place that has them all, and the same up to a tolerance
    #[arg(long, value_name = "N")]
    pub agents: Option<usize>,
    /// Take the atoms of this model instead of learning: one of learn --patch or of --save-model, or one of
    /// numbers that are square patches, column by column. gamma is set by the noise
    #[arg(long, value_name = "MODEL", conflicts_with = "atoms")]
    pub model: Option<PathBuf>,
    /// Save what was learned (of a colour picture, from its light), for --model, infer and score
    #[arg(long, value_name = "MODEL", conflicts_with = "model")]
    pub save_model: Option<PathBuf>,
    /// The picture without noise, to measure against
    #[arg(long, value_name = "IMAGE")]
    pub clean: Option<PathBuf>,
    /// Fixes everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// A page with the pictures before and after, and the atoms
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// A picture restored.
struct Restored {
    image: Image,
    /// The noise of each plane.
    sigma: Vec<f64>,
    stop: Stop,
    /// Who coded the first plane that was coded, if any was.
    mesh: Option<Mesh>,
}

pub fn run(args: Args) -> Result<()> {
    check_place(&args.output)?;
    if let Some(path) = &args.save_model {
        check_place(path)?;
    }
    let page = page_place(args.report.as_ref());
    let outputs = std::iter::once(&args.output).chain(&args.save_model);
    let inputs = std::iter::once(&args.image).chain(&args.clean);
    check_apart(outputs.chain(&page), inputs.chain(&args.model))?;
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let noisy = data::read_image(&args.image).map_err(say)?;
    let lost = data::check_image_name(&args.output, &noisy).map_err(say)?;
    note(lost.as_deref(), args.speech.quiet);
    let clean = match &args.clean {
        Some(path) => Some(read_clean(path, &noisy, &args.image)?),
        None => None,
    };
    let atoms = match &args.model {
        Some(path) => Some(read_atoms(path, args.patch)?),
        None => None,
    };
    let settings = settings(&args, atoms.as_ref())?;
    check_size(&args, &noisy, &settings)?;
    let restored = restore(&args, &settings, &noisy, atoms.as_ref())?;
    let measured = match &clean {
        Some(clean) => Some((quality(clean, &noisy)?, quality(clean, &restored.image)?)),
        None => None,
    };
    if let Some(path) = &args.save_model {
        save(path, &restored, &settings)?;
    }
    let picture = data::encode_image(&args.output, &restored.image).map_err(say)?;
    write_file("the picture", &args.output, &picture)?;
    let page = match &args.report {
        Some(dir) => {
            let pictures = [clean.as_ref(), Some(&noisy), Some(&restored.image)];
            let side = settings.patch;
            Some(pictures::report(&args, pictures, measured.as_ref(), &restored, side).write(dir)?)
        }
        None => None,
    };
    show::tell(&args, &noisy, &restored, measured.as_ref(), page)
}

fn read_clean(path: &Path, noisy: &Image, noisy_path: &Path) -> Result<Image> {
    let clean = data::read_image(path).map_err(say)?;
    let kind = |image: &Image| {
        let colour = if image.is_grey() { "grey" } else { "colour" };
        format!("{} x {} pixels in {colour}", image.width(), image.height())
    };
    if kind(&clean) != kind(noisy) {
        return Err(format!(
            "{}: {}; expected {}, as in {}. Give the same picture without noise.",
            path.display(),
            kind(&clean),
            kind(noisy),
            noisy_path.display()
        )
        .into());
    }
    Ok(clean)
}

/// The atoms of a model of square patches.
fn read_atoms(path: &Path, patch: Option<usize>) -> Result<Matrix> {
    let model = load_model(path)?;
    let mesh = Mesh::from_model(&model).map_err(say)?;
    let how = Preparation::of(&model).map_err(say)?.how;
    let side = mesh.rows().isqrt();
    let square = side * side == mesh.rows() && side >= 2;
    if !square || !matches!(how, How::Patches(_) | How::Numbers(_)) {
        return Err(format!(
            "{}: a model of {}, atoms of {} features; expected one of square patches, such as 64 features \
             for 8 x 8. Learn it with dictmesh learn --patch 8.",
            path.display(),
            how.describe(),
            mesh.rows()
        ).into());
    }
    match patch {
        Some(patch) if patch != side => Err(format!(
            "{}: its atoms are patches of {side} x {side}, but --patch says {patch}; leave --patch out",
            path.display()
        ).into()),
        _ => Ok(mesh.dictionary()),
    }
}

/// Saves the mesh of the first plane that was learned.
fn save(path: &Path, restored: &Restored, settings: &Denoising) -> Result<()> {
    let mesh = restored.mesh.as_ref().ok_or_else(|| {
        format!(
            "{}: there was no noise, so that nothing was learned to save",
            path.display()
        )
    })?;
    let mut model = mesh.to_model();
    let cut = Cut {
        side: settings.patch,
        stride: settings.stride,
        white: quality::PEAK,
    };
    Preparation::new(How::Patches(cut))
        .store(&mut model)
        .map_err(say)?;
    save_model(&model, path)
}

fn settings(args: &Args, given: Option<&Matrix>) -> Result<Denoising> {
    let base = Denoising::default();
    let of_model = given.map(|atoms| atoms.rows().isqrt());
    let agents = args.agents.unwrap_or(1);
    let usual = args.agents.unwrap_or(base.agents * base.atoms_each);
    let atoms = given.map(Matrix::cols).or(args.atoms).unwrap_or(usual);
    check_sizes(agents, atoms)?;
    if !atoms.is_multiple_of(agents) {
        return Err(format!(
            "{atoms} atoms cannot be shared evenly among {agents} agents; choose --atoms as a multiple of --agents"
        ).into());
    }
    Ok(Denoising {
        patch: of_model.or(args.patch).unwrap_or(base.patch),
        stride: args.stride,
        sigma: args.sigma,
        agents,
        atoms_each: atoms / agents,
        coding: match args.agents {
            Some(_) => Coding::Mesh,
            None => Coding::Exact,
        },
        seed: args.seed,
        ..base
    })
}

fn check_size(args: &Args, noisy: &Image, settings: &Denoising) -> Result<()> {
    if let Some(sigma) = args.sigma.filter(|s| !s.is_finite() || *s < 0.0) {
        return Err(format!(
            "--sigma {}: the standard deviation of the noise must be a number of at least 0",
            exact(sigma)
        )
        .into());
    }
    let (patch, stride) = (settings.patch, settings.stride);
    if patch < 2 || patch > noisy.width().min(noisy.height()) {
        return Err(format!(
            "{}: {} x {} pixels, and patches of {patch} x {patch}; expected patches of at least 2 x 2 that fit \
             into the picture. Choose another --patch.",
            args.image.display(),
            noisy.width(),
            noisy.height()
        ).into());
    }
    if stride == 0 || stride > patch {
        return Err(format!(
            "--stride {stride}: expected from 1 to the side of a patch, {patch}, or pixels would be left out"
        ).into());
    }
    let atoms = settings.atoms_each.saturating_mul(settings.agents);
    let patches = patches(settings, noisy.height(), noisy.width());
    let sizes = Sizes {
        rows: patch * patch,
        atoms,
        // In one place they are one agent's.
        agents: match settings.coding {
            Coding::Mesh => settings.agents,
            Coding::Exact => 1,
        },
        batch: settings.batch.min(patches),
        // The patches before and after.
        data: 2 * patches.saturating_mul(patch * patch),
        rotates: true,
    };
    Ok(sizes.check(&format!(
        "--atoms {atoms} --agents {} --patch {patch} --stride {stride}",
        sizes.agents
    ))?)
}

/// Grey as it is; colour as light and two opponent colours, each on its own.
fn restore(
    args: &Args,
    settings: &Denoising,
    noisy: &Image,
    atoms: Option<&Matrix>,
) -> Result<Restored> {
    let planes = match <[Matrix; 3]>::try_from(noisy.planes.clone()) {
        Ok(rgb) => to_opponent(&rgb).map_err(say)?.to_vec(),
        Err(grey) => grey,
    };
    let count = planes.len();
    let bar = Bar::new(args.speech.quiet);
    let mut restored = Restored {
        image: noisy.clone(),
        sigma: Vec::new(),
        stop: Stop::Converged,
        mesh: None,
    };
    let mut out = Vec::new();
    for (p, plane) in planes.into_iter().enumerate() {
        let sigma = match settings.sigma {
            Some(sigma) => sigma,
            None => noise_level(&plane).map_err(say)?,
        };
        restored.sigma.push(sigma);
        if sigma < show::rounding(noisy) {
            out.push(plane);
            continue;
        }
        let done = one_plane(settings, &plane, sigma, atoms, &bar, (p, count));
        let done = done.inspect_err(|_| bar.clear())?;
        match done.stop {
            Stop::Converged => {}
            Stop::RoundLimit => restored.stop = Stop::RoundLimit,
            stop => return Err(format!("denoising stopped: {stop}").into()),
        }
        restored.mesh = restored.mesh.or(Some(done.mesh));
        out.push(done.image);
    }
    bar.clear();
    restored.image.planes = match <[Matrix; 3]>::try_from(out) {
        Ok(planes) => from_opponent(&planes).map_err(say)?.to_vec(),
        Err(grey) => grey,
    };
    restored.image = restored.image.rounded();
    Ok(restored)
}

fn one_plane(
    settings: &Denoising,
    plane: &Matrix,
    sigma: f64,
    atoms: Option<&Matrix>,
    bar: &Bar,
    (at, planes): (usize, usize),
) -> Result<Denoised> {
    let settings = Denoising {
        sigma: Some(sigma),
        ..settings.clone()
    };
    if let Some(atoms) = atoms {
        bar.show(restoring(at, planes));
        return settings.run_with(plane, atoms).map_err(say);
    }
    let patches = patches(&settings, plane.rows(), plane.cols());
    let each = settings.passes * patches.min(settings.learned);
    let learned = settings.run(plane, |event| {
        bar.show(crate::progress::Progress {
            phase: "learning",
            done: at * each + event.samples as usize,
            total: planes * each,
            cost: Some(event.cost),
        });
        if event.samples as usize >= each {
            bar.show(restoring(at, planes));
        }
        ControlFlow::Continue(())
    });
    learned.map_err(say)
}

/// How many patches are cut from a picture of this size.
fn patches(settings: &Denoising, rows: usize, columns: usize) -> usize {
    let across = |n: usize| (n - settings.patch).div_ceil(settings.stride) + 1;
    across(rows) * across(columns)
}

/// Planes that are restored already; this is done in one go, without a word on the way.
fn restoring(at: usize, planes: usize) -> crate::progress::Progress {
    crate::progress::Progress {
        phase: "restoring",
        done: at,
        total: planes,
        cost: None,
    }
}
