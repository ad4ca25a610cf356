//! The made-up data of `dictmesh examples`: the same for a seed, and what is planted in them is found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::ok;

#[test]
fn a_seed_gives_the_same_data_and_another_seed_others() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let files = ok(at, "examples a --json");
    let files: serde_json::Value = serde_json::from_str(&files).unwrap();
    ok(at, "examples b --quiet");
    ok(at, "examples c --seed 2 --quiet");
    let files = files["files"].as_array().unwrap();
    assert_eq!(
        std::fs::read_dir(at.join("a")).unwrap().count(),
        files.len()
    );
    for file in files {
        let name = file.as_str().unwrap();
        let read = |dir: &str| std::fs::read(at.join(dir).join(name)).unwrap();
        assert!(!read("a").is_empty());
        assert_eq!(read("a"), read("b"), "{name}");
        let fixed = ["clean.png", "settings.toml"].contains(&name);
        assert_eq!(read("a") == read("c"), fixed, "{name}");
    }
}

/// Real words from end to end: the topic that appears late is on top of the list, by the stream and by a
/// model of the past.
#[test]
fn the_late_topic_is_on_top() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    ok(at, "examples data --quiet");
    ok(
        at,
        "novelty data/news.csv --text-column text --label-column topic --block 200 --agents-start 6 \
         --atoms-per-block 2 -o scores.csv",
    );
    let news = std::fs::read_to_string(at.join("data/news.csv")).unwrap();
    let topics: Vec<&str> = news
        .lines()
        .skip(1)
        .map(|l| l.split(',').next().unwrap())
        .collect();
    let scores = std::fs::read_to_string(at.join("scores.csv")).unwrap();
    let mut last: Vec<(f64, &str)> = scores
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields[0] == "3")
        .map(|f| {
            (
                f[3].parse().unwrap(),
                topics[f[1].parse::<usize>().unwrap()],
            )
        })
        .collect();
    last.sort_by(|a, b| b.0.total_cmp(&a.0));
    let late = last.iter().filter(|s| s.1 == "space").count();
    assert!(late > 10);
    assert!(last[..late].iter().all(|s| s.1 == "space"), "{last:?}");

    ok(
        at,
        "learn data/past.txt --atoms 8 --agents 4 --passes 5 -o news.model --quiet",
    );
    let today = std::fs::read_to_string(at.join("data/today.txt")).unwrap();
    let scores = ok(at, "score news.model data/today.txt --json");
    let mut scores: Vec<(f64, bool)> = scores
        .lines()
        .zip(today.lines())
        .map(|(line, text)| {
            let score: serde_json::Value = serde_json::from_str(line).unwrap();
            let late = text.contains("rocket") || text.contains("orbit");
            (score["score"].as_f64().unwrap(), late)
        })
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let late = scores.iter().filter(|s| s.1).count();
    assert!(late > 1 && scores[..late].iter().all(|s| s.1), "{scores:?}");
}

/// The how-to page shows the settings as the program writes them.
#[test]
fn the_settings_of_the_page_are_those_of_the_examples() {
    let dir = tempfile::tempdir().unwrap();
    ok(dir.path(), "examples data --quiet");
    let written = std::fs::read_to_string(dir.path().join("data/settings.toml")).unwrap();
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/how-to/command-line.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let (_, settings) = written.split_once('\n').unwrap();
    assert!(page.contains(&format!("```toml\n{settings}```")));
}
