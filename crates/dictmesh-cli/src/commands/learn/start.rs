//! Where learning begins: data, preparation and mesh, new or from a model.

use super::super::prepare::{Feed, Preparation, Raw, Reading};
use super::super::{load_model, note, say, Result};
use super::transport::Transport;
use super::{Args, Begun, Data, State};
use crate::memory;
use crate::options::{Options, BATCH};
use dictmesh::{AtomInit, Matrix, Mesh, Model};
use dictmesh_apps::learning::Position;
use dictmesh_apps::memory::Sizes;
use dictmesh_data::read_atoms;
use dictmesh_net::host::processes::interrupted;
use std::path::Path;

/// What learning starts from.
pub fn begin(args: &Args) -> Result<Begun> {
    let options = args.choices.options.clone();
    let passes = match (&args.dictionary, options.passes) {
        (Some(_), Some(0)) if args.report.is_some() => {
            return Err(
                "--report: with --passes 0 there is no learning to draw; leave it out, or give it to infer"
                    .into(),
            )
        }
        // The given atoms are the model.
        (Some(_), Some(0)) => 0,
        _ => options.passes()?,
    };
    match &args.resume {
        Some(path) if args.over == Some(Transport::Processes) => {
            let (model, passes) = interrupted(path, options.passes)?;
            resume(args, path, model, &options, passes)
        }
        Some(path) if path.join("mesh.toml").is_file() => Err(format!(
            "--resume {}: this is the directory of a mesh; go on with it by dictmesh launch {0}/mesh.toml, or by --over \
             processes if learn began it",
            path.display()
        ).into()),
        Some(path) => resume(args, path, load_model(path)?, &options, passes),
        None => start(args, &options, passes),
    }
}

fn start(args: &Args, options: &Options, passes: usize) -> Result<Begun> {
    let reading = Reading::of(&args.choices.data_args.options());
    let (raw, how) = args
        .choices
        .prepare
        .open(&args.data, &args.choices.data_args)?;
    let rows = raw.rows(&how);
    let feed = Feed {
        raw: &raw,
        how: &how,
        rows,
        batch: options.batch.unwrap_or(BATCH).max(1),
        shuffle: Some(options.seed.unwrap_or(0)),
    };
    let total = feed.samples().map_err(say)?;
    let first = feed.parts(0).map_err(say)?.next();
    let first = first.ok_or("the data have no samples")?.map_err(say)?;
    let (options, given) = given_atoms(args, options, rows)?;
    let atoms = match &given {
        Some(atoms) => AtomInit::Given(atoms),
        None => AtomInit::Samples(&first),
    };
    let mesh = options.mesh(how.usual_task(), rows, atoms)?;
    if let (Some(given), false) = (&given, args.speech.quiet) {
        note_projected(given, &mesh.dictionary());
    }
    let position = Position::start(&args.data, raw.fingerprint().map_err(say)?, total);
    Ok(Begun {
        data: Data {
            choices: options,
            names: raw.feature_names().map(<[String]>::to_vec),
            preparation: Preparation::new(how).with_reading(reading),
            raw,
            total,
        },
        state: State { mesh, position },
        passes,
    })
}

/// The atoms of `--dictionary`, and the options with their number.
fn given_atoms(args: &Args, options: &Options, rows: usize) -> Result<(Options, Option<Matrix>)> {
    let Some(path) = &args.dictionary else {
        return Ok((options.clone(), None));
    };
    let atoms = read_atoms(path, rows).map_err(say)?;
    match options.atoms {
        Some(count) if count != atoms.cols() => Err(format!(
            "--atoms {count}: {} has {} atoms; leave --atoms out",
            path.display(),
            atoms.cols()
        )
        .into()),
        _ => {
            let options = Options {
                atoms: Some(atoms.cols()),
                ..options.clone()
            };
            Ok((options, Some(atoms)))
        }
    }
}

/// Says how many given atoms were outside the set of atoms.
fn note_projected(given: &Matrix, atoms: &Matrix) {
    let differ = |(a, b): &(&[f64], &[f64])| a.iter().zip(*b).any(|(a, b)| (a - b).abs() > 1e-12);
    let projected = given.columns().zip(atoms.columns()).filter(differ).count();
    if projected > 0 {
        eprintln!(
            "dictmesh: {projected} of {} given atoms are not in --atoms-set and were projected onto it",
            given.cols()
        );
    }
}

fn resume(
    args: &Args,
    path: &Path,
    model: Model,
    options: &Options,
    passes: usize,
) -> Result<Begun> {
    same_choices(path, &model, options)?;
    let preparation = Preparation::of(&model).map_err(say)?;
    let mesh = Mesh::from_model(&model).map_err(say)?;
    let names = model.description.feature_names.as_deref();
    let raw = Raw::for_model(
        &args.data,
        &args.choices.data_args.options(),
        &preparation,
        mesh.rows(),
        names,
    );
    let raw = raw.map_err(say)?;
    let mut data = Data {
        choices: choices(&model),
        names: model.description.feature_names.clone(),
        preparation,
        raw,
        total: 0,
    };
    data.total = data.feed(&mesh).samples().map_err(say)?;
    let sizes = Sizes::of(&mesh, mesh.batch().min(data.total), false);
    memory::check(&sizes, &format!("--resume {}", path.display()))?;
    let start = Position::start(&args.data, data.raw.fingerprint().map_err(say)?, data.total);
    let found = start.or_where_it_stopped(&model);
    let (position, changed) = found.map_err(|e| e.to_string())?;
    note(changed.as_deref(), args.speech.quiet);
    let total = data.total as u64;
    if position.learned >= (passes as u64).saturating_mul(total) {
        return Err(format!(
            "{}: it has learned these {total} samples {} times already; give more --passes to go on",
            path.display(),
            position.learned / total
        ).into());
    }
    Ok(Begun {
        data,
        state: State { mesh, position },
        passes,
    })
}

const CHOICES: &str = "choices";
/// What may change from run to run.
const FREE: [&str; 2] = ["passes", "threads"];

/// Puts what was chosen for a model into it.
pub fn store_choices(options: &Options, model: &mut Model) -> Result<()> {
    let value = serde_json::to_value(options).map_err(say)?;
    model.description.extra.insert(CHOICES.into(), value);
    Ok(())
}

/// What was chosen for a model.
fn choices(model: &Model) -> Options {
    let value = model.description.extra.get(CHOICES).cloned();
    value
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default()
}

/// A choice that is not the model's would be ignored: better to say so.
pub fn same_choices(path: &Path, model: &Model, options: &Options) -> Result<()> {
    let known = model.description.extra.get(CHOICES);
    let given = serde_json::to_value(options).map_err(say)?;
    let given = given.as_object().into_iter().flatten();
    for (name, value) in given.filter(|g| !g.1.is_null() && !FREE.contains(&g.0.as_str())) {
        let was = known.and_then(|known| known.get(name));
        if was != Some(value) {
            let was = match was {
                Some(was) if !was.is_null() => was.to_string(),
                _ => "what it had by default".into(),
            };
            return Err(format!(
                "--{name} {value}: {} was begun with {was} and continues with it; leave --{name} out, or learn \
                 anew without --resume",
                path.display()
            ).into());
        }
    }
    Ok(())
}
