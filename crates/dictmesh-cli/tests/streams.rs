//! Streams that do not end: what is written into a pipe is answered before more is written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::live::Live;
use common::{files, ok, said, shell, Scratch, PROGRAM};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const TOPICS: [&str; 2] = ["moon rocket orbit crater", "bread flour oven yeast"];

/// Documents of two topics, a line each.
fn texts(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, i| {
        writeln!(text, "{} number{}", TOPICS[i % 2], i % 5).unwrap();
        text
    })
}

/// A model of two topics.
fn news(name: &str) -> Scratch {
    let dir = Scratch::new(name);
    dir.write("past.txt", texts(60));
    ok(
        &dir.0,
        "learn past.txt --atoms 4 --agents 2 --passes 3 -o m --quiet",
    );
    dir
}

#[test]
fn each_line_is_scored_before_the_next_is_written() {
    let dir = news("stream-lines");
    let whole = "moon rocket\ncourt verdict judge appeal\n";
    dir.write("new.txt", whole);
    let expected = ok(&dir.0, "score m new.txt");
    let mut live = Live::start(&dir.0, "score m -");
    for (number, (line, expected)) in (whole.lines().zip(expected.lines().skip(1))).enumerate() {
        live.write(&format!("{line}\n"));
        if number == 0 {
            assert_eq!(live.line(), "sample,score,novel");
        }
        let found = live.line();
        let field = |line: &str, i: usize| line.split(',').nth(i).unwrap().to_string();
        assert_eq!(field(&found, 0), field(expected, 0));
        let score = |line: &str| field(line, 1).parse::<f64>().unwrap();
        assert!((score(&found) - score(expected)).abs() < 1e-9, "{found}");
        assert_eq!(field(&found, 2), field(expected, 2));
    }
    let (code, rest, said) = live.end();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
    assert!(said.contains("threshold"), "{said}");
}

#[test]
fn a_log_of_json_lines_is_scored_as_it_grows() {
    let dir = news("stream-json");
    let mut live = Live::start(&dir.0, "score m - --format jsonl --json --quiet");
    live.write("{\"text\": \"moon rocket orbit\", \"level\": 3}\n");
    let first: Value = serde_json::from_str(&live.line()).unwrap();
    assert_eq!(first["schema"], "dictmesh.score/1");
    assert_eq!(
        (&first["sample"], &first["novel"]),
        (&"line 1".into(), &false.into())
    );
    assert_eq!(first["threshold_from"], "model");
    live.write("{\"text\": \"court verdict\"}\n");
    let second: Value = serde_json::from_str(&live.line()).unwrap();
    assert_eq!(second["novel"], true);
    // A bad line ends the run, after what was right.
    live.write("{\"text\": \"moon\"}\n{\"body\": 1}\n");
    let (code, rest, said) = live.end();
    assert_eq!((code, rest.lines().count()), (Some(1), 1), "{rest}{said}");
    assert!(said.contains("line 4"), "{said}");
}

