//! What must not happen by accident: files written over, a crash for want of room, a wait without end.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{files, ok, run, said, samples, shell, Scratch};
use std::fs;

#[test]
fn a_header_that_claims_too_much_is_refused_before_it_takes_memory() {
    let dir = Scratch::new("guard-huge");
    dir.write("huge.pgm", "P5\n4000000000 4000000000\n255\n");
    for args in ["learn huge.pgm -o m", "tune huge.pgm"] {
        dir.refused(args, "huge.pgm: a picture that is too large");
    }
    ok(&dir.0, "examples ex --quiet");
    ok(&dir.0, "learn ex/clean.png --atoms 4 -o m --quiet");
    dir.refused("score m huge.pgm", "too large");
    dir.refused("infer m huge.pgm -o c.npz", "too large");
}

#[test]
fn a_jpeg_that_is_cut_off_or_damaged_is_refused() {
    let dir = Scratch::new("guard-jpeg");
    ok(&dir.0, "examples ex --quiet");
    ok(
        &dir.0,
        "denoise ex/clean.png --sigma 0 -o whole.jpg --quiet",
    );
    let whole = fs::read(dir.0.join("whole.jpg")).unwrap();
    dir.write("cut.jpg", &whole[..whole.len() * 2 / 3]);
    // Another beginning, in the middle of the pixels.
    let mut damaged = whole.clone();
    let middle = whole.len() / 2;
    damaged[middle..middle + 2].copy_from_slice(&[0xff, 0xd8]);
    dir.write("damaged.jpg", damaged);
    for (name, words) in [("cut", "without its end"), ("damaged", "a damaged JPEG")] {
        dir.refused(&format!("learn {name}.jpg -o m"), words);
        dir.refused(&format!("denoise {name}.jpg -o d.png"), words);
    }
    // What follows the end does no harm.
    dir.write("longer.jpg", [&whole[..], b"appended"].concat());
    for name in ["whole", "longer"] {
        ok(&dir.0, &format!("learn {name}.jpg --atoms 4 -o m --quiet"));
    }
}

#[test]
fn limits_of_the_system_are_told_and_leave_nothing_behind() {
    let dir = Scratch::new("guard-limits");
    ok(&dir.0, "examples ex --quiet");
    let size = "ulimit -f 8; dictmesh learn ex/samples.npy -o m --quiet";
    // Stacks that cannot be had, with room for all else.
    let threads = "ulimit -v 2000000; RUST_MIN_STACK=4000000000 dictmesh learn ex/samples.npy -o m";
    ok(&dir.0, "learn ex/samples.npy --atoms 3 -o ex/m --quiet");
    let codes = "ulimit -f 20; dictmesh infer ex/m ex/samples.npy -o c.npz";
    for (line, words) in [
        (size, "m: the file would be larger"),
        (codes, "temporary file in"),
        (threads, "cannot be started"),
    ] {
        let out = shell(&dir.0, line);
        assert_eq!(out.status.code(), Some(1), "{line}: {}", said(&out));
        assert!(said(&out).contains(words), "{line}: {}", said(&out));
        assert_eq!(said(&out).lines().count(), 1, "{line}: {}", said(&out));
        assert_eq!(files(&dir.0), ["ex"], "{line}");
    }
}

#[test]
fn a_checkpoint_takes_no_foreign_place() {
    let dir = Scratch::new("guard-checkpoint");
    dir.write("x.csv", samples(40, 0));
    dir.write("m.checkpoint", samples(40, 0));
    let learn = "learn x.csv --header no --atoms 4";
    dir.refused(&format!("{learn} -o m"), "move it away");
    dir.refused(
        "learn m.checkpoint --format csv --header no -o m",
        "m.checkpoint",
    );
    assert_eq!(
        fs::read_to_string(dir.0.join("m.checkpoint")).unwrap(),
        samples(40, 0)
    );
    // One of ours is gone on from and goes in the end, as ever.
    ok(&dir.0, &format!("{learn} -o n --quiet"));
    fs::rename(dir.0.join("n"), dir.0.join("n.checkpoint")).unwrap();
    ok(
        &dir.0,
        "learn x.csv --resume n.checkpoint --passes 2 -o n --quiet",
    );
    assert_eq!(files(&dir.0), ["m.checkpoint", "n", "x.csv"]);
}

