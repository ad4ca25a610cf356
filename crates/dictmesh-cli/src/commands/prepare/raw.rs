//! Data as a person has them: a matrix, a table, texts or pictures.

use super::super::reading::{check_flags, Shape};
use super::super::{refusal, say, Result};
use super::{Cut, DataArgs, How, Preparation, Reading};
use crate::data::{self, Format, ReadOptions, Source, Table};
use crate::text::{read_documents, Documents};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What raw data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Numbers,
    Text,
    Pictures,
}

const PICTURES: [&str; 6] = ["png", "jpg", "jpeg", "pgm", "ppm", "pnm"];

impl Kind {
    /// What a path and its flags look like.
    pub fn of(path: &Path, args: &DataArgs) -> Kind {
        let format = args.read.format;
        if args.text_column.is_some() || format.is_some_and(Format::is_text) {
            return Kind::Text;
        }
        if format.is_some() {
            return Kind::Numbers;
        }
        if path.is_dir() {
            return match pictures_in(path) {
                Ok(found) if !found.is_empty() => Kind::Pictures,
                _ => Kind::Text,
            };
        }
        match (is_picture(path), by_name(path)) {
            (true, _) => Kind::Pictures,
            (_, Some(format)) if format.is_text() => Kind::Text,
            _ => Kind::Numbers,
        }
    }

    /// Whether data that look like `seen` may be this after all: a table may hold text or numbers, and a
    /// name may say nothing.
    fn may_be(self, seen: Kind, path: &Path, args: &DataArgs) -> bool {
        let format = args.read.format.or(by_name(path));
        let says_nothing = format.is_none() && !is_picture(path) && !path.is_dir();
        match self {
            _ if self == seen => true,
            Kind::Text => seen == Kind::Numbers && !format.is_some_and(Format::is_matrix),
            Kind::Numbers => false,
            Kind::Pictures => says_nothing || path.is_dir(),
        }
    }

    /// It in a word.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Numbers => "numbers",
            Kind::Text => "text",
            Kind::Pictures => "pictures",
        }
    }
}

fn by_name(path: &Path) -> Option<Format> {
    let extension = path.extension().and_then(|e| e.to_str());
    Format::by_extension(extension?)
}

fn is_picture(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    PICTURES.iter().any(|p| p.eq_ignore_ascii_case(extension))
}

/// The pictures right in a directory, by name; none if other files are there too.
fn pictures_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| format!("{}: {}", directory.display(), refusal(&e));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with('.'));
        match (hidden, is_picture(&path)) {
            (true, _) => {}
            (_, true) => found.push(path),
            _ => return Ok(Vec::new()),
        }
    }
    found.sort();
    Ok(found)
}

/// A picture that will be cut.
#[derive(Clone, Debug)]
pub struct PictureFile {
    pub path: PathBuf,
    /// Rows and columns of pixels.
    pub size: (usize, usize),
    /// Whether it has colour, which patches do not.
    pub colour: bool,
}

/// Opened data.
pub enum Raw {
    /// A matrix in a file, which may be larger than memory.
    Matrix {
        source: Arc<Source>,
        options: ReadOptions,
        samples: usize,
        features: usize,
    },
    /// A table, in memory.
    Table(Box<Table>),
    Documents(Documents),
    Pictures(Vec<PictureFile>),
}

impl Raw {
    /// Opens data of a kind, read by the flags, and by `reading` where they are silent; `features` are the
    /// names of what a model learned from.
    pub fn open(
        path: &Path,
        kind: Kind,
        args: &DataArgs,
        reading: &Reading,
        features: Option<&[String]>,
    ) -> Result<Raw> {
        let check = |shape| check_flags(path, shape, &args.read, args.text_column.as_deref());
        let raw = match kind {
            Kind::Text => {
                check(Shape::of_text(path, args.read.format))?;
                Raw::Documents(read_documents(path, &reading.documents(args)).map_err(say)?)
            }
            Kind::Pictures => {
                check(Shape::Pictures)?;
                Raw::pictures(path)?
            }
            Kind::Numbers => {
                let source = Arc::new(Source::open(path).map_err(say)?);
                let mut options = reading.options(&args.read);
                options.features = features.map(<[String]>::to_vec);
                let format = Format::of(&source, options.format).map_err(say)?;
                check(Shape::of_numbers(format))?;
                if matches!(format, Format::Csv | Format::Tsv) {
                    let table = data::read_source(&source, &options).map_err(say)?;
                    Raw::Table(Box::new(table))
                } else {
                    options.format = Some(format);
                    let (samples, features) = data::size(&source, &options).map_err(say)?;
                    Raw::Matrix {
                        source,
                        options,
                        samples,
                        features,
                    }
                }
            }
        };
        match raw.is_empty() {
            true => Err(format!(
                "{}: it has no samples; expected at least one. Check the file, --header and --transpose.",
                path.display()
            )),
            false => Ok(raw),
        }
    }

    /// Opens new data for a model of `rows` rows, which may have names; what it cannot take is refused with
    /// what it expects.
    pub fn for_model(
        path: &Path,
        args: &DataArgs,
        model: &Preparation,
        rows: usize,
        names: Option<&[String]>,
    ) -> Result<Raw> {
        let advice =
            "Check --transpose, --drop and --label-column, or whether this is the right model.";
        Raw::fitting(path, args, model, (rows, names), ["the model", advice])
    }