/// The line of the documents: what a program appends to a file is scored through tail -f.
#[cfg(unix)]
#[test]
fn a_file_that_is_appended_to_is_scored_through_tail() {
    let dir = news("stream-tail");
    dir.write("log.jsonl", "{\"text\": \"moon rocket orbit\"}\n");
    let line = "exec tail -n +1 -f log.jsonl";
    let mut tail = Command::new("sh")
        .args(["-c", line])
        .current_dir(&dir.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut score = Command::new(PROGRAM)
        .args(["score", "m", "-", "--format", "jsonl", "--quiet"])
        .current_dir(&dir.0)
        .stdin(tail.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(score.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "sample,score,novel");
    assert!(lines.next().unwrap().unwrap().ends_with(",0"));
    let mut log = std::fs::OpenOptions::new()
        .append(true)
        .open(dir.0.join("log.jsonl"))
        .unwrap();
    log.write_all(b"{\"text\": \"court verdict\"}\n").unwrap();
    assert!(lines.next().unwrap().unwrap().ends_with(",1"));
    tail.kill().unwrap();
    tail.wait().unwrap();
    assert!(score.wait().unwrap().success());
}

/// "007" had become 7.
#[test]
fn tables_stream_with_their_header_and_names_stay_as_they_are() {
    let dir = Scratch::new("stream-table");
    dir.write(
        "x.csv",
        "id,a,b,c\n".to_string() + &"001,1,2,3\n002,3,1,0\n".repeat(20),
    );
    ok(
        &dir.0,
        "learn x.csv --name-column id --atoms 2 -o m --quiet",
    );
    dir.write("new.csv", "id,a,b,c\n007,1,2,3\n");
    let whole = dir.json("score m new.csv --json --quiet");
    assert_eq!(whole["sample"], "007");
    let mut live = Live::start(&dir.0, "score m - --json --quiet");
    // Columns are found by their names.
    live.write("c,b,a,id\n3,2,1,007\n");
    let found: Value = serde_json::from_str(&live.line()).unwrap();
    assert_eq!(found["sample"], "007");
    let score = |v: &Value| v["score"].as_f64().unwrap();
    assert!((score(&found) - score(&whole)).abs() < 1e-12);
    live.write("4,x,1,008\n");
    let (code, rest, said) = live.end();
    assert_eq!((code, rest.as_str()), (Some(1), ""));
    let error: Value = serde_json::from_str(&said).unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("line 3") && message.contains("\"x\""),
        "{said}"
    );
}

#[test]
fn a_stream_needs_a_threshold_that_is_known_before_it() {
    let dir = Scratch::new("stream-threshold");
    dir.write("x.csv", common::samples(40, 0));
    ok(&dir.0, "learn x.csv --header no --atoms 3 -o m --quiet");
    let mut model = dictmesh::Model::load(dir.0.join("m")).unwrap();
    model.description.extra.remove("scores").unwrap();
    model.save(dir.0.join("m")).unwrap();
    let mut live = Live::start(&dir.0, "score m - --header no");
    live.write(&common::samples(1, 0));
    let (code, rest, said) = live.end();
    assert_eq!((code, rest.as_str()), (Some(1), ""));
    assert!(said.contains("give --threshold"), "{said}");
    let mut live = Live::start(&dir.0, "score m - --header no --threshold 1e9 --quiet");
    live.write(&common::samples(1, 0));
    assert_eq!(live.line(), "sample,score,novel");
    assert!(live.line().ends_with(",0"));
    assert_eq!(live.end().0, Some(0));
}

/// A reader that has seen enough ends the run, although the input goes on.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_an_endless_stream() {
    let dir = news("stream-closed");
    for args in [
        "score m -",
        "novelty - --block 20 --agents-start 2 --atoms-per-block 1 --json",
    ] {
        let out = shell(
            &dir.0,
            &format!("yes 'moon rocket' | dictmesh {args} --quiet | head -n 2"),
        );
        let lines = String::from_utf8_lossy(&out.stdout).lines().count();
        assert_eq!(lines, 2, "{args}: {}", said(&out));
        assert!(!said(&out).contains("panicked"), "{}", said(&out));
    }
}

#[test]
fn a_block_is_told_of_before_the_next_is_written() {
    let dir = Scratch::new("stream-blocks");
    let args = "novelty - --block 20 --agents-start 2 --atoms-per-block 1 --save-model m -o s.csv";
    let mut live = Live::start(&dir.0, args);
    live.write(&texts(20));
    assert!(live.line().starts_with("block 0: 20 documents learned"));
    live.write(&texts(19));
    live.write("court verdict judge appeal\n");
    assert!(live.line().starts_with("block 1: 20 documents"));
    // The most novel of it.
    assert!(
        live.line().ends_with("  line 40"),
        "the new topic comes first"
    );
    live.write(&texts(5));
    let (code, rest, said) = live.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(rest.contains("block 2: 5 documents"), "{rest}");
    let scores = std::fs::read_to_string(dir.0.join("s.csv")).unwrap();
    assert_eq!(scores.lines().count(), 26);
    assert!(
        scores.starts_with("block,document,name,score,novel\n1,20,line 21,"),
        "{scores}"
    );

    // The same as of a file.
    let all = texts(20) + &texts(19) + "court verdict judge appeal\n" + &texts(5);
    dir.write("all.txt", all);
    ok(
        &dir.0,
        &args
            .replace("novelty -", "novelty all.txt")
            .replace("s.csv", "t.csv")
            .replace("model m", "model n"),
    );
    assert_eq!(
        scores,
        std::fs::read_to_string(dir.0.join("t.csv")).unwrap()
    );
    assert_eq!(
        ok(&dir.0, "score m all.txt --quiet"),
        ok(&dir.0, "score n all.txt --quiet")
    );
}

