//! Generated data with a known structure: documents, a table of genes, a picture.

use dictmesh::random::{gaussian, stream, Rng};
use dictmesh::Matrix;
use dictmesh_data::Image;
use rand::RngExt;

/// First random stream of the generated data ("exam" in ASCII).
const STREAM: u64 = 0x65_78_61_6d;
/// Number of documents; the last topic occurs in the last quarter only.
pub const DOCUMENTS: usize = 800;
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
/// Classes with their numbers of patients; each class has genes of its own with high values.
const CLASSES: [(&str, usize); 3] = [("north", 20), ("south", 16), ("west", 12)];
const GENES: usize = 240;
const OWN_GENES: usize = 40;

/// Topic and text of [`DOCUMENTS`] short documents of five topics, one of which comes late.
pub fn news(seed: u64) -> Vec<(&'static str, String)> {
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

/// A rank below `words`; small ranks are more frequent.
fn rank(words: usize, rng: &mut Rng) -> usize {
    let place = rng.random::<f64>().powi(2) * words as f64;
    (place as usize).min(words - 1)
}

/// A table of 48 patients of three classes x 240 genes as CSV, the class in the first column: a
/// level per gene, noise, and 40 genes per class with high values.
pub fn genes(seed: u64) -> String {
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

/// A square grey picture: a slope with a disc, an edge, a stripe and a field of waves.
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

/// The picture with white noise of standard deviation `sigma` in every plane, rounded to its
/// levels.
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
