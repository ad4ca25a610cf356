//! Numbers as JSON lines.

use super::*;

fn table(content: &str) -> Table {
    read_made("t.jsonl", content, &ReadOptions::default()).unwrap()
}

fn refusal(content: &str) -> String {
    let why = read_made("t.jsonl", content, &ReadOptions::default());
    why.unwrap_err().to_string()
}

#[test]
fn arrays_and_objects_hold_the_same_numbers() {
    let arrays = table("[1, 2.5]\n\n[3e0, -4]\n");
    let objects = table("{\"a\": 1, \"b\": 2.5}\n{\"b\": -4, \"a\": 3}\n");
    assert_eq!(columns(&arrays.samples), [[1.0, 2.5], [3.0, -4.0]]);
    assert_eq!(arrays.samples, objects.samples);
    assert_eq!(objects.feature_names.unwrap(), ["a", "b"]);
}

#[test]
fn texts_are_labels_and_names_and_null_is_missing() {
    let content = "{\"1\": 1, \"kind\": \"x\", \"id\": \"p, q\"}\n\
                   {\"1\": null, \"kind\": \"x\", \"id\": \"r\"}\n\
                   {\"kind\": \"y\", \"id\": \"s\"}\n";
    let message = refusal(content);
    assert!(
        message.contains("2 missing (NaN) entries: line 2, column 1"),
        "{message}"
    );
    let options = ReadOptions {
        nan: Nan::Zero,
        ..ReadOptions::default()
    };
    let t = read_made("t.jsonl", content, &options).unwrap();
    assert_eq!(columns(&t.samples), [[1.0], [0.0], [0.0]]);
    assert_eq!(t.labels.unwrap(), ["x", "x", "y"]);
    assert_eq!(t.sample_names.unwrap(), ["p, q", "r", "s"]);
}

#[test]
fn what_is_no_row_of_numbers_is_reported_with_its_line() {
    for (content, words) in [
        ("[1, 2]\n[3,\n", "line 2: no JSON"),
        ("[1, 2]\n7\n", "line 2: 7, neither"),
        ("[1, 2]\n[3]\n", "line 2: 1 fields; expected 2"),
        ("[1, [2]]\n", "line 1: [2] inside a line"),
        ("{\"a\": 1}\n{\"b\": 1}\n", "line 2: a key \"b\""),
        ("{\"a\": 1}\n[1]\n", "line 2: an array after objects"),
        (
            "{\"a\": 1}\n{\"a\": 2}\n{\"a\": \"x\"}\n",
            "line 3, column 1 (\"a\"): \"x\"",
        ),
    ] {
        let message = refusal(content);
        assert!(message.contains(words), "{content}: {message}");
    }
}

#[test]
fn documents_stay_text() {
    use crate::preparation::{DataOptions, Kind};
    for (content, kind) in [
        ("[1, 2]\n", Kind::Numbers),
        ("{\"a\": 1, \"b\": 2, \"kind\": \"x\"}\n", Kind::Numbers),
        (
            "{\"text\": \"hello\", \"label\": 3, \"id\": 4}\n",
            Kind::Text,
        ),
        (
            "{\"title\": \"two words\", \"year\": 1999, \"id\": 4}\n",
            Kind::Text,
        ),
        ("{\"name\": \"x\", \"year\": 1999}\n", Kind::Text),
        ("", Kind::Text),
    ] {
        let file = made("t.jsonl", content);
        let seen = Kind::of(&file.path, &DataOptions::default());
        assert_eq!(seen, kind, "{content}");
    }
}

/// A row of one missing entry is no blank line.
#[test]
fn a_row_of_one_null_stays() {
    for content in ["[1]\n[null]\n[3]\n", "{\"a\": 1}\n{}\n{\"a\": 3}\n"] {
        let options = ReadOptions {
            nan: Nan::Zero,
            ..ReadOptions::default()
        };
        let t = read_made("t.jsonl", content, &options).unwrap();
        assert_eq!(columns(&t.samples), [[1.0], [0.0], [3.0]], "{content}");
    }
    let message = refusal("[1, 2]\n[]\n");
    assert!(
        message.contains("line 2: an array without entries"),
        "{message}"
    );
}

/// They were sorted: "10" came before "2".
#[test]
fn columns_keep_the_order_of_the_first_object() {
    let t = table("{\"x2\": 1, \"x10\": 2, \"a\": 3}\n{\"a\": 6, \"x10\": 5, \"x2\": 4}\n");
    assert_eq!(t.feature_names.unwrap(), ["x2", "x10", "a"]);
    assert_eq!(columns(&t.samples), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
}

#[test]
fn a_key_that_comes_twice_is_refused() {
    let message = refusal("{\"a\": 1}\n{\"a\": 2, \"a\": 3}\n");
    assert!(message.contains("line 2: the key \"a\" twice"), "{message}");
    let file = made("t.jsonl", "{\"text\": \"red\", \"text\": \"blue\"}\n");
    let message = crate::text::read_documents(&file.path, &Default::default()).unwrap_err();
    assert!(message
        .to_string()
        .contains("line 1: the key \"text\" twice"));
}