#[test]
fn a_stream_that_ends_within_its_first_block_leaves_nothing() {
    let dir = Scratch::new("stream-short");
    let args = "novelty - --block 20 --save-model m -o s.csv --agents-start 2";
    let mut live = Live::start(&dir.0, args);
    live.write(&texts(7));
    let (code, _, said) = live.end();
    assert_eq!(code, Some(1));
    assert!(said.contains("7 documents"), "{said}");
    assert!(files(&dir.0).is_empty(), "{:?}", files(&dir.0));
    let (code, _, said) = Live::start(&dir.0, args).end();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("no documents") || said.contains("empty"),
        "{said}"
    );
    dir.write("labels.csv", "topic\na\n");
    let mut live = Live::start(&dir.0, &format!("{args} --labels labels.csv"));
    live.write(&texts(1));
    let (code, _, said) = live.end();
    assert_eq!(code, Some(1));
    assert!(said.contains("--label-column"), "{said}");
}

/// Ctrl-C ends the stream, not the run: what was scored and learned is kept.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_stream_and_keeps_its_results() {
    let dir = Scratch::new("stream-interrupt");
    let args = "novelty - --block 20 --agents-start 2 --atoms-per-block 1 --save-model m -o s.csv";
    let mut live = Live::start(&dir.0, args);
    live.write(&texts(47));
    assert!(live.line().starts_with("block 0"));
    assert!(live.line().starts_with("block 1"));
    assert_eq!(live.interrupted(), Some(130));
    assert_eq!(files(&dir.0), ["m", "s.csv"]);
    let scores = std::fs::read_to_string(dir.0.join("s.csv")).unwrap();
    assert_eq!(scores.lines().count(), 21);
    dir.write("new.txt", texts(2));
    ok(&dir.0, "score m new.txt --quiet");

    let mut live = Live::start(&dir.0, "score m - --report page");
    live.write("moon rocket\n");
    live.line();
    live.line();
    assert_eq!(live.interrupted(), Some(130));
    assert!(dir.0.join("page/index.html").is_file());
}

/// Memory holds one block, not the stream.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_stream() {
    let dir = Scratch::new("stream-memory");
    let run = |blocks: usize| {
        let args = "novelty - --block 200 --agents-start 2 --atoms-per-block 0 --passes 1 --quiet";
        let mut live = Live::start(&dir.0, &format!("{args} --json --top 0"));
        let mut peak = 0;
        for block in 0..blocks {
            // 600 kB a block.
            let document = format!("{} {}", TOPICS[block % 2], "word ".repeat(600));
            live.write(&format!("{document}\n").repeat(200));
            live.line();
            peak = live.peak_memory();
        }
        assert_eq!(live.end().0, Some(0));
        peak
    };
    let (few, many) = (run(4), run(60));
    println!("peak {few} kB after 4 blocks, {many} kB after 60");
    // The other documents are 34 MB.
    assert!(many < few + 24_000, "{few} kB and {many} kB");
}

/// Binary data through a pipe are read as a whole, as from a file.
#[test]
fn arrays_through_a_pipe_are_read_as_a_whole() {
    let dir = Scratch::new("stream-binary");
    ok(&dir.0, "examples ex --quiet");
    ok(&dir.0, "learn ex/samples.npy --atoms 4 -o m --quiet");
    let expected = ok(&dir.0, "score m ex/samples.npy --quiet");
    let out = shell(&dir.0, "cat ex/samples.npy | dictmesh score m - --quiet");
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        expected,
        "{}",
        said(&out)
    );
    if cfg!(unix) {
        let line = "mkfifo pipe; cat ex/samples.npy > pipe & dictmesh score m pipe --quiet; wait";
        let out = shell(&dir.0, line);
        assert_eq!(
            String::from_utf8_lossy(&out.stdout),
            expected,
            "{}",
            said(&out)
        );
        let line = "mkfifo lines.csv; echo 1,2,3 > lines.csv & dictmesh score n lines.csv --header no --quiet; wait";
        dir.write("x.csv", "1,2,3\n3,1,0\n".repeat(20));
        ok(&dir.0, "learn x.csv --header no --atoms 2 -o n --quiet");
        let out = shell(&dir.0, line);
        assert_eq!(
            String::from_utf8_lossy(&out.stdout).lines().count(),
            2,
            "{}",
            said(&out)
        );
    }
    let out = shell(&dir.0, "dictmesh score m - < /dev/null");
    assert!(!out.status.success() && out.stdout.is_empty());
    let out = shell(&dir.0, "true | dictmesh score m -");
    assert!(!out.status.success() && out.stdout.is_empty());
}
