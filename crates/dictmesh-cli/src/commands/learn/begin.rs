//! Where learning begins: data, preparation and mesh, new or from a model.

use super::super::prepare::{
    feature_means, Centre, Cut, Feed, How, Kind, Numbers, Preparation, Raw, Reading,
};
use super::super::{load_model, say, Result};
use super::passes::Position;
use super::{Args, Begun, Data, Making, State};
use crate::options::Options;
use crate::text::{TextOptions, TfIdf, Vectoriser, Vocabulary, Weighting};
use dictmesh::{Mesh, Start};
use std::path::Path;

/// What learning starts from.
pub fn begin(args: &Args) -> Result<Begun> {
    let mut options = args.options.clone();
    if let Some(path) = &args.config {
        options = options.or(Options::from_toml(path)?);
    }
    let passes = options.passes.unwrap_or(1);
    if passes == 0 {
        return Err("--passes 0: at least 1 is needed".into());
    }
    match &args.resume {
        Some(path) => resume(args, path, passes),
        None => start(args, &options, passes),
    }
}

fn start(args: &Args, options: &Options, passes: usize) -> Result<Begun> {
    let kind = kind(args)?;
    let reading = Reading::of(&args.data_args);
    let raw = Raw::open(&args.data, kind, &args.data_args, &Reading::default())?;
    let batch = options.batch.unwrap_or(256).max(1);
    let how = how(args, &raw, batch)?;
    let rows = match &how {
        How::Text { vectoriser } => vectoriser.rows(),
        How::Patches(cut) => cut.side * cut.side,
        _ => raw.features().unwrap_or(0),
    };
    let feed = Feed {
        raw: &raw,
        how: &how,
        rows,
        batch,
        shuffle: Some(options.seed.unwrap_or(0)),
    };
    let total = feed.samples()?;
    let first = feed.parts(0)?.next().ok_or("the data have no samples")??;
    let mesh = options.mesh(how.usual_task(), rows, Start::Samples(&first))?;
    let position = Position::start(&args.data, total);
    Ok(Begun {
        data: Data {
            names: raw.feature_names().map(<[String]>::to_vec),
            preparation: Preparation { how, reading },
            raw,
            total,
        },
        state: State { mesh, position },
        passes,
    })
}

fn resume(args: &Args, path: &Path, passes: usize) -> Result<Begun> {
    let model = load_model(path)?;
    let preparation = Preparation::of(&model)?;
    let mesh = Mesh::from_model(&model).map_err(say)?;
    let raw = Raw::for_model(&args.data, &args.data_args, &preparation, mesh.rows())?;
    let mut data = Data {
        names: model.description.feature_names.clone(),
        preparation,
        raw,
        total: 0,
    };
    data.total = data.feed(&mesh).samples()?;
    let position = Position::after(&model, &args.data, data.total);
    let total = data.total as u64;
    if position.learned >= passes as u64 * total {
        return Err(format!(
            "{}: it has learned these {total} samples {} times already; give more --passes to go on",
            path.display(),
            position.learned / total
        ));
    }
    Ok(Begun {
        data,
        state: State { mesh, position },
        passes,
    })
}

/// What the data are, by their flags and name.
fn kind(args: &Args) -> Result<Kind> {
    let Making {
        centre,
        norm,
        counts,
        patch,
        stride,
        vocabulary,
        hash,
        keep_stop_words,
    } = &args.making;
    let numbers = centre.is_some() || norm.is_some() || *counts;
    let text = vocabulary.is_some() || hash.is_some() || *keep_stop_words;
    let pictures = patch.is_some() || stride.is_some();
    let kind = match Kind::of(&args.data, &args.data_args) {
        // Without a telling name, the flags say what it is.
        Kind::Numbers if pictures && args.data.extension().is_none() => Kind::Pictures,
        Kind::Text if pictures && args.data.is_dir() => Kind::Pictures,
        kind => kind,
    };
    let (flags, fits) = match (numbers, text, pictures) {
        (true, _, _) => (
            "--centre, --norm and --counts belong to numbers",
            Kind::Numbers,
        ),
        (_, true, _) => (
            "--vocabulary, --hash and --keep-stop-words belong to text",
            Kind::Text,
        ),
        (_, _, true) => ("--patch and --stride belong to pictures", Kind::Pictures),
        _ => return Ok(kind),
    };
    match kind == fits {
        true => Ok(kind),
        false => Err(format!(
            "{}: {flags}, but this looks like {}; leave them out, or say with --format or --text-column \
             what the data are",
            args.data.display(),
            kind.words()
        )),
    }
}

/// What is done to the data. Frequencies of terms and means of features take a pass of their own, so
/// that the first sample is prepared like the last, and new ones like both.
fn how(args: &Args, raw: &Raw, batch: usize) -> Result<How> {
    let making = &args.making;
    match raw {
        Raw::Pictures(_) => {
            let side = making.patch.unwrap_or(8);
            Ok(How::Patches(Cut {
                side,
                stride: making.stride.unwrap_or(side / 2),
                white: 1.0,
            }))
        }
        Raw::Documents(documents) => {
            let vocabulary = match (making.hash, making.vocabulary) {
                (Some(bits), _) => Vocabulary::Hashing { bits },
                (None, max) => Vocabulary::Growing {
                    max: max.unwrap_or(20_000),
                },
            };
            let options = TextOptions {
                vocabulary,
                stop_words: !making.keep_stop_words,
                ..TextOptions::default()
            };
            let mut vectoriser = Box::new(Vectoriser::new(options).map_err(say)?);
            match vectoriser.fit(documents.texts.iter().map(String::as_str)) {
                0 => Err(format!(
                    "{}: no words that carry a topic",
                    args.data.display()
                )),
                _ => Ok(How::Text { vectoriser }),
            }
        }
        Raw::Matrix { .. } | Raw::Table(_) => numbers(args, raw, batch),
    }
}

fn numbers(args: &Args, raw: &Raw, batch: usize) -> Result<How> {
    let plain = How::default();
    let rows = raw.features().unwrap_or(0);
    let feed = Feed {
        raw,
        how: &plain,
        rows,
        batch,
        shuffle: None,
    };
    if args.making.counts {
        let mut tfidf = TfIdf::new(rows, Weighting::default());
        for part in feed.chunks()? {
            let named = |e| format!("{}: {}", args.data.display(), say(e));
            tfidf.fit(&part.map_err(say)?).map_err(named)?;
        }
        return Ok(How::Counts { tfidf });
    }
    let centre = args.making.centre.unwrap_or_default();
    let means = match centre {
        Centre::Feature => Some(feature_means(feed.chunks()?.map(|p| p.map_err(say)), rows)?),
        _ => None,
    };
    Ok(How::Numbers(Numbers {
        centre,
        means,
        norm: args.making.norm.unwrap_or_default(),
    }))
}
