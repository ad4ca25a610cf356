//! Laws of every plot, and the page as a browser sees it.

mod browser;
mod odd;
pub mod sample;

use super::*;
use crate::canvas::Canvas;
use std::fs;

/// An empty directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = format!("dictmesh-report-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(dir);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Panics with the place if a text is not well-formed XML.
fn check_xml(text: &str) {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true, // HTML's first line is one.
        ..Default::default()
    };
    if let Err(e) = roxmltree::Document::parse_with_options(text, options) {
        let row = text.lines().nth(e.pos().row as usize - 1).unwrap_or("");
        panic!("{e}: {}", row.chars().take(300).collect::<String>());
    }
}

#[test]
fn a_report_is_one_page_that_needs_nothing_and_files_beside_it() {
    let dir = Scratch::new("write");
    let report = sample::report();
    let page = report.write(&dir.0.join("new/report")).unwrap();
    report.write(&dir.0.join("new/report")).unwrap(); // Again is fine.
    let html = fs::read_to_string(&page).unwrap();
    check_xml(&html);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    for outside in [
        "<script",
        "src=\"http",
        "href=\"http",
        "url(",
        "@import",
        "<link",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    let mut names = report.file_names();
    assert_eq!(names.len(), html.matches("<figcaption>").count());
    names.sort();
    let entries = fs::read_dir(page.parent().unwrap()).unwrap();
    let mut found: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut expected: Vec<String> = vec!["index.html".into()];
    for name in &names {
        expected.extend([format!("{name}.png"), format!("{name}.svg")]);
        let svg = fs::read_to_string(page.with_file_name(format!("{name}.svg"))).unwrap();
        check_xml(&svg);
        let png = fs::read(page.with_file_name(format!("{name}.png"))).unwrap();
        assert!(resvg::tiny_skia::Pixmap::decode_png(&png).is_ok());
    }
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn what_data_say_is_shown_and_not_obeyed() {
    let evil = "<script>alert('&')</script>\"\u{0}\u{1f}]]>";
    let mut report = Report {
        title: evil.into(),
        subtitle: evil.into(),
        facts: vec![(evil.into(), evil.into())],
        command: evil.into(),
        versions: vec![(evil.into(), evil.into())],
        sections: vec![Section {
            heading: evil.into(),
            text: evil.into(),
            tables: vec![Table {
                caption: evil.into(),
                head: vec![evil.into()],
                rows: vec![vec![evil.into(), evil.into()], vec![]],
            }],
            ..Section::default()
        }],
    };
    let figure = Figure::new("../../etc/<x>", evil, Canvas::new(10.0, 10.0, evil));
    report.sections[0].figures = vec![figure.clone(), figure];
    report.sections[0].figures[1].panels.clear();
    let names = report.file_names();
    assert_eq!(names, ["etc-x", "etc-x-2"]);
    let html = page::html(&report, &names).unwrap();
    check_xml(&html);
    assert!(!html.contains("<script") && !html.contains('\0'));
    let dir = Scratch::new("evil");
    assert!(report.write(&dir.0).is_ok());
    assert!(Report::default().write(&dir.0).is_ok());
}

#[test]
fn a_file_in_the_way_is_told_and_nothing_is_written() {
    let dir = Scratch::new("refuse");
    let file = dir.0.join("file");
    fs::write(&file, "mine").unwrap();
    let message = Report::default().write(&file).unwrap_err().to_string();
    assert!(message.contains("file") && message.ends_with("is not a directory"));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 1);
}

#[test]
fn file_names_are_plain_and_no_two_are_alike() {
    for (name, plain) in [
        ("ROC curves", "roc-curves"),
        ("--", "figure"),
        ("Ünï", "n"),
        ("index", "index"),
    ] {
        assert_eq!(plain_name(name), plain);
    }
    let figure = |name| Figure::panels(name, "", Vec::new());
    let report = Report {
        sections: vec![Section {
            figures: vec![figure("a"), figure("A"), figure("a-2"), figure("index")],
            ..Section::default()
        }],
        ..Report::default()
    };
    assert_eq!(report.file_names(), ["a", "a-2", "a-2-2", "index-2"]);
}