#[test]
fn what_is_read_is_never_written_over() {
    let dir = Scratch::new("guard-over");
    ok(&dir.0, "examples ex --quiet");
    dir.write("x.csv", samples(40, 0));
    ok(&dir.0, "learn x.csv --header no --atoms 3 -o m --quiet");
    for name in ["out", "texts"] {
        fs::create_dir(dir.0.join(name)).unwrap();
    }
    fs::copy(dir.0.join("ex/genes.csv"), dir.0.join("out/rows.csv")).unwrap();
    dir.write("labels", "a\n".repeat(800));
    dir.write("texts/a.txt", "red apples");
    let before = |name: &str| fs::read(dir.0.join(name)).unwrap();
    for (args, file) in [
        ("denoise ex/noisy.png --clean F -o F", "ex/clean.png"),
        ("learn x.csv --config F -o F", "ex/settings.toml"),
        ("bicluster F -o out", "out/rows.csv"),
        ("novelty ex/news.csv --labels F --save-model F", "labels"),
        ("learn texts -o F", "texts/a.txt"),
        ("learn texts -o texts/../F", "texts/a.txt"),
    ] {
        let content = before(file);
        dir.refused(&args.replace('F', file), "would be written over");
        assert_eq!(before(file), content, "{args}");
    }
    for args in [
        "infer m x.csv --header no -o n.npz --report n.npz",
        "infer m x.csv --header no -o n.npz --report ./n.npz",
        "novelty ex/news.csv -o s --save-model ./s",
    ] {
        dir.refused(args, "two results would go there");
    }
    // Beside what is read there is room.
    ok(&dir.0, "learn texts --atoms 1 -o texts/.model --quiet");
}

#[test]
fn examples_do_not_replace_what_is_not_theirs() {
    let dir = Scratch::new("guard-examples");
    ok(&dir.0, "examples ex --quiet");
    ok(&dir.0, "examples ex --quiet");
    dir.write("ex/settings.toml", "mine");
    dir.refused("examples ex", "settings.toml: it is there and is something");
    assert_eq!(fs::read(dir.0.join("ex/settings.toml")).unwrap(), b"mine");
}

#[cfg(unix)]
#[test]
fn pipes_in_directories_are_refused_and_circles_end() {
    use std::os::unix::fs::symlink;
    let dir = Scratch::new("guard-circle");
    fs::create_dir_all(dir.0.join("texts/b")).unwrap();
    dir.write("texts/b/one.txt", "red apples grow here");
    dir.write("texts/b/two.txt", "blue whales swim there");
    for (to, link) in [("..", "b/up"), (".", "self"), ("b", "a")] {
        symlink(to, dir.0.join("texts").join(link)).unwrap();
    }
    let learned = dir.json("learn texts --atoms 2 -o m --json");
    assert_eq!(learned["samples_per_pass"], 2);
    shell(&dir.0, "mkfifo texts/pipe");
    dir.refused("learn texts -o n", "texts/pipe: a pipe");
    shell(&dir.0, "mkdir pictures; mkfifo pictures/a.png");
    dir.refused("learn pictures -o n", "pictures/a.png: expected");
    dir.write("x.csv", samples(40, 0));
    dir.refused("learn x.csv --config /dev/zero -o n", "a device");
    dir.write("binary", [0xff, 0xfe, 0x00]);
    dir.refused("learn x.csv --config binary -o n", "no settings file");
}

#[test]
fn flags_that_say_too_much_or_contradict_each_other_are_refused() {
    let dir = Scratch::new("guard-flags");
    dir.write("x.csv", samples(40, 0));
    for (args, words) in [
        ("learn x.csv -o m --topology ring:3", "leave \":3\" out"),
        ("learn x.csv -o m --topology complete:xyz", "complete takes"),
        ("tune x.csv --gamma .1 --gammas .2", "cannot be used with"),
        ("tune x.csv --atoms 3 --atoms-grid 4,5", "cannot be used"),
    ] {
        let out = run(&dir.0, args);
        assert_eq!(out.status.code(), Some(2), "{args}");
        assert!(said(&out).contains(words), "{args}: {}", said(&out));
    }
    dir.refused("learn x.csv -o -", "name a file");
    dir.refused("bicluster x.csv -o -", "name a directory");
    dir.refused("learn x.csv -o /proc/x", "no file can be made");
    assert_eq!(files(&dir.0), ["x.csv"]);
}

#[test]
fn streams_without_words_and_tables_with_open_quotes_are_refused() {
    let dir = Scratch::new("guard-empty");
    dir.write("stop.txt", "the of and\nto in the\n".repeat(20));
    dir.write("zero.csv", "a,b\n".to_string() + &"0,0\n".repeat(40));
    dir.refused("novelty stop.txt", "no words but stop words");
    dir.refused("novelty zero.csv --counts", "nothing but zeros");
    let texts = "text\n\"red, green\"\n\"say \"\"blue\"\"\"\nplain \"inner\" words\n";
    dir.write("closed.csv", texts);
    ok(&dir.0, "learn closed.csv --text-column text --atoms 2 -o m");
    dir.write("open.csv", format!("{texts}\"yellow\nblack\nwhite\n"));
    let open = "line 5 or after it: a field with a quotation mark that nothing closes";
    dir.refused("learn open.csv --text-column text -o n", open);
    dir.write("numbers.csv", "a,b\n1,2\n3,\"4\n");
    dir.refused("learn numbers.csv -o n", "nothing closes");
}

