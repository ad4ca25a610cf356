//! Pictures as matrices, one per colour plane. The formats are the `image` crate's.

mod signature;

pub use signature::is_own_image;

use super::error::{DataError, Result};
use super::jpeg;
use super::source::{Bytes, Source};
use dictmesh::Matrix;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::pnm::{GraymapHeader, PixmapHeader, PnmEncoder, PnmHeader, SampleEncoding};
use image::{
    DynamicImage, GrayImage, ImageBuffer, ImageDecoder, ImageError, ImageFormat, ImageReader,
    Limits,
};
use image::{Luma, LumaA, Rgb, RgbImage, Rgba, RgbaImage};
use signature::signed;
use std::io::{BufReader, Cursor, ErrorKind};
use std::path::Path;

/// A picture: entry (i, j) of a plane is the pixel in row i and column j, from 0 to 255 whatever the
/// depth of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// One plane (grey) or three (red, green, blue), all of one size.
    pub planes: Vec<Matrix>,
    /// How opaque each pixel is, from 0 to 255, unless all of them are.
    pub alpha: Option<Matrix>,
    /// Bits per value in the file: 8 or 16.
    pub bits: u8,
}

impl Image {
    /// Number of rows of pixels.
    pub fn height(&self) -> usize {
        self.planes.first().map_or(0, Matrix::rows)
    }

    /// Number of columns of pixels.
    pub fn width(&self) -> usize {
        self.planes.first().map_or(0, Matrix::cols)
    }

    /// The picture as a file without loss gives it back: rounded to its bits, from 0 to 255.
    pub fn rounded(mut self) -> Image {
        let steps = if self.bits == 8 { 1.0 } else { 257.0 };
        let planes = self.planes.iter_mut().chain(&mut self.alpha);
        for v in planes.flat_map(Matrix::as_mut_slice) {
            *v = ((*v * steps).round() / steps).clamp(0.0, 255.0);
        }
        self
    }

    /// Whether there is no colour.
    pub fn is_grey(&self) -> bool {
        self.planes.len() == 1
    }
}

/// Reads a .png, .jpg, .pgm, .ppm or .tif; the first bytes determine the format.
pub fn read_image(path: &Path) -> Result<Image> {
    let source = Source::open(path)?;
    let refused = |found: String| refused(&source, found);
    let reader = opened(&source)?;
    if reader.format() == Some(ImageFormat::Jpeg) {
        jpeg::check(&source)?.map_err(&refused)?;
    }
    // The reader's own limits keep a header that claims too much from taking memory.
    let picture = reader.decode().map_err(|e| refused(words(&e)))?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    if width == 0 || height == 0 {
        return Err(refused(format!("a picture of {width} x {height} pixels")));
    }
    let colour = picture.color();
    let planes = if colour.has_color() { 3 } else { 1 };
    let bytes = colour.bytes_per_pixel() / colour.channel_count();
    if bytes > 2 {
        return Err(refused("a picture of more than 16 bits a value".into()));
    }
    let values: Vec<f64> = match (bytes, planes, colour.has_alpha()) {
        (1, 1, false) => to_f64(picture.into_luma8().into_raw(), 1.0),
        (1, 1, true) => to_f64(picture.into_luma_alpha8().into_raw(), 1.0),
        (1, _, false) => to_f64(picture.into_rgb8().into_raw(), 1.0),
        (1, _, true) => to_f64(picture.into_rgba8().into_raw(), 1.0),
        (_, 1, false) => to_f64(picture.into_luma16().into_raw(), 257.0),
        (_, 1, true) => to_f64(picture.into_luma_alpha16().into_raw(), 257.0),
        (_, _, false) => to_f64(picture.into_rgb16().into_raw(), 257.0),
        (_, _, true) => to_f64(picture.into_rgba16().into_raw(), 257.0),
    };
    let channels = planes + usize::from(colour.has_alpha());
    let plane = |p| Matrix::from_fn(height, width, |i, j| values[(i * width + j) * channels + p]);
    let alpha = colour.has_alpha().then(|| plane(planes));
    let clear = |alpha: &Matrix| alpha.as_slice().iter().any(|v| *v < 255.0);
    Ok(Image {
        planes: (0..planes).map(plane).collect(),
        alpha: alpha.filter(clear),
        bits: if bytes == 1 { 8 } else { 16 },
    })
}

