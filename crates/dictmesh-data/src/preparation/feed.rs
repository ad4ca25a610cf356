//! Prepared samples, a part at a time.

use super::raw::PictureFile;
use super::{Cut, How, Raw, Result};
use crate::chunks::Chunks;
use crate::error::Error;
use crate::patches::cut_at;
use crate::picture::read_image;
use crate::read;
use dictmesh::random::stream;
use dictmesh::{Matrix, Samples};
use rand::seq::SliceRandom;

/// The streams of a seed by which patches are shuffled ("cut" in ASCII, above any other).
const SHUFFLE_STREAM: u64 = 0x63_75_74 << 40;

/// Prepared samples of opened data, in parts of whole batches.
pub struct Feed<'a> {
    /// The opened data.
    pub raw: &'a Raw,
    /// Their preparation.
    pub how: &'a How,
    /// M, the length of a sample.
    pub rows: usize,
    /// Samples in a batch.
    pub batch: usize,
    /// The seed that shuffles patches: overlapping patches in sequence would bias the atoms.
    pub shuffle: Option<u64>,
}

/// The parts of a pass.
pub type Parts<'a> = Box<dyn Iterator<Item = Result<Samples>> + Send + 'a>;

impl<'a> Feed<'a> {
    /// The number of samples of a pass.
    pub fn samples(&self) -> Result<usize> {
        Ok(match (self.raw, self.how) {
            (Raw::Matrix { samples, .. }, _) => *samples,
            (Raw::Table(table), _) => table.size().0,
            (Raw::Documents(documents), _) => documents.len(),
            (Raw::Pictures(files), How::Patches(cut)) => {
                let each = files.iter().map(|file| Ok(corners(file, cut)?.len()));
                each.sum::<Result<usize>>()?
            }
            (Raw::Pictures(_), _) => return Err(mixed()),
        })
    }

    /// Samples in a part, but for the last.
    pub fn part(&self) -> usize {
        (Samples::PART / self.rows.max(1) / self.batch.max(1)).max(1) * self.batch.max(1)
    }

    /// Numbers in memory at once, of the 8 bytes each: a part, and data that are not read in parts.
    pub fn resident(&self) -> Result<usize> {
        let samples = self.samples()?;
        let part = self.rows.saturating_mul(self.part().min(samples));
        Ok(part.saturating_add(match self.raw {
            Raw::Table(table) if table.is_cached() => part,
            Raw::Documents(documents) => {
                let bytes = documents.bytes() / 8 * self.part() as u64 / samples.max(1) as u64;
                usize::try_from(bytes).unwrap_or(usize::MAX)
            }
            _ => 0,
        }))
    }

    /// The prepared samples of pass number `pass`, always in the same parts.
    pub fn parts(&self, pass: u64) -> Result<Parts<'a>> {
        let count = self.part();
        let how = self.how;
        match (self.raw, how) {
            (Raw::Documents(documents), How::Text { vectoriser }) => {
                let mut documents = documents.documents()?;
                Ok(Box::new(std::iter::from_fn(move || {
                    let part = documents.by_ref().take(count);
                    match part.map(|d| Ok(d?.text)).collect::<Result<Vec<String>>>() {
                        Ok(texts) if texts.is_empty() => None,
                        Ok(texts) => Some(vectoriser.transform(&texts).map_err(Error::from)),
                        Err(e) => Some(Err(e)),
                    }
                })))
            }
            (Raw::Pictures(files), How::Patches(cut)) => {
                let shuffle = self.shuffle;
                let groups = groups(files).into_iter().enumerate();
                Ok(Box::new(groups.flat_map(move |(at, files)| {
                    let number = SHUFFLE_STREAM + (pass << 20) + at as u64;
                    patches(files, cut, count, shuffle.map(|seed| (seed, number)))
                })))
            }
            (Raw::Matrix { .. } | Raw::Table(_), How::Numbers(numbers)) => {
                Ok(Box::new(self.chunks()?.map(move |x| numbers.apply(x?))))
            }
            (Raw::Matrix { .. } | Raw::Table(_), How::Counts { tfidf }) => Ok(Box::new(
                self.chunks()?.map(move |x| Ok(tfidf.transform(&x?)?)),
            )),
            _ => Err(mixed()),
        }
    }

    /// The numbers of a file as they are.
    pub fn chunks(&self) -> Result<Chunks> {
        match self.raw {
            Raw::Matrix {
                source, options, ..
            } => Ok(read::chunks(source, options, self.part())?),
            Raw::Table(table) => Ok(table.chunks(self.part())?),
            _ => Err(mixed()),
        }
    }
}

fn mixed() -> Error {
    "the data and the model's preparation are of different kinds".into()
}

fn corners(file: &PictureFile, cut: &Cut) -> Result<Vec<(usize, usize)>> {
    cut.corners(file.size, &file.path.display().to_string())
}

/// Groups of pictures; memory holds one group at a time.
fn groups(files: &[PictureFile]) -> Vec<&[PictureFile]> {
    let (mut groups, mut from, mut pixels) = (Vec::new(), 0, 0);
    for (i, file) in files.iter().enumerate() {
        let more = file.size.0.saturating_mul(file.size.1);
        if i > from && more.saturating_add(pixels) > Samples::PART {
            groups.push(&files[from..i]);
            (from, pixels) = (i, 0);
        }
        pixels = more.saturating_add(pixels);
    }
    groups.push(&files[from..]);
    groups
}

/// The patches of a group of pictures, `count` at a time; shuffled by a stream of a seed, if one is given.
fn patches<'a>(
    files: &'a [PictureFile],
    cut: &'a Cut,
    count: usize,
    shuffle: Option<(u64, u64)>,
) -> Parts<'a> {
    match load(files, cut) {
        Err(e) => Box::new(std::iter::once(Err(e))),
        Ok((planes, mut places)) => {
            if let Some((seed, number)) = shuffle {
                places.shuffle(&mut stream(seed, number));
            }
            let starts = (0..places.len()).step_by(count);
            Box::new(starts.map(move |from| {
                let part = &places[from..(from + count).min(places.len())];
                let part = part.iter().map(|(p, corner)| (&planes[*p], *corner));
                Ok(cut_at(cut.side, part)?.0)
            }))
        }
    }
}

/// The picture and the corner of a patch.
type Place = (usize, (usize, usize));

fn load(files: &[PictureFile], cut: &Cut) -> Result<(Vec<Matrix>, Vec<Place>)> {
    let (mut planes, mut places) = (Vec::new(), Vec::new());
    for (p, file) in files.iter().enumerate() {
        let image = read_image(&file.path)?;
        if (image.height(), image.width()) != file.size {
            let path = file.path.display();
            return Err(format!("{path}: it changed while it was read").into());
        }
        places.extend(corners(file, cut)?.into_iter().map(|at| (p, at)));
        planes.push(cut.grey(&image));
    }
    Ok((planes, places))
}
