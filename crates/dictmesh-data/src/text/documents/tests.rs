//! Raw text in every form.

use super::*;
use proptest::prelude::*;

fn written(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    (directory, path)
}

fn refusal(name: &str, content: &str) -> String {
    let (_directory, path) = written(name, content);
    let error = read_documents(&path, &DocumentOptions::default());
    error.unwrap_err().to_string()
}

#[test]
fn one_document_in_every_form() {
    for (name, content) in [
        ("a.csv", "text,label\n\"red, mesh\",x\nblue,y\n"),
        ("a.csv", "id;text;topic\n1;red, mesh;x\n2;blue;y\n"),
        ("a.tsv", "label\tbody\nx\tred, mesh\ny\tblue\n"),
        ("a.jsonl", "{\"text\": \"red, mesh\", \"label\": \"x\"}\n\n{\"label\": \"y\", \"text\": \"blue\"}\n"),
    ] {
        let (_directory, path) = written(name, content);
        let d = read_documents(&path, &DocumentOptions::default()).unwrap();
        assert_eq!(d.texts, ["red, mesh", "blue"], "{content}");
        assert_eq!(d.labels.unwrap(), ["x", "y"]);
        assert_eq!(d.names.len(), 2);
    }
    let (_directory, path) = written("a.txt", "\u{feff}red, mesh\r\n\nblue");
    let d = read_documents(&path, &DocumentOptions::default()).unwrap();
    assert_eq!(d.texts, ["red, mesh", "", "blue"]);
    assert_eq!(d.names, ["line 1", "line 2", "line 3"]);
    assert_eq!(d.labels, None);
}

#[test]
fn columns_and_keys_can_be_named() {
    let options = DocumentOptions {
        text_column: Some("said".into()),
        label_column: Some("year".into()),
        ..DocumentOptions::default()
    };
    for (name, content) in [
        ("a.csv", "year,said\n1999,red mesh\n"),
        ("a.jsonl", "{\"said\": \"red mesh\", \"year\": 1999}"),
    ] {
        let (_directory, path) = written(name, content);
        let d = read_documents(&path, &options).unwrap();
        assert_eq!(
            (d.texts, d.labels),
            (vec!["red mesh".into()], Some(vec!["1999".into()]))
        );
    }
}

#[test]
fn a_directory_is_read_in_order_with_its_directories_as_labels() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for (name, content) in [
        ("sport/2.txt", "ball"),
        ("sport/1.txt", "goal\nteam"),
        ("law/deep/3.txt", "court"),
        (".hidden/x", "no"),
    ] {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let d = read_documents(root, &DocumentOptions::default()).unwrap();
    assert_eq!(d.texts, ["court", "goal\nteam", "ball"]);
    assert_eq!(d.labels.unwrap(), ["law", "sport", "sport"]);
    assert_eq!(d.names[1], "sport/1.txt");
    std::fs::write(root.join("loose.txt"), "word").unwrap();
    let d = read_documents(root, &DocumentOptions::default()).unwrap();
    assert_eq!((d.texts.len(), d.labels), (4, None));
    std::fs::write(root.join("zero"), "a\0b").unwrap();
    let message = read_documents(root, &DocumentOptions::default()).unwrap_err();
    assert!(message.to_string().contains("zero: zero bytes"));
}

#[test]
fn bad_files_are_told_with_their_line() {
    for (name, content, found) in [
        ("a.txt", "", "the file is empty"),
        ("a.txt", "\n \n", "no text"),
        ("a.txt", "red\nbl\0ue\n", "line 2: zero bytes"),
        (
            "a.csv",
            "id,name\n1,red\n",
            "line 1: no column \"text\" (but \"id\", \"name\")",
        ),
        ("a.csv", "text,label\nred\n", "line 2: 1 fields; expected 2"),
        (
            "a.jsonl",
            "{\"text\": \"red\"}\n{\"text\": \n",
            "line 2: no JSON at column",
        ),
        ("a.jsonl", "[1, 2]\n", "line 1: JSON, but no object"),
        (
            "a.jsonl",
            "{\"words\": \"red\"}\n",
            "line 1: no key \"text\" (but \"words\")",
        ),
        ("a.jsonl", "{\"text\": 5}\n", "that is no text"),
        (
            "a.jsonl",
            "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\n",
            "line 2: no key \"label\"",
        ),
    ] {
        let message = refusal(name, content);
        assert!(
            message.contains(found) && message.contains("expected"),
            "{message}"
        );
    }
    let empty = tempfile::tempdir().unwrap();
    let message = read_documents(empty.path(), &DocumentOptions::default()).unwrap_err();
    assert!(message.to_string().contains("without files"));
}

#[test]
fn a_format_can_be_forced() {
    let options = DocumentOptions {
        format: Some(Format::Lines),
        ..DocumentOptions::default()
    };
    let (_directory, path) = written("a.csv", "text,label\nred,x\n");
    assert_eq!(read_documents(&path, &options).unwrap().texts.len(), 2);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,80}",
    ) {
        for content in [&bytes[..], text.as_bytes()] {
            for name in ["a.txt", "a.csv", "a.tsv", "a.jsonl"] {
                let (_directory, path) = written(name, content);
                let _ = read_documents(&path, &DocumentOptions::default());
            }
        }
        let nested = "[".repeat(bytes.len() * 100);
        let (_directory, path) = written("a.jsonl", nested);
        prop_assert!(read_documents(&path, &DocumentOptions::default()).is_err());
    }
}

#[test]
fn utf16_is_read_in_files_and_directories() {
    let units = std::iter::once(0xfeff).chain("Zürich mesh".encode_utf16());
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    let (directory, path) = written("a.txt", &bytes);
    for path in [path.as_path(), directory.path()] {
        let d = read_documents(path, &DocumentOptions::default()).unwrap();
        assert_eq!(d.texts, ["Zürich mesh"]);
        assert_eq!(d.note, None);
    }
    let (directory, path) = written("a.txt", &bytes[..bytes.len() - 1]);
    for path in [path.as_path(), directory.path()] {
        let why = read_documents(path, &DocumentOptions::default()).unwrap_err();
        let why = why.to_string();
        assert!(
            why.contains("a.txt") && why.contains("no valid UTF-16"),
            "{why}"
        );
    }
}
