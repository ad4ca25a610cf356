//! `dictmesh examples`: small generated data to try every command on.

use super::{say, Result, Speech};
use crate::render::Reply;
use dictmesh_apps::demo::Planted;
use dictmesh_apps::synthetic::{genes, news, scene, with_noise, DOCUMENTS};
use dictmesh_data::output::Folder;
use dictmesh_data::{encode_image, Image};
use npyz::WriterBuilder;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Side of the picture in pixels, and the standard deviation of its noise.
const SIDE: usize = 128;
const SIGMA: f64 = 25.0;
/// Settings for `learn --config`.
const SETTINGS: &str = "\
# For samples.npy: learn data/samples.npy --config data/settings.toml -o MODEL
task = \"sparse-svd\"
gamma = 0.2
atoms = 48
agents = 4
topology = \"ring\"
passes = 1
";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory for them; created if missing
    pub directory: PathBuf,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub speech: Speech,
}

pub fn run(args: Args) -> Result<()> {
    let dir = &args.directory;
    let folder = Folder::check_for("the examples", dir)?;
    let news = news(args.seed);
    // A past without the late topic, and a day with it.
    let late = DOCUMENTS * 3 / 4;
    let clean = scene(SIDE);
    let noisy = with_noise(&clean, SIGMA, args.seed);
    let png = |image: &Image| encode_image(Path::new("x.png"), image).map_err(say);
    let contents = [
        samples(args.seed)?,
        SETTINGS.into(),
        csv(&news).into(),
        lines(&news[..late]).into(),
        lines(&news[late..late + 60]).into(),
        genes(args.seed).into(),
        png(&clean)?,
        png(&noisy)?,
    ];
    let files = [
        (
            "samples.npy",
            "2000 samples of 64 numbers, mixtures of 48 little pictures",
        ),
        ("settings.toml", "choices for learn --config"),
        (
            "news.csv",
            "800 short documents on five topics, one of which comes late",
        ),
        ("past.txt", "the first 600 of them, a line each"),
        ("today.txt", "60 later ones, the late topic among them"),
        ("genes.csv", "48 patients of three classes, 240 genes"),
        ("clean.png", "a picture"),
        ("noisy.png", "the same with noise of standard deviation 25"),
    ];
    let names = files.map(|file| file.0);
    let written = names.map(String::from).into_iter().zip(contents);
    let written: Vec<(String, Vec<u8>)> = written.collect();
    check_own(dir, &written)?;
    folder.write("an example", &written)?;
    let reply = Examples {
        directory: dir.display().to_string(),
        files: names.map(String::from).to_vec(),
    };
    args.speech.reply(&reply, || {
        let rows = files.map(|(name, what)| {
            let path = dir.join(name).display().to_string();
            format!("{path:<26}{what}\n")
        });
        rows.concat()
    })
}

/// The example files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Examples {
    /// The directory.
    directory: String,
    /// The names of the files in it.
    files: Vec<String>,
}

impl Reply for Examples {
    const COMMAND: &'static str = "examples";
}

/// Refuses to replace a file that is not the same example.
fn check_own(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    for (name, content) in files {
        let path = dir.join(name);
        if path.exists() && std::fs::read(&path).ok().as_ref() != Some(content) {
            return Err(format!(
                "{}: it is there and is something else; move it away, or name another directory for the \
                 examples",
                path.display()
            ).into());
        }
    }
    Ok(())
}

/// Mixtures of planted atoms, one per row.
fn samples(seed: u64) -> Result<Vec<u8>> {
    let x = Planted::new(seed).next_batch(2000);
    let mut out = Vec::new();
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[x.cols() as u64, x.rows() as u64])
        .writer(&mut out)
        .begin_nd()
        .map_err(say)?;
    writer.extend(x.into_vec()).map_err(say)?;
    writer.finish().map_err(say)?;
    Ok(out)
}

fn csv(news: &[(&str, String)]) -> String {
    let lines = news.iter().map(|(topic, text)| format!("{topic},{text}\n"));
    format!("topic,text\n{}", lines.collect::<String>())
}

fn lines(news: &[(&str, String)]) -> String {
    news.iter().map(|(_, text)| format!("{text}\n")).collect()
}
