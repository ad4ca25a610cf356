//! Images inside a drawing.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::DynamicImage;

/// A grey image of 8 bits, row after row; missing pixels are black.
pub fn grey(width: usize, height: usize, mut pixels: Vec<u8>) -> DynamicImage {
    pixels.resize(width * height, 0);
    let image = image::GrayImage::from_raw(width as u32, height as u32, pixels);
    image.unwrap_or_default().into()
}

/// A colour image, row after row, of three bytes a pixel; missing pixels are black.
pub fn colour(width: usize, height: usize, mut pixels: Vec<u8>) -> DynamicImage {
    pixels.resize(3 * width * height, 0);
    let image = image::RgbImage::from_raw(width as u32, height as u32, pixels);
    image.unwrap_or_default().into()
}

/// The image, made smaller if a side has more than `side` pixels.
pub fn at_most(image: DynamicImage, side: u32) -> DynamicImage {
    match image.width().max(image.height()) > side {
        true => image.thumbnail(side, side),
        false => image,
    }
}

/// The image as a PNG file, if it has pixels.
pub(super) fn encode(image: &DynamicImage) -> Option<Vec<u8>> {
    let mut png = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut png, CompressionType::Best, FilterType::Adaptive);
    let has_pixels = image.width() > 0 && image.height() > 0;
    (has_pixels && image.write_with_encoder(encoder).is_ok()).then_some(png)
}
