//! The sheet as a PNG file.

use super::{Canvas, Frame, Item, Mark, Raster};
use tiny_skia::{
    Color, FillRule, FilterQuality, LineCap, LineJoin, Paint, Path, Pixmap, PixmapPaint, Stroke,
    StrokeDash, Transform,
};

impl Canvas {
    /// The sheet as a PNG file.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        self.png_scaled(1.0)
    }

    /// The sheet as a PNG file with `scale` times as many pixels in each direction.
    pub fn png_scaled(&self, scale: f32) -> Result<Vec<u8>, String> {
        let side = |length: u32| (length as f32 * scale).round() as u32;
        let (width, height) = (side(self.width), side(self.height));
        let mut pixmap = Pixmap::new(width, height)
            .ok_or_else(|| format!("cannot draw a picture of {width} x {height} pixels"))?;
        pixmap.fill(Color::WHITE);
        let at = Transform::from_scale(scale, scale);
        for item in &self.items {
            match item {
                Item::Shape(path, mark) => draw_shape(&mut pixmap, path, mark, at),
                Item::Disc(disc) => {
                    if let Some(path) = disc.outline() {
                        draw_shape(&mut pixmap, &path, &Mark::Fill(disc.ink), at);
                    }
                }
                Item::Words(words) => {
                    if let Some(path) = words.outline() {
                        draw_shape(&mut pixmap, &path, &Mark::Fill(words.style.ink), at);
                    }
                }
                Item::Image(frame, raster) => draw_image(&mut pixmap, *frame, raster, at),
            }
        }
        pixmap.encode_png().map_err(|e| e.to_string())
    }
}

fn draw_shape(pixmap: &mut Pixmap, path: &Path, mark: &Mark, at: Transform) {
    let mut paint = Paint::default();
    match mark {
        Mark::Fill(ink) | Mark::Tile(ink) => {
            paint.set_color(ink.color());
            paint.anti_alias = matches!(mark, Mark::Fill(_));
            pixmap.fill_path(path, &paint, FillRule::Winding, at, None);
        }
        Mark::Stroke(pen) => {
            paint.set_color(pen.ink.color());
            paint.anti_alias = true;
            let stroke = Stroke {
                width: pen.width,
                line_cap: LineCap::Round,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(vec![pen.dash, pen.dash], 0.0),
                ..Stroke::default()
            };
            pixmap.stroke_path(path, &paint, &stroke, at, None);
        }
    }
}

fn draw_image(pixmap: &mut Pixmap, at: Frame, raster: &Raster, sheet: Transform) {
    let Some(image) = raster.pixmap() else {
        return; // An image without pixels shows nothing.
    };
    let paint = PixmapPaint {
        quality: match raster.crisp_at(at.w, at.h) {
            true => FilterQuality::Nearest,
            false => FilterQuality::Bilinear,
        },
        ..PixmapPaint::default()
    };
    let sx = at.w / image.width() as f32;
    let sy = at.h / image.height() as f32;
    let place = Transform::from_row(sx, 0.0, 0.0, sy, at.x, at.y).post_concat(sheet);
    pixmap.draw_pixmap(0, 0, image.as_ref(), &paint, place, None);
}