    /// As [`Raw::for_model`], for an agent, which is told of its samples by its settings and not by flags.
    pub fn for_agent(
        path: &Path,
        model: &Preparation,
        rows: usize,
        names: Option<&[String]>,
    ) -> Result<Raw> {
        let who = format!("this agent, with rows = {rows},");
        let advice = "Let path in its agent.toml (in mesh.toml under launch) name such samples; or make a mesh \
                      for these: rows is the same at all agents, and mesh init finds it by --data.";
        let args = &DataArgs::default();
        Raw::fitting(path, args, model, (rows, names), [&who, advice])
    }

    /// Data that `who` can take, or what it expects, and the advice.
    fn fitting(
        path: &Path,
        args: &DataArgs,
        model: &Preparation,
        (rows, names): (usize, Option<&[String]>),
        [who, advice]: [&str; 2],
    ) -> Result<Raw> {
        let (kind, shown) = (model.how.kind(), path.display());
        let expects = model.how.expects(rows);
        let seen = Kind::of(path, args);
        let stdin = path == Path::new("-") && args.read.format.is_none();
        if !stdin && !kind.may_be(seen, path, args) && (path.exists() || path == Path::new("-")) {
            let found = seen.words();
            return Err(format!("{shown}: {found}; {who} expects {expects}"));
        }
        let raw = Raw::open(path, kind, args, &model.reading, names)?;
        match raw.features() {
            Some(features) if features != rows => {
                let turned = match model.reading.transpose {
                    true => " (the model was learned with --transpose)",
                    false => "",
                };
                Err(format!(
                    "{shown}: {features} features a sample; {who} expects {expects}{turned}. {advice}"
                ))
            }
            _ => Ok(raw),
        }
    }

    fn pictures(path: &Path) -> Result<Raw> {
        if path == Path::new("-") {
            return Err(
                "pictures are not read from standard input; name a file or a directory".into(),
            );
        }
        let files = match path.is_dir() {
            true => pictures_in(path)?,
            false => vec![path.to_path_buf()],
        };
        if files.is_empty() {
            return Err(format!(
                "{}: expected a directory of nothing but pictures (.png, .jpg, .pgm, .ppm)",
                path.display()
            ));
        }
        let alone = !path.is_dir();
        let sized = files.into_iter().map(|path| {
            // A pipe would be waited for.
            if path.exists() && !path.is_file() && !alone {
                return Err(format!(
                    "{}: expected nothing but files in a directory of pictures; take it out",
                    path.display()
                ));
            }
            let (size, colour) = data::image_head(&path).map_err(say)?;
            Ok(PictureFile { path, size, colour })
        });
        Ok(Raw::Pictures(sized.collect::<Result<_>>()?))
    }

    /// What a person should know about how it was read.
    pub fn note(&self) -> Option<&str> {
        match self {
            Raw::Table(table) => table.note.as_deref(),
            Raw::Documents(documents) => documents.note.as_deref(),
            Raw::Pictures(files) if files.iter().any(|file| file.colour) => Some(
                "colour pictures are taken as grey, the mean of red, green and blue (denoise keeps colours)",
            ),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Raw::Matrix { samples, .. } => *samples == 0,
            Raw::Table(table) => table.samples.is_empty(),
            Raw::Documents(documents) => documents.texts.is_empty(),
            Raw::Pictures(files) => files.is_empty(),
        }
    }

    /// Numbers in a sample, where the file says.
    pub fn features(&self) -> Option<usize> {
        match self {
            Raw::Matrix { features, .. } => Some(*features),
            Raw::Table(table) => Some(table.samples.rows()),
            _ => None,
        }
    }

    /// The rows of the samples that come of them.
    pub fn rows(&self, how: &How) -> usize {
        match how {
            How::Text { vectoriser } => vectoriser.rows(),
            How::Patches(cut) => cut.side * cut.side,
            How::Numbers(_) | How::Counts { .. } => self.features().unwrap_or(0),
        }
    }

    /// The names of the features, where the file has them.
    pub fn feature_names(&self) -> Option<&[String]> {
        match self {
            Raw::Table(table) => table.feature_names.as_deref(),
            _ => None,
        }
    }

    /// What each sample is called, in order; its number where it has no name.
    pub fn names<'a>(&'a self, how: &'a How) -> Box<dyn Iterator<Item = String> + 'a> {
        let numbers = |n: usize| (0..n).map(|j| j.to_string());
        match (self, how) {
            (Raw::Matrix { samples, .. }, _) => Box::new(numbers(*samples)),
            (Raw::Table(table), _) => match &table.sample_names {
                Some(names) => Box::new(names.iter().cloned()),
                None => Box::new(numbers(table.samples.len())),
            },
            (Raw::Documents(documents), _) => Box::new(documents.names.iter().cloned()),
            (Raw::Pictures(files), How::Patches(cut)) => {
                Box::new(files.iter().flat_map(move |file| patch_names(file, cut)))
            }
            (Raw::Pictures(_), _) => Box::new(std::iter::empty()),
        }
    }
}

fn patch_names(file: &PictureFile, cut: &Cut) -> Vec<String> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let corners = cut.corners(file.size, &name).unwrap_or_default();
    let named = |(i, j)| format!("{name} row {i} column {j}");
    corners.into_iter().map(named).collect()
}
