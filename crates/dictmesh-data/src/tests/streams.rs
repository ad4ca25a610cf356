//! Streams: records as they arrive, and the same as in a file.

use super::*;
use crate::preparation::{DataOptions, How, Kind, Preparation, Reading};
use crate::text::{TextOptions, Vectoriser};
use std::io::Write;

fn stream(content: &str, kind: Kind, options: &DataOptions) -> Result<Vec<Record>> {
    let input = std::io::Cursor::new(content.to_string());
    Stream::new(input, "standard input", kind, options)?.collect()
}

fn numbers(content: &str) -> Result<Vec<Vec<f64>>> {
    let records = stream(content, Kind::Numbers, &DataOptions::default())?;
    let numbers = records.into_iter().map(|record| match record.content {
        Content::Numbers(numbers) => numbers,
        Content::Text(text) => panic!("{text}"),
    });
    Ok(numbers.collect())
}

fn refusal(content: &str) -> String {
    numbers(content).unwrap_err().to_string()
}

/// Each record comes before the next line is written.
#[test]
fn records_come_as_they_arrive() {
    for (kind, format, lines) in [
        (Kind::Numbers, None, ["a,b\n1,2\n", "3,4\n", "5,6\n"]),
        (Kind::Numbers, None, ["1,2\r\n", "3,4\r\n", "5,6\r\n"]),
        (Kind::Numbers, None, ["[1, 2]\n", "[3, 4]\n", "[5, 6]\n"]),
        (Kind::Text, None, ["one mesh\n", "two\n", "three\n"]),
        (
            Kind::Text,
            Some(Format::Csv),
            ["text\none\n", "\"t\nwo\"\n", "three\n"],
        ),
        (
            Kind::Text,
            None,
            [
                "{\"text\": \"a\"}\n",
                "{\"text\": \"b\"}\n",
                "{\"text\": \"c\"}\n",
            ],
        ),
    ] {
        let (read, mut write) = std::io::pipe().unwrap();
        let options = DataOptions {
            read: ReadOptions {
                format,
                ..ReadOptions::default()
            },
            ..DataOptions::default()
        };
        let mut stream = Stream::new(read, "a pipe", kind, &options).unwrap();
        for line in lines {
            write.write_all(line.as_bytes()).unwrap();
            // It would wait for ever for a further line.
            stream.next().unwrap().unwrap();
        }
        drop(write);
        assert!(stream.next().is_none());
    }
}

#[test]
fn numbers_are_those_of_a_file() {
    let all = [[1.0, 2.5], [3.0, -4.0]];
    for content in [
        "1,2.5\n3,-4\n",
        "\u{feff}a,b\r\n1,2.5\r\n\r\n3,-4",
        "a;b\n1,0;2,5\n3,0;-4,0\n",
        "a\tb\n1\t2.5\n3\t-4\n",
        "kind,a,b\nx,1,2.5\ny,3,-4\n",
        "[1, 2.5]\n\n[3e0, -4]\n",
        "{\"a\": 1, \"b\": 2.5}\n{\"b\": -4, \"a\": 3}\n",
    ] {
        assert_eq!(numbers(content).unwrap(), all, "{content}");
    }
}

#[test]
fn names_labels_and_lines() {
    let options = DataOptions {
        read: ReadOptions {
            label_column: Some("kind".into()),
            ..ReadOptions::default()
        },
        ..DataOptions::default()
    };
    let content = ",kind,a\n7,x,1\n\n5,y,2\n";
    let records = stream(content, Kind::Numbers, &options).unwrap();
    let (first, second) = (&records[0], &records[1]);
    assert_eq!((first.line, first.name.as_str()), (2, "7"));
    assert_eq!((second.line, second.name.as_str()), (4, "5"));
    assert_eq!(second.label.as_deref(), Some("y"));
    assert_eq!(second.content, Content::Numbers(vec![2.0]));
    let records = stream("red mesh\n\nblue\n", Kind::Text, &DataOptions::default()).unwrap();
    assert_eq!(records[1].content, Content::Text(String::new()));
    assert_eq!(records[2].name, "line 3");
}