/// The largest numbers were printed with all their 300 digits, and nothing as -0.
#[test]
fn numbers_are_as_long_as_they_are_of_use() {
    let dir = Scratch::new("guard-digits");
    ok(&dir.0, "examples ex --quiet");
    dir.write("x.csv", samples(40, 0));
    ok(&dir.0, "learn x.csv --header no --atoms 3 -o m --quiet");
    for args in [
        "learn x.csv --gamma -1e300 -o n",
        "learn x.csv --checkpoint-every 1e300 -o n",
        "denoise ex/noisy.png --sigma -1e300 -o n.png",
    ] {
        let said = said(&run(&dir.0, args));
        assert!(said.contains("1e300: ") && said.len() < 120, "{said}");
    }
    dir.write("large.csv", "1e100,0,0,0,0,1e100\n0,0,0,0,0,0\n");
    for args in [
        "score m large.csv --header no --threshold 1",
        "infer m large.csv --header no -o c.npz",
    ] {
        let out = run(&dir.0, args);
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success(), "{args}: {}", said(&out));
        assert!(text.lines().all(|line| line.len() < 80), "{text}");
        assert!(text.contains("e2") || text.contains("e1"), "{text}");
        assert!(!text.contains("-0"), "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_picture_is_said_in_one_line_of_plain_words() {
    let dir = Scratch::new("guard-words");
    ok(&dir.0, "examples ex --quiet");
    ok(&dir.0, "denoise ex/clean.png --sigma 0 -o a.jpg --quiet");
    let cut = |from: &str, to: &str, length: usize| {
        dir.write(to, &fs::read(dir.0.join(from)).unwrap()[..length]);
    };
    cut("a.jpg", "head.jpg", 100);
    cut("ex/noisy.png", "cut.png", 300);
    let mut png = fs::read(dir.0.join("ex/noisy.png")).unwrap();
    // In the name of the chunk with the pixels, behind the header and the mark of the program.
    png[40 + 29] ^= 9;
    dir.write("flipped.png", png);
    for name in ["head.jpg", "cut.png", "flipped.png"] {
        let out = run(&dir.0, &format!("learn {name} -o m"));
        let said = said(&out);
        assert!(said.contains("damaged or cut off"), "{said}");
        assert_eq!((out.status.code(), said.lines().count()), (Some(1), 1));
    }
}

/// `learn -o notes.txt` once replaced the notes.
#[test]
fn a_model_replaces_a_model_and_other_files_by_force_only() {
    let dir = Scratch::new("guard-model");
    dir.write("x.csv", samples(40, 0));
    let learn = "learn x.csv --header no --atoms 3 --quiet";
    ok(&dir.0, &format!("{learn} -o m"));
    ok(&dir.0, &format!("{learn} -o m"));
    dir.write("notes.txt", "mine");
    dir.refused(&format!("{learn} -o notes.txt"), "no model of dictmesh");
    dir.refused("join m -o notes.txt", "or give --force");
    assert_eq!(fs::read(dir.0.join("notes.txt")).unwrap(), b"mine");
    ok(&dir.0, &format!("{learn} -o notes.txt --force"));
    dir.json("inspect notes.txt --json");
}

#[test]
fn a_constant_of_another_residual_is_refused() {
    let dir = Scratch::new("guard-constants");
    dir.write("x.csv", samples(40, 0));
    for (flags, words) in [
        (
            "--residual huber --radius .3",
            "--radius belongs to --residual ball",
        ),
        (
            "--residual huber --radius .3 --eta .2",
            "--radius belongs to --residual ball",
        ),
        (
            "--residual ball --radius .3 --eta .2",
            "--eta belongs to --residual huber",
        ),
    ] {
        dir.refused(&format!("learn x.csv --header no -o m {flags}"), words);
    }
}

#[test]
fn learning_tells_rounds_bytes_and_means_over_as_many_samples() {
    let dir = Scratch::new("guard-result");
    dir.write("x.csv", samples(57, 0));
    let mesh = "--agents 3 --atoms 6 --topology ring --strategy relaxed-admm";
    let line = format!("learn x.csv --header no {mesh} --batch 20 -o m --json");
    let learned = dir.json(&line);
    // Of 57 samples in batches of 20, 20 and 17, both means are over 28.
    assert_eq!(learned["cost_samples"], 28);
    for key in ["rounds", "bytes", "nonzeros", "cost_first", "cost_last"] {
        assert!(learned[key].as_f64().unwrap() > 0.0, "{key}: {learned}");
    }
    let said = ok(&dir.0, &line.replace("--json", "--force"));
    for words in ["rounds; on a network, ", "over the first 28, "] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
