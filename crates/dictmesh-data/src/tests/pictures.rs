//! Pictures go out and come back.

use super::*;
use dictmesh::Matrix;

/// The picture in a file.
pub fn write_image(path: &std::path::Path, image: &Image) -> Result<()> {
    let bytes = encode_image(path, image)?;
    std::fs::write(path, bytes).unwrap();
    Ok(())
}

fn image(planes: usize, bits: u8) -> Image {
    let scale = if bits == 8 { 1.0 } else { 257.0 };
    let plane = |p: usize| {
        let step = if bits == 8 { 1 } else { 200 };
        Matrix::from_fn(6, 9, |i, j| {
            (step * (20 * i + 3 * j + 7 * p)) as f64 / scale
        })
    };
    Image {
        planes: (0..planes).map(plane).collect(),
        alpha: None,
        bits,
    }
}

#[test]
fn formats_without_loss_give_back_every_pixel() {
    let directory = tempfile::tempdir().unwrap();
    for (name, planes, bits) in [
        ("a.png", 1, 8),
        ("a.png", 3, 8),
        ("a.png", 1, 16),
        ("a.png", 3, 16),
        ("a.pgm", 1, 8),
        ("a.pgm", 1, 16),
        ("a.ppm", 3, 8),
    ] {
        let path = directory.path().join(name);
        write_image(&path, &image(planes, bits)).unwrap();
        assert_eq!(read_image(&path).unwrap(), image(planes, bits), "{name}");
        // Sixteen bits once came out as PAM, which other programs do not expect by this name.
        let file = std::fs::read(&path).unwrap();
        match name {
            "a.pgm" => assert!(file.starts_with(b"P5\n"), "{bits} bits"),
            "a.ppm" => assert!(file.starts_with(b"P6\n"), "{bits} bits"),
            _ => {}
        }
    }
    let path = directory.path().join("deep.ppm");
    let error = write_image(&path, &image(3, 16)).unwrap_err().to_string();
    assert!(
        error.contains("16 bits") && error.contains(".png"),
        "{error}"
    );
    assert!(!path.exists());
    let path = directory.path().join("plain.pgm");
    std::fs::write(&path, "P2\n# a comment\n3 2\n255\n0 1 2\n3 4 255\n").unwrap();
    let read = read_image(&path).unwrap();
    assert_eq!((read.height(), read.width()), (2, 3));
    assert_eq!(read.planes[0].get(1, 2), 255.0);
    assert_eq!(read.planes[0].get(0, 1), 1.0);
}

/// Transparency was once dropped without a word.
#[test]
fn a_png_keeps_what_is_clear() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.png");
    for (planes, bits) in [(1, 8), (3, 8), (1, 16), (3, 16)] {
        let mut given = image(planes, bits);
        given.alpha = Some(Matrix::from_fn(6, 9, |i, j| (5 * i + 20 * j) as f64));
        assert_eq!(check_image_name(&path, &given).unwrap(), None);
        write_image(&path, &given).unwrap();
        assert_eq!(
            read_image(&path).unwrap(),
            given,
            "{planes} planes of {bits}"
        );
        let lost = check_image_name(&directory.path().join("a.jpg"), &given).unwrap();
        assert!(lost.unwrap().contains(".png"));
    }
}

#[test]
fn a_jpeg_is_close() {
    let directory = tempfile::tempdir().unwrap();
    for planes in [1, 3] {
        let path = directory.path().join("a.jpg");
        let given = image(planes, 8);
        write_image(&path, &given).unwrap();
        let read = read_image(&path).unwrap();
        assert_eq!(read.is_grey(), planes == 1);
        let pairs = read.planes[0]
            .as_slice()
            .iter()
            .zip(given.planes[0].as_slice());
        assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 16.0);
    }
}

#[test]
fn values_are_rounded_and_kept_in_range() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.png");
    let plane = Matrix::from_columns(1, &[[-5.0], [300.0], [1.4], [f64::NAN]]).unwrap();
    let planes = vec![plane];
    write_image(
        &path,
        &Image {
            planes,
            alpha: None,
            bits: 8,
        },
    )
    .unwrap();
    assert_eq!(
        read_image(&path).unwrap().planes[0].as_slice(),
        [0.0, 255.0, 1.0, 0.0]
    );
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    for (name, planes, found) in [
        ("a.gif", 1, "\".gif\""),
        ("a.pgm", 3, "a colour picture"),
        ("a.ppm", 1, "a grey picture"),
    ] {
        let path = directory.path().join(name);
        let message = write_image(&path, &image(planes, 8))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(found) && message.contains("expected"),
            "{message}"
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_tiff_comes_back_and_one_cut_off_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (planes, bits) in [(1, 8), (1, 16), (3, 8), (3, 16)] {
        let path = directory.path().join("a.tiff");
        let given = image(planes, bits).rounded();
        write_image(&path, &given).unwrap();
        assert_eq!(read_image(&path).unwrap(), given);
        let bytes = std::fs::read(&path).unwrap();
        for length in [5, bytes.len() / 2] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let message = read_image(&path).unwrap_err().to_string();
            assert!(message.contains("a.tiff") && message.contains("copy it again"));
        }
    }
}
