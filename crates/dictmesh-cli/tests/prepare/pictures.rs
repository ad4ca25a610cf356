//! Patches of pictures.

use crate::common::{json, refused, run};
use crate::{scores, top};
use std::fs;

/// A grey picture with stripes of a period; in the square at (40, 40), noise instead if `odd`.
pub fn picture(side: usize, odd: bool, sigma: f64) -> Vec<u8> {
    let mut state = 5_u64;
    let mut noise = move || {
        let mut sum = 0.0;
        for _ in 0..12 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (state >> 33) as f64 / (1_u64 << 31) as f64;
        }
        sum - 6.0
    };
    let mut bytes = format!("P5\n{side} {side}\n255\n").into_bytes();
    for i in 0..side * side {
        let (y, x) = (i / side, i % side);
        let stripes = if (x + y) % 16 < 8 { 150.0 } else { 60.0 };
        let strange = odd && (40..52).contains(&x) && (40..52).contains(&y);
        let v = if strange {
            105.0 + 60.0 * noise()
        } else {
            stripes
        } + sigma * noise();
        bytes.push(v.round().clamp(0.0, 255.0) as u8);
    }
    bytes
}

#[test]
fn patches_of_pictures_are_learned_scored_and_used_to_denoise() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::create_dir(dir.join("album")).unwrap();
    fs::write(dir.join("album/a.pgm"), picture(64, false, 0.0)).unwrap();
    fs::write(dir.join("album/b.pgm"), picture(48, false, 2.0)).unwrap();
    fs::write(dir.join("odd.pgm"), picture(64, true, 0.0)).unwrap();
    fs::write(dir.join("noisy.pgm"), picture(64, false, 20.0)).unwrap();
    let how = "--patch 8x8 --stride 2 --atoms 24 --passes 6 --batch 64 --seed 3";
    let learned = json(dir, &format!("learn album -o m {how} --json --report page"));
    assert_eq!(learned["samples"], 6 * (29 * 29 + 21 * 21));
    assert!(dir.join("page/atoms.png").is_file());
    let about = json(dir, "inspect m --json");
    assert_eq!(about["preparation"]["kind"], "patches");
    assert_eq!(about["preparation"]["cut"]["side"], 8);

    // The patches that cost most lie where the picture is strange.
    let scored = scores(dir, "score m odd.pgm");
    assert_eq!(scored.len(), 29 * 29);
    for j in top(&scored, 9) {
        let words: Vec<&str> = scored[j].0.split(' ').collect();
        let near = |at: &str| (33..52).contains(&at.parse::<usize>().unwrap());
        assert!(near(words[2]) && near(words[4]), "{words:?}");
    }
    // The model denoises without being told its patches, and what denoise learns is a model like it.
    let gain = |args: &str| {
        let told = json(
            dir,
            &format!("denoise noisy.pgm -o out.pgm --clean album/a.pgm --sigma 20 --json {args}"),
        );
        told["after"]["psnr"].as_f64().unwrap() - told["before"]["psnr"].as_f64().unwrap()
    };
    assert!(gain("--model m --stride 2") > 5.0);
    assert!(gain("--atoms 24 --patch 6 --stride 2 --save-model own") > 5.0);
    assert!(gain("--model own --stride 2") > 5.0);
    assert_eq!(scores(dir, "score own odd.pgm").len(), 30 * 30);
    refused(dir, "score m album/none.pgm", &["none.pgm", "no such file"]);
    fs::write(dir.join("tiny.pgm"), b"P5\n3 3\n255\n123456789").unwrap();
    refused(dir, "score m tiny.pgm", &["tiny.pgm", "3 x 3"]);
    let oblong = run(dir, "learn odd.pgm --patch 8x6 -o x");
    assert!(!oblong.status.success() && String::from_utf8_lossy(&oblong.stderr).contains("square"));
}