/// Rows and columns of pixels, and whether they have colour, from the head of the file alone. One that claims
/// more than would be read is refused here already: what follows takes memory by this size.
pub fn image_head(path: &Path) -> Result<((usize, usize), bool)> {
    let source = Source::open(path)?;
    let decoder = opened(&source)?.into_decoder();
    let head = decoder.and_then(|decoder| {
        Limits::default().reserve(decoder.total_bytes())?;
        Ok((decoder.dimensions(), decoder.color_type().has_color()))
    });
    let ((width, height), colour) = head.map_err(|e| refused(&source, words(&e)))?;
    Ok(((height as usize, width as usize), colour))
}

/// A decoder's error in one line, without its internals.
fn words(e: &ImageError) -> String {
    match e {
        ImageError::Limits(_) => "a picture that is too large".into(),
        ImageError::Decoding(_) => "a picture that is damaged or cut off".into(),
        ImageError::IoError(e) if e.kind() == ErrorKind::UnexpectedEof => {
            "a picture that is damaged or cut off".into()
        }
        e => e
            .to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn opened(source: &Source) -> Result<ImageReader<BufReader<Bytes>>> {
    let head = source.head(4)?;
    let reader = ImageReader::new(source.reader()).with_guessed_format();
    let mut reader = reader.map_err(|e| source.io_error(&e))?;
    match reader.format() {
        Some(_) => Ok(reader),
        // The signature of a TIFF with offsets of 64 bits, which `image` reads and does not know.
        None if [*b"II+\0", *b"MM\0+"].iter().any(|s| head.starts_with(s)) => {
            reader.set_format(ImageFormat::Tiff);
            Ok(reader)
        }
        None => Err(refused(source, "no picture of a known kind".into())),
    }
}

fn refused(source: &Source, found: String) -> DataError {
    source.error(
        found,
        "a picture: .png, .jpg, .pgm, .ppm or .tif, complete, of 8 or 16 bits a value and of at most \
         512 MB unpacked",
        "Convert it to .png, or copy it again.",
    )
}

fn to_f64<T: Into<f64>>(raw: Vec<T>, scale: f64) -> Vec<f64> {
    raw.into_iter().map(|v| v.into() / scale).collect()
}

/// The bytes of a picture in the format of the extension of `path`. Values are rounded and clipped from 0 to
/// 255; 16 bits go to .png and .pgm only: a .jpg gets 8, a .ppm is refused. Only a .png keeps transparency.
pub fn encode_image(path: &Path, image: &Image) -> Result<Vec<u8>> {
    let wrong = |found: String, remedy: &str| wrong_name(path, found, remedy);
    let format = format_for(path, image)?;
    let bits = if format == ImageFormat::Jpeg {
        8
    } else {
        image.bits
    };
    let picture = assemble(image, bits, format == ImageFormat::Png);
    let picture = picture.ok_or_else(|| {
        let found = format!("{} planes of different sizes", image.planes.len());
        wrong(found, "This is a mistake in dictmesh: please report it.")
    })?;
    let mut bytes = Cursor::new(Vec::new());
    let encoded = match format {
        ImageFormat::Jpeg => {
            picture.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, 95))
        }
        // By default the encoder writes PAM, which few programs read under these names.
        ImageFormat::Pnm => {
            let header = pnm_header(&picture, image.is_grey(), bits);
            picture.write_with_encoder(PnmEncoder::new(&mut bytes).with_header(header))
        }
        format => picture.write_to(&mut bytes, format),
    };
    encoded.map_err(|e| wrong(e.to_string(), "Write a .png instead."))?;
    Ok(signed(bytes.into_inner(), format))
}