#[test]
fn bad_lines_are_named() {
    for (content, words) in [
        ("", "standard input: the input is empty"),
        ("1,2\n3\n", "line 2: 1 fields; expected 2"),
        ("a,b\n1,2\n3,x\n", "line 3, column 2 (\"b\"): \"x\""),
        ("a,b\r\n1,2\r\n3,x\r\n", "line 3, column 2 (\"b\"): \"x\""),
        ("a,b\n1,2\n3,\n", "1 missing (NaN) entry: line 3, column 2"),
        ("1,2\n3,inf\n", "1 infinite entry: line 2, column 2"),
        ("[1, 2]\n[3,\n", "line 2: no JSON"),
        ("{\"a\": 1, \"a\": 2}\n", "line 1: the key \"a\" twice"),
        ("a,b\n1,2\n3,\"4\n5,6\n", "line 3, column 2"),
        ("x,y\nu,v\n", "none of numbers"),
    ] {
        let message = refusal(content);
        assert!(message.contains(words), "{content}: {message}");
    }
    for read in [
        ReadOptions {
            transpose: true,
            ..ReadOptions::default()
        },
        ReadOptions {
            nan: Nan::Mean,
            ..ReadOptions::default()
        },
        ReadOptions {
            format: Some(Format::Npy),
            ..ReadOptions::default()
        },
    ] {
        let options = DataOptions {
            read,
            ..DataOptions::default()
        };
        let why = stream("1\n", Kind::Numbers, &options).unwrap_err();
        assert!(why.to_string().contains("one by one"));
    }
}

#[test]
fn a_model_takes_its_features_by_name() {
    let plain = Preparation::new(How::default());
    let features = ["b".to_string(), "a".to_string()];
    let read = |content: &str| {
        let input = std::io::Cursor::new(content.to_string());
        let options = DataOptions::default();
        let name = "standard input";
        let stream = Stream::for_model(input, name, &options, &plain, Some(2), Some(&features));
        let records: Vec<Record> = stream.unwrap().collect::<Result<_>>()?;
        Ok::<_, DataError>(columns(&plain.how.prepare(2, &records).unwrap()))
    };
    assert_eq!(
        read("a,c,b\n1,9,2\n3,9,4\n").unwrap(),
        [[2.0, 1.0], [4.0, 3.0]]
    );
    assert_eq!(read("{\"a\": 1, \"b\": 2}\n").unwrap(), [[2.0, 1.0]]);
    // Without names, by their order.
    assert_eq!(read("1,2\n").unwrap(), [[1.0, 2.0]]);
    let why = read("1,2,3\n").unwrap_err().to_string();
    assert!(
        why.contains("line 1: 3 numbers a line; expected 2"),
        "{why}"
    );
    let why = read("a,c\n1,2\n").unwrap_err().to_string();
    assert!(why.contains("no columns \"b\""), "{why}");
}

/// A model that was learned with the means of features refused every stream.
#[test]
fn means_of_a_model_are_no_options_of_a_stream() {
    let mean = DataOptions {
        read: ReadOptions {
            nan: Nan::Mean,
            ..ReadOptions::default()
        },
        ..DataOptions::default()
    };
    let model = Preparation::new(How::default()).with_reading(Reading::of(&mean));
    let read = |content: &str, options: &DataOptions| -> std::result::Result<Vec<Record>, String> {
        let input = std::io::Cursor::new(content.to_string());
        let stream = Stream::for_model(input, "standard input", options, &model, Some(2), None);
        let records: Result<Vec<Record>> = stream.map_err(|e| e.to_string())?.collect();
        records.map_err(|e| e.to_string())
    };
    let plain = DataOptions::default();
    assert_eq!(read("1,2\n3,4\n", &plain).unwrap().len(), 2);
    let why = read("1,2\n3,\n", &plain).unwrap_err();
    assert!(why.contains("line 2"), "{why}");
    let why = read("1,2\n", &mean).unwrap_err();
    assert!(why.contains("one by one"), "{why}");
}

#[test]
fn text_is_weighed_as_in_a_file() {
    let texts = ["red mesh agents", "blue mesh", "agents learn atoms"];
    let mut vectoriser = Vectoriser::new(TextOptions::default()).unwrap();
    vectoriser.fit(texts.into_iter());
    let rows = vectoriser.rows();
    let expected = vectoriser.transform(&texts).unwrap();
    let how = How::Text {
        vectoriser: Box::new(vectoriser),
    };
    let records = stream(&texts.join("\n"), Kind::Text, &DataOptions::default()).unwrap();
    assert_eq!(how.prepare(rows, &records).unwrap(), expected);
    assert!(How::default().prepare(rows, &records).is_err());
}
