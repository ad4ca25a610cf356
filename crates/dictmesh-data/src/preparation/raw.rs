//! Opened raw data: a matrix, a table, texts or pictures.

use super::flag_rules::{check_flags, Shape};
use super::kind::{pictures_in, Kind};
use super::{Cut, DataOptions, How, Preparation, Reading, Result};
use crate::delimited::TableFile;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::picture::image_head;
use crate::read;
use crate::source::Source;
use crate::text::DocumentFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A picture that will be cut.
#[derive(Clone, Debug)]
pub struct PictureFile {
    /// Where it is.
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
        /// The file.
        source: Arc<Source>,
        /// How it is read.
        options: ReadOptions,
        /// Its number of samples.
        samples: usize,
        /// Numbers in a sample.
        features: usize,
    },
    /// A table in a file, which may be larger than memory.
    Table(Box<TableFile>),
    /// Raw text in files, which may be larger than memory.
    Documents(DocumentFile),
    /// Pictures, read when they are cut.
    Pictures(Vec<PictureFile>),
}

impl Raw {
    /// Opens data of a kind, read by the flags, and by `reading` where they are silent; `features` are the
    /// names of what a model learned from.
    pub fn open(
        path: &Path,
        kind: Kind,
        args: &DataOptions,
        reading: &Reading,
        features: Option<&[String]>,
    ) -> Result<Raw> {
        let check = |shape| check_flags(path, shape, &args.read, args.text_column.as_deref());
        let raw = match kind {
            Kind::Text => {
                check(Shape::of_text(path, args.read.format))?;
                Raw::Documents(DocumentFile::open(path, &reading.documents(args))?)
            }
            Kind::Pictures => {
                check(Shape::Pictures)?;
                Raw::pictures(path)?
            }
            Kind::Numbers => {
                let source = Arc::new(Source::open(path)?);
                let mut options = reading.options(&args.read);
                options.features = features.map(<[String]>::to_vec);
                let format = Format::of(&source, options.format)?;
                check(Shape::of_numbers(format))?;
                if let Some(table) = read::open_table(&source, format, &options)? {
                    Raw::Table(Box::new(table))
                } else {
                    options.format = Some(format);
                    let (samples, features) = read::size(&source, &options)?;
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
                "{}: it has no samples; expected at least one. Check the file, <header> and <transpose>.",
                path.display()
            ).into()),
            false => Ok(raw),
        }
    }

    /// Opens new data for a model of `rows` rows, which may have names; what it cannot take is refused with
    /// what it expects.
    pub fn for_model(
        path: &Path,
        args: &DataOptions,
        model: &Preparation,
        rows: usize,
        names: Option<&[String]>,
    ) -> Result<Raw> {
        let advice =
            "Check <transpose>, <drop> and <label_column>, or whether this is the right model.";
        Raw::fitting(path, args, model, (rows, names), ["the model", advice])
    }

    /// Opens numbers for a dictionary from elsewhere, which is no model.
    pub fn for_dictionary(path: &Path, args: &DataOptions) -> Result<Raw> {
        let seen = Kind::of(path, args);
        if !Kind::Numbers.may_be(seen, path, args) && path.exists() {
            return Err(format!(
                "{}: {}; <dictionary> codes numbers as they are. Learn a model of these data and give it \
                 instead.",
                path.display(),
                seen.words()
            )
            .into());
        }
        Raw::open(path, Kind::Numbers, args, &Reading::default(), None)
    }

    /// As [`Raw::for_model`] for an agent: `advice` says how to change its settings.
    pub fn for_agent(
        path: &Path,
        model: &Preparation,
        rows: usize,
        names: Option<&[String]>,
        advice: &str,
    ) -> Result<Raw> {
        let who = format!("this agent, with rows = {rows},");
        let args = &DataOptions::default();
        Raw::fitting(path, args, model, (rows, names), [&who, advice])
    }

    /// Data that `who` can take, or what it expects, and the advice.
    fn fitting(
        path: &Path,
        args: &DataOptions,
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
            return Err(format!("{shown}: {found}; {who} expects {expects}").into());
        }
        let mut args = args.clone();
        args.read.width = rows;
        let raw = Raw::open(path, kind, &args, &model.reading, names)?;
        match raw.features() {
            Some(features) if features != rows => {
                let turned = match model.reading.transpose {
                    true => " (the model was learned with <transpose>)",
                    false => "",
                };
                Err(format!(
                    "{shown}: {features} features a sample; {who} expects {expects}{turned}. {advice}"
                ).into())
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
                "{}: expected a directory of nothing but pictures (.png, .jpg, .pgm, .ppm, .tif)",
                path.display()
            )
            .into());
        }
        let alone = !path.is_dir();
        let sized = files.into_iter().map(|path| {
            // A pipe would be waited for.
            if path.exists() && !path.is_file() && !alone {
                return Err(format!(
                    "{}: expected nothing but files in a directory of pictures; take it out",
                    path.display()
                )
                .into());
            }
            let (size, colour) = image_head(&path)?;
            Ok(PictureFile { path, size, colour })
        });
        Ok(Raw::Pictures(sized.collect::<Result<_>>()?))
    }

    /// A message about how the data were read, if there is one.
    pub fn note(&self) -> Option<&str> {
        match self {
            Raw::Table(table) => table.note(),
            Raw::Documents(documents) => documents.note(),
            Raw::Pictures(files) if files.iter().any(|file| file.colour) => Some(
                "colour pictures are taken as grey, the mean of red, green and blue (denoise keeps colours)",
            ),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Raw::Matrix { samples, .. } => *samples == 0,
            Raw::Table(table) => table.size().0 == 0,
            Raw::Documents(documents) => documents.is_empty(),
            Raw::Pictures(files) => files.is_empty(),
        }
    }

    /// Numbers in a sample, if the file determines it.
    pub fn features(&self) -> Option<usize> {
        match self {
            Raw::Matrix { features, .. } => Some(*features),
            Raw::Table(table) => Some(table.size().1),
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
            Raw::Table(table) => table.feature_names(),
            _ => None,
        }
    }

    /// What each sample is called, in order; its number where it has no name.
    pub fn names<'a>(&'a self, how: &'a How) -> Box<dyn Iterator<Item = String> + 'a> {
        let numbers = |n: usize| (0..n).map(|j| j.to_string());
        match (self, how) {
            (Raw::Matrix { samples, .. }, _) => Box::new(numbers(*samples)),
            (Raw::Table(table), _) => table.sample_names(),
            (Raw::Documents(documents), _) => match documents.documents() {
                Ok(all) => Box::new(all.enumerate().map(|(j, document)| match document {
                    Ok(document) => document.name,
                    // It was readable when it was opened; samples keep their numbers if it is not now.
                    Err(_) => j.to_string(),
                })),
                Err(_) => Box::new(numbers(documents.len())),
            },
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
