//! `dictmesh denoise`: a picture restored by a dictionary of its own patches.

mod page;

pub use page::{atoms, before_and_after};

use super::prepare::{Cut, How, Preparation};
use super::{
    check_apart, check_place, load_model, note, page_place, save_model, say, Result, Speech,
};
use crate::memory::{self, check_sizes};
use crate::progress::Bar;
use crate::render::Reply;
use dictmesh::{Matrix, Mesh, Stop};
use dictmesh_apps::denoising::{rounding_noise, Coding, Denoising, Restored};
use dictmesh_apps::memory::Sizes;
use dictmesh_apps::quality::Quality;
use dictmesh_data::output::{write_file, Folder};
use dictmesh_data::preparation::patch_side;
use dictmesh_data::{self as data, Image};
use dictmesh_report::numbers::{counted, exact};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// White in every picture, whatever its depth.
const PEAK: f64 = 255.0;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The noisy picture: .png, .jpg, .pgm, .ppm or .tif, grey or colour
    pub image: PathBuf,
    /// The file of the restored picture; its ending is the format
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Replace an output file that dictmesh did not write
    #[arg(long)]
    pub force: bool,
    #[arg(long, value_name = "S", help = format!(
        "Standard deviation of the noise, white is 255; a plane with less than rounding adds ({:.2} with 8 bits) \
         stays as it is [default: estimated]",
        rounding_noise(8)
    ))]
    pub sigma: Option<f64>,
    #[arg(long, value_name = "K", help = format!(
        "Number of atoms [default: one per agent, or {}]", usual_atoms()
    ))]
    pub atoms: Option<usize>,
    #[arg(long, value_name = "SIDE", value_parser = patch_side, help = format!(
        "Side of the square patches that pictures are cut into, as 8 or 8x8 [default: {}, or the model's]",
        Denoising::default().patch
    ))]
    pub patch: Option<usize>,
    /// Pixels from one patch to the next
    #[arg(long, value_name = "N", default_value_t = Denoising::default().stride)]
    pub stride: usize,
    /// Number of agents that share the atoms and code together (196 in the paper). By default one agent has
    /// all atoms: much faster, and the same result up to a tolerance
    #[arg(long, value_name = "N")]
    pub agents: Option<usize>,
    /// Restore with the atoms of this model, without learning: one of learn --patch or of --save-model, or one of
    /// numbers that are square patches, column by column. The noise sets gamma
    #[arg(long, value_name = "MODEL", conflicts_with = "atoms")]
    pub model: Option<PathBuf>,
    /// Save the learned model (of a colour picture, that of its luminance) for --model, infer and score
    #[arg(long, value_name = "MODEL", conflicts_with = "model")]
    pub save_model: Option<PathBuf>,
    /// The picture without noise, to measure the quality against
    #[arg(long, value_name = "IMAGE")]
    pub clean: Option<PathBuf>,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = Denoising::default().seed)]
    pub seed: u64,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

fn usual_atoms() -> usize {
    let base = Denoising::default();
    base.agents * base.atoms_each
}

/// The restored picture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Restoration {
    /// Its file.
    output: String,
    /// Number of columns of pixels.
    width: usize,
    /// Number of rows of pixels.
    height: usize,
    /// Number of planes: 1 if grey, 3 in colour.
    planes: usize,
    /// Standard deviation of the noise: of the grey plane, or of luminance and two opponent colours.
    sigma: Vec<f64>,
    /// Number of planes with too little noise to restore.
    unchanged_planes: usize,
    /// Number of atoms; 0 if every plane is unchanged.
    atoms: usize,
    /// Number of agents that hold them.
    agents: usize,
    /// Quality of the noisy picture; null without --clean.
    before: Option<Quality>,
    /// Quality of the restored picture; null without --clean.
    after: Option<Quality>,
    /// Why the inference stopped.
    stop: &'static str,
    /// The page of the report.
    report: Option<String>,
}

impl Reply for Restoration {
    const COMMAND: &'static str = "denoise";
}

