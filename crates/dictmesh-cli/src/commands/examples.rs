//! `dictmesh examples`: small made-up data on which every command can be tried.

use super::{say, Result, Speech};
use crate::output::Folder;
use crate::planted::Planted;
use dictmesh::random::{gaussian, stream, Rng};
use dictmesh::Matrix;
use dictmesh_data::{encode_image, Image};
use npyz::WriterBuilder;
use rand::RngExt;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The streams of a seed ("exam" in ASCII and on).
const STREAM: u64 = 0x65_78_61_6d;
/// Pixels along a side of the picture, and its noise.
const SIDE: usize = 128;
const SIGMA: f64 = 25.0;
/// Documents of the stream; the last topic appears in the last quarter only.
const DOCUMENTS: usize = 800;
const TOPICS: [(&str, &str); 5] = [
    (
        "football",
        "goal match striker league referee penalty keeper stadium coach season defender cup header transfer",
    ),
    (
        "weather",
        "storm rain forecast wind cloud temperature flood snow pressure humid thunder coast frost drought",
    ),
    (
        "markets",
        "shares bank bond profit investor loan index currency trader rate earnings debt inflation dividend",
    ),
    (
        "kitchen",
        "oven butter garlic recipe sauce dough onion salt flavour roast spoon pepper soup simmer",
    ),
    (
        "space",
        "rocket orbit launch astronaut satellite capsule lunar telescope booster crater probe galaxy docking mission",
    ),
];
const COMMON: &str =
    "today people said year week city group report number place night morning world \
                      question answer reason public early later small large between";
/// Patients and genes of the table: each class has genes of its own that are high.
const CLASSES: [(&str, usize); 3] = [("north", 20), ("south", 16), ("west", 12)];
const GENES: usize = 240;
const OWN_GENES: usize = 40;

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
    /// The directory for them; made if it is not there
    pub directory: PathBuf,
    /// Another number, other data
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
    args.speech
        .tell(json!({"directory": dir, "files": names}), || {
            let lines = files.map(|(name, what)| {
                format!("{:<26}{what}\n", dir.join(name).display().to_string())
            });
            lines.concat()
        })
}

/// Refuses to write over a file that is not the same example.
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

/// Mixtures of planted atoms, a row each.
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

/// (topic, text) of each document.
fn news(seed: u64) -> Vec<(&'static str, String)> {
    let rng = &mut stream(seed, STREAM);
    let common: Vec<&str> = COMMON.split_whitespace().collect();
    let each = (0..DOCUMENTS).map(|j| {
        let late = j >= DOCUMENTS * 3 / 4 && rng.random::<f64>() < 0.15;
        let (topic, words) = match late {
            true => TOPICS[4],
            false => TOPICS[rng.random_range(0..4)],
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        let text: Vec<&str> = (0..rng.random_range(20..40))
            .map(|_| match rng.random::<f64>() < 0.6 {
                true => words[rank(words.len(), rng)],
                false => common[rank(common.len(), rng)],
            })
            .collect();
        (topic, text.join(" "))
    });
    each.collect()
}

/// A rank below `words`, small ones more often, as words have it.
fn rank(words: usize, rng: &mut Rng) -> usize {
    let place = rng.random::<f64>().powi(2) * words as f64;
    (place as usize).min(words - 1)
}

fn csv(news: &[(&str, String)]) -> String {
    let lines = news.iter().map(|(topic, text)| format!("{topic},{text}\n"));
    format!("topic,text\n{}", lines.collect::<String>())
}

fn lines(news: &[(&str, String)]) -> String {
    news.iter().map(|(_, text)| format!("{text}\n")).collect()
}

/// A table of expression: noise, a level for each gene, and the genes of each class.
fn genes(seed: u64) -> String {
    let rng = &mut stream(seed, STREAM + 1);
    let patients: usize = CLASSES.iter().map(|class| class.1).sum();
    let noise = gaussian(GENES, patients, rng);
    let level: Vec<f64> = (0..GENES).map(|_| rng.random_range(4.0..9.0)).collect();
    let mut text = String::from("class");
    text.extend((0..GENES).map(|g| format!(",g{g}")));
    let classes = CLASSES.iter().enumerate();
    let each = classes.flat_map(|(c, (name, count))| (0..*count).map(move |_| (c, name)));
    for (i, (c, name)) in each.enumerate() {
        text += &format!("\n{name}");
        for (g, level) in level.iter().enumerate() {
            let own = (c * OWN_GENES..(c + 1) * OWN_GENES).contains(&g);
            let value = level + 0.5 * noise.get(g, i) + if own { 2.0 } else { 0.0 };
            text += &format!(",{value:.3}");
        }
    }
    text + "\n"
}

/// A slope with a disc, an edge, a stripe and a field of waves.
pub fn scene(side: usize) -> Image {
    let n = side as f64;
    let plane = Matrix::from_fn(side, side, |i, j| {
        let (u, v) = (i as f64 / n, j as f64 / n);
        let part = |inside: bool, height: f64| if inside { height } else { 0.0 };
        let waves = 25.0 * (0.9 * i as f64 + 0.6 * j as f64).sin();
        90.0 + 60.0 * u
            + 30.0 * v
            + part((u - 0.32).hypot(v - 0.35) < 0.21, 70.0)
            + part(u + 0.7 * v > 1.15, -60.0)
            + part((v - 0.75).abs() < 0.04, 50.0)
            + part(u > 0.55 && v < 0.5, waves)
    });
    Image {
        planes: vec![plane],
        alpha: None,
        bits: 8,
    }
    .rounded()
}

/// The picture with white noise on every plane.
pub fn with_noise(clean: &Image, sigma: f64, seed: u64) -> Image {
    let mut noisy = clean.clone();
    let rng = &mut stream(seed, STREAM + 2);
    for plane in &mut noisy.planes {
        let noise = gaussian(plane.rows(), plane.cols(), rng);
        let pixels = plane.as_mut_slice().iter_mut();
        pixels
            .zip(noise.as_slice())
            .for_each(|(v, n)| *v += sigma * n);
    }
    noisy.rounded()
}
