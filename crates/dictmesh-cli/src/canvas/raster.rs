//! Pixels, as part of a sheet.

use base64::{engine::general_purpose::STANDARD, Engine};
use tiny_skia::{ColorU8, Pixmap};

/// A picture of pixels, grey or colour, 8 bits each.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    width: usize,
    height: usize,
    /// Bytes of a pixel: 1 (grey) or 3 (red, green, blue).
    channels: usize,
    /// Row after row; missing pixels at the end are black.
    data: Vec<u8>,
}

impl Raster {
    /// A grey picture, row after row.
    pub fn grey(width: usize, height: usize, data: Vec<u8>) -> Self {
        Self::new(width, height, 1, data)
    }

    /// A colour picture, row after row, three bytes a pixel.
    pub fn colour(width: usize, height: usize, data: Vec<u8>) -> Self {
        Self::new(width, height, 3, data)
    }

    fn new(width: usize, height: usize, channels: usize, mut data: Vec<u8>) -> Self {
        data.resize(width * height * channels, 0);
        Raster {
            width,
            height,
            channels,
            data,
        }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// The same picture, each side at most `side` pixels: blocks of pixels become their mean.
    pub fn at_most(self, side: usize) -> Self {
        let factor = self.width.max(self.height).div_ceil(side.max(1));
        if factor <= 1 {
            return self;
        }
        let (w, h) = (self.width.div_ceil(factor), self.height.div_ceil(factor));
        let mut data = Vec::with_capacity(w * h * self.channels);
        for y in 0..h {
            for x in 0..w {
                let rows = y * factor..((y + 1) * factor).min(self.height);
                let columns = x * factor..((x + 1) * factor).min(self.width);
                for c in 0..self.channels {
                    let mut sum = 0u64;
                    for i in rows.clone() {
                        for j in columns.clone() {
                            let at = (i * self.width + j) * self.channels + c;
                            sum += u64::from(self.data[at]);
                        }
                    }
                    let count = (rows.len() * columns.len()).max(1) as u64;
                    data.push(((sum + count / 2) / count) as u8);
                }
            }
        }
        Self::new(w, h, self.channels, data)
    }

    /// Whether pixels are so large on a place of this size that their edges should be seen.
    pub(super) fn crisp_at(&self, w: f32, h: f32) -> bool {
        w >= 2.0 * self.width as f32 || h >= 2.0 * self.height as f32
    }

    pub(super) fn pixmap(&self) -> Option<Pixmap> {
        let (w, h) = (u32::try_from(self.width), u32::try_from(self.height));
        let mut pixmap = Pixmap::new(w.ok()?, h.ok()?)?;
        for (to, from) in pixmap
            .pixels_mut()
            .iter_mut()
            .zip(self.data.chunks_exact(self.channels))
        {
            let [r, g, b] = match *from {
                [r, g, b] => [r, g, b],
                _ => [from[0]; 3],
            };
            *to = ColorU8::from_rgba(r, g, b, 255).premultiply();
        }
        Some(pixmap)
    }

    /// The picture as a PNG inside an address, so that it needs no file of its own.
    pub(super) fn data_uri(&self) -> String {
        match self.png() {
            Some(png) => format!("data:image/png;base64,{}", STANDARD.encode(png)),
            None => "data:,".into(), // No pixels.
        }
    }

    fn png(&self) -> Option<Vec<u8>> {
        let (w, h) = (u32::try_from(self.width), u32::try_from(self.height));
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, w.ok()?, h.ok()?);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_color(match self.channels {
            1 => png::ColorType::Grayscale,
            _ => png::ColorType::Rgb,
        });
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&self.data).ok()?;
        writer.finish().ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_come_back_from_the_png_and_shrinking_keeps_the_mean() {
        let data: Vec<u8> = (0..24).map(|v| v * 10).collect();
        let colour = Raster::colour(4, 2, data.clone());
        let back = Pixmap::decode_png(&colour.png().unwrap()).unwrap();
        assert_eq!(back, colour.pixmap().unwrap());
        assert_eq!(back.pixel(1, 0).unwrap().green(), data[4]);
        let small = Raster::grey(4, 2, vec![0, 10, 20, 30, 0, 10, 20, 30]).at_most(2);
        assert_eq!(small, Raster::grey(2, 1, vec![5, 25]));
        // Too few bytes are made up for, none at all is nothing.
        assert!(Raster::grey(3, 3, vec![1]).png().is_some());
        assert_eq!(Raster::grey(0, 3, vec![]).data_uri(), "data:,");
    }
}