/// The head of a binary .pgm or .ppm.
fn pnm_header(picture: &DynamicImage, grey: bool, bits: u8) -> PnmHeader {
    let (width, height) = (picture.width(), picture.height());
    let (encoding, white) = (SampleEncoding::Binary, if bits == 8 { 255 } else { 65_535 });
    if grey {
        PnmHeader::from(GraymapHeader {
            encoding,
            height,
            width,
            maxwhite: white,
        })
    } else {
        PnmHeader::from(PixmapHeader {
            encoding,
            height,
            width,
            maxval: white,
        })
    }
}

/// `Ok` if the format of the name can hold such a picture, with a message about what is lost in it.
pub fn check_image_name(path: &Path, image: &Image) -> Result<Option<String>> {
    let opaque = format_for(path, image)? != ImageFormat::Png;
    Ok((opaque && image.alpha.is_some()).then(|| {
        format!(
            "{}: the picture's transparency gets lost in this format; name it .png to keep it",
            path.display()
        )
    }))
}

fn format_for(path: &Path, image: &Image) -> Result<ImageFormat> {
    let wrong = |found: String, remedy: &str| Err(wrong_name(path, found, remedy));
    let extension = path.extension().and_then(|e| e.to_str());
    let extension = extension.unwrap_or("").to_ascii_lowercase();
    match (extension.as_str(), image.is_grey()) {
        // The encoder has nothing but PAM for these.
        ("ppm" | "pnm", false) if image.bits == 16 => {
            wrong("a colour picture of 16 bits".into(), "Name it .png.")
        }
        ("png", _) => Ok(ImageFormat::Png),
        ("jpg" | "jpeg", _) => Ok(ImageFormat::Jpeg),
        ("tif" | "tiff", _) => Ok(ImageFormat::Tiff),
        ("pgm", true) | ("ppm", false) | ("pnm", _) => Ok(ImageFormat::Pnm),
        ("pgm", false) => wrong("a colour picture".into(), "Name it .ppm or .png."),
        ("ppm", true) => wrong("a grey picture".into(), "Name it .pgm or .png."),
        (other, _) => wrong(format!("\".{other}\""), "Choose one of these."),
    }
}

fn wrong_name(path: &Path, found: String, remedy: &str) -> DataError {
    let expected = "a name that ends in .png, .jpg, .tif, .pgm (grey) or .ppm (colour)";
    DataError::new(path.display().to_string(), found, expected, remedy)
}

fn assemble(image: &Image, bits: u8, transparent: bool) -> Option<DynamicImage> {
    let (height, width) = (image.height(), image.width());
    let same = |p: &&Matrix| p.rows() == height && p.cols() == width;
    let alpha = image.alpha.as_ref().filter(|_| transparent);
    let planes: Vec<&Matrix> = image.planes.iter().chain(alpha).collect();
    if !matches!(image.planes.len(), 1 | 3) || !planes.iter().all(same) {
        return None;
    }
    let pixels = (0..height).flat_map(|i| (0..width).map(move |j| (i, j)));
    let values = pixels.flat_map(|(i, j)| planes.iter().map(move |p| p.get(i, j)));
    // A cast of a float keeps to the range of the integer, and makes NaN 0.
    let (w, h) = (u32::try_from(width).ok()?, u32::try_from(height).ok()?);
    Some(if bits == 8 {
        let raw: Vec<u8> = values.map(|v| v.round() as u8).collect();
        match planes.len() {
            1 => GrayImage::from_raw(w, h, raw)?.into(),
            2 => ImageBuffer::<LumaA<u8>, _>::from_raw(w, h, raw)?.into(),
            3 => RgbImage::from_raw(w, h, raw)?.into(),
            _ => RgbaImage::from_raw(w, h, raw)?.into(),
        }
    } else {
        let raw: Vec<u16> = values.map(|v| (v * 257.0).round() as u16).collect();
        match planes.len() {
            1 => ImageBuffer::<Luma<u16>, _>::from_raw(w, h, raw)?.into(),
            2 => ImageBuffer::<LumaA<u16>, _>::from_raw(w, h, raw)?.into(),
            3 => ImageBuffer::<Rgb<u16>, _>::from_raw(w, h, raw)?.into(),
            _ => ImageBuffer::<Rgba<u16>, _>::from_raw(w, h, raw)?.into(),
        }
    })
}