pub fn run(args: Args) -> Result<()> {
    check_outputs(&args)?;
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
    let bar = Bar::new(args.speech.quiet);
    let done = settings.restore_image(&noisy, atoms.as_ref(), &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let (image, restored) = done.map_err(say)?;
    let quality = |image: &Image| match &clean {
        Some(clean) => Quality::of(&clean.planes, &image.planes, PEAK)
            .map(Some)
            .map_err(say),
        None => Ok(None),
    };
    let mut reply = Restoration {
        output: args.output.display().to_string(),
        width: noisy.width(),
        height: noisy.height(),
        planes: noisy.planes.len(),
        sigma: restored.sigma.clone(),
        unchanged_planes: restored.unchanged,
        atoms: restored.mesh.as_ref().map_or(0, Mesh::atoms),
        agents: restored.mesh.as_ref().map_or(0, Mesh::agents),
        before: quality(&noisy)?,
        after: quality(&image)?,
        stop: restored.stop.name(),
        report: None,
    };
    if let Some(path) = &args.save_model {
        save(path, &restored, &settings)?;
    }
    let picture = data::encode_image(&args.output, &image).map_err(say)?;
    write_file("the picture", &args.output, &picture)?;
    if let Some(dir) = &args.report {
        let pictures = [clean.as_ref(), Some(&noisy), Some(&image)];
        let mesh = restored.mesh.as_ref();
        let page = page::report(&args, &reply, pictures, mesh, settings.patch).write(dir)?;
        reply.report = Some(page.display().to_string());
    }
    args.speech
        .reply(&reply, || text(&args, &reply, &noisy, restored.stop))
}

fn check_outputs(args: &Args) -> Result<()> {
    check_place(&args.output)?;
    if let Some(path) = &args.save_model {
        check_place(path)?;
    }
    let page = page_place(args.report.as_ref());
    let outputs = std::iter::once(&args.output).chain(&args.save_model);
    let inputs = std::iter::once(&args.image).chain(&args.clean);
    check_apart(outputs.chain(&page), inputs.chain(&args.model))?;
    if !args.force && args.output.exists() && !data::is_own_image(&args.output) {
        return Err(format!(
            "{}: dictmesh did not write this file; name another one, or give --force to replace it",
            args.output.display()
        )
        .into());
    }
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    Ok(())
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
        )
        .into());
    }
    match patch {
        Some(patch) if patch != side => Err(format!(
            "{}: its atoms are patches of {side} x {side}, but --patch is {patch}; leave --patch out",
            path.display()
        )
        .into()),
        _ => Ok(mesh.dictionary()),
    }
}

/// Saves the mesh of the first plane that was learned.
fn save(path: &Path, restored: &Restored, settings: &Denoising) -> Result<()> {
    let mesh = restored.mesh.as_ref().ok_or_else(|| {
        format!(
            "{}: the picture has no noise, so no model was learned; leave --save-model out",
            path.display()
        )
    })?;
    let mut model = mesh.to_model();
    let cut = Cut {
        side: settings.patch,
        stride: settings.stride,
        white: PEAK,
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
    let usual = args.agents.unwrap_or(usual_atoms());
    let atoms = given.map(Matrix::cols).or(args.atoms).unwrap_or(usual);
    check_sizes(agents, atoms)?;
    if !atoms.is_multiple_of(agents) {
        return Err(format!(
            "{atoms} atoms cannot be shared evenly among {agents} agents; choose --atoms as a multiple of --agents"
        )
        .into());
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
        )
        .into());
    }
    if stride == 0 || stride > patch {
        return Err(format!(
            "--stride {stride}: expected from 1 to the side of a patch, {patch}, or pixels would be left out"
        )
        .into());
    }
    let atoms = settings.atoms_each.saturating_mul(settings.agents);
    let patches = settings
        .patch_count(noisy.height(), noisy.width())
        .map_err(say)?;
    let sizes = Sizes {
        rows: patch * patch,
        atoms,
        // Exact coding has one agent with all atoms.
        agents: match settings.coding {
            Coding::Mesh => settings.agents,
            Coding::Exact => 1,
        },
        batch: settings.batch.min(patches),
        // The patches before and after.
        data: 2 * patches.saturating_mul(patch * patch),
        rotates: true,
    };
    let agents = sizes.agents;
    let given = format!("--atoms {atoms} --agents {agents} --patch {patch} --stride {stride}");
    memory::check(&sizes, &given)
}

/// "25.00 dB, SSIM 0.8000".
pub fn shown(quality: &Quality) -> String {
    let ssim = quality.ssim.map(|s| format!(", SSIM {s:.4}"));
    format!("{:.2} dB{}", quality.psnr, ssim.unwrap_or_default())
}

fn sigma_shown(sigma: &[f64]) -> String {
    let each: Vec<String> = sigma.iter().map(|s| format!("{s:.2}")).collect();
    match (&each[..], sigma.windows(2).all(|w| w[0] == w[1])) {
        ([first, ..], true) => first.clone(),
        _ => format!("{} (luminance and two opponent colours)", each.join(", ")),
    }
}

fn text(args: &Args, reply: &Restoration, noisy: &Image, stop: Stop) -> String {
    let origin = match args.sigma {
        Some(_) => "given",
        None => "estimated",
    };
    let mut text = format!(
        "{} x {} pixels, noise of standard deviation {} ({origin})\n",
        reply.width,
        reply.height,
        sigma_shown(&reply.sigma)
    );
    let atoms = counted(reply.atoms, "atom");
    text += &match reply.agents {
        0 => "no noise to remove: the picture stays as it is\n".to_string(),
        1 => format!("{atoms}\n"),
        n => format!("{atoms} at {n} agents\n"),
    };
    if reply.unchanged_planes > 0 && args.sigma != Some(0.0) {
        text += &format!(
            "{} of {} unchanged: less noise than the {:.2} of rounding to {} bits\n",
            reply.unchanged_planes,
            counted(reply.planes, "plane"),
            rounding_noise(noisy.bits),
            noisy.bits
        );
    }
    if stop != Stop::Converged {
        text += &format!("the inference ended early: {stop}\n");
    }
    if let (Some(before), Some(after)) = (&reply.before, &reply.after) {
        text += &format!("noisy:    {}\n", shown(before));
        text += &format!("denoised: {}\n", shown(after));
    }
    text += &format!("picture: {}\n", reply.output);
    if let Some(page) = &reply.report {
        text += &format!("report: {page}\n");
    }
    text
}
