//! The mark of pictures written by this program, so that it replaces no others.

use image::ImageFormat;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The software's name, where each format has a place for it.
const NAME: &[u8] = b"dictmesh";
/// Bytes at the start of a file that hold it.
const HEAD: u64 = 256;
/// Bytes of a PNG before its second chunk: the signature and the header.
const PNG_HEAD: usize = 33;

/// An encoded picture with the name in a comment. Formats without a short one (TIFF) stay as they are.
pub fn signed(mut bytes: Vec<u8>, format: ImageFormat) -> Vec<u8> {
    let (at, comment) = match format {
        ImageFormat::Png => (PNG_HEAD, png_chunk()),
        ImageFormat::Jpeg => {
            let length = (NAME.len() as u16 + 2).to_be_bytes();
            (2, [&[0xff, 0xfe], &length[..], NAME].concat())
        }
        ImageFormat::Pnm => (2, [b"\n# ", NAME].concat()),
        _ => return bytes,
    };
    if at <= bytes.len() {
        bytes.splice(at..at, comment);
    }
    bytes
}

/// The chunk `tEXt` with the key Software.
fn png_chunk() -> Vec<u8> {
    let body = [b"tEXtSoftware\0", NAME].concat();
    let mut crc = flate2::Crc::new();
    crc.update(&body);
    let length = (body.len() as u32 - 4).to_be_bytes();
    [&length[..], &body, &crc.sum().to_be_bytes()].concat()
}

/// Whether a file is a picture that [`encode_image`](crate::encode_image) made: a .png, .jpg, .pgm or
/// .ppm with its mark.
pub fn is_own_image(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && head.windows(NAME.len()).any(|bytes| bytes == NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{encode_image, read_image, Image};
    use dictmesh::Matrix;

    #[test]
    fn pictures_are_recognised_and_read_back() {
        let place = tempfile::tempdir().unwrap();
        let plane = Matrix::from_fn(9, 7, |i, j| (20 * i + j) as f64);
        for name in ["a.png", "a.jpg", "a.pgm", "a.ppm"] {
            let path = place.path().join(name);
            let planes = if name == "a.ppm" { 3 } else { 1 };
            let image = Image {
                planes: vec![plane.clone(); planes],
                alpha: None,
                bits: 8,
            };
            std::fs::write(&path, encode_image(&path, &image).unwrap()).unwrap();
            assert!(is_own_image(&path), "{name}");
            let back = read_image(&path).unwrap();
            assert_eq!(back.planes.len(), planes, "{name}");
            if name != "a.jpg" {
                assert_eq!(back.planes, image.planes, "{name}");
            }
        }
        let other = place.path().join("other.pgm");
        std::fs::write(&other, b"P5 1 1 255\n0").unwrap();
        assert!(!is_own_image(&other));
        assert!(!is_own_image(&place.path().join("none.png")));
    }
}
