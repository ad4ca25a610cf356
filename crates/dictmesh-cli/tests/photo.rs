//! Photos in colour, with transparency: what becomes of them, and what a model learned from one knows.
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{ok, run, said, Scratch};

/// Atoms of `denoise` had looked as if they had never been used.
#[test]
fn a_model_of_a_denoised_picture_knows_what_it_learned_and_colour_is_told_of() {
    let dir = Scratch::new("pages-pictures");
    let at = dir.0.as_path();
    let (side, pixel) = (40, |i: usize, j: usize| {
        ((i / 5 + j / 4) * 37 + i * j % 29) % 256
    });
    let noise = |i: usize, j: usize| (i * 7919 + j * 104_729 + i * j * 31) % 61;
    let mut rgba = Vec::new();
    for (i, j) in (0..side * side).map(|p| (p / side, p % side)) {
        let value = |c: usize| ((pixel(i, j + 3 * c) + noise(i + c, j)) % 256) as u8;
        rgba.extend([value(0), value(1), value(2), 255 - (i * 3) as u8]);
    }
    let picture = image::RgbaImage::from_raw(side as u32, side as u32, rgba).unwrap();
    picture.save(at.join("photo.png")).unwrap();
    ok(
        at,
        "denoise photo.png -o d.png --atoms 16 --sigma 20 --save-model p --quiet",
    );
    let about = dir.json("inspect p --json");
    assert!(about["samples_learned"].as_u64().unwrap() > 1000, "{about}");
    assert!(about["blocks"][0]["unused"].as_u64().unwrap() < 16);
    let after = image::open(at.join("d.png")).unwrap().into_rgba8();
    let clear = |i: u32| after.get_pixel(7, i).0[3];
    assert!((0..side as u32).all(|i| clear(i) == 255 - (i * 3) as u8));

    let learn = "learn photo.png -o m --atoms 8 --stride 4";
    let grey = "colour pictures are taken as grey";
    assert!(said(&run(at, learn)).contains(grey));
    image::open(at.join("photo.png"))
        .unwrap()
        .into_luma8()
        .save(at.join("grey.png"))
        .unwrap();
    let learn = learn.replace("photo", "grey");
    assert!(!said(&run(at, &learn)).contains(grey));
}
