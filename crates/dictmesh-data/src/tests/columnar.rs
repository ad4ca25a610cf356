//! Parquet and Arrow files, as pandas, polars and pyarrow write them (see `make_columnar.py`).

use super::*;
use crate::text::{is_table_of_documents, read_documents, DocumentOptions};
use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

pub const FILES: [&str; 10] = [
    "pyarrow-snappy.parquet",
    "pyarrow-gzip.parquet",
    "pyarrow-lz4.parquet",
    "pyarrow-zstd.parquet",
    "pyarrow-none.parquet",
    "polars.parquet",
    "pyarrow-lz4.feather",
    "pyarrow.arrows",
    "pyarrow-zstd.arrows",
    "polars.arrow",
];

pub fn filled() -> ReadOptions {
    ReadOptions {
        nan: Nan::Mean,
        ..ReadOptions::default()
    }
}

/// A Parquet file of these columns, in row groups of `group` rows.
fn parquet_of(columns: Vec<(&str, ArrayRef)>, group: usize) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group));
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn numbers_of(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

#[test]
fn every_type_and_compression_gives_the_same_table() {
    for name in FILES {
        let options = filled();
        let table = read(&fixture(name), &options).unwrap();
        let names = table.feature_names.unwrap();
        let expected = [
            "whole",
            "small",
            "single",
            "flag",
            "price",
            "coded",
            "vector[0]",
            "vector[1]",
            "list[0]",
        ];
        assert_eq!(names, expected, "{name}");
        assert_eq!(
            columns(&table.samples),
            [
                [1.0, 1.0, 0.5, 1.0, 0.25, 7.0, 1.0, 2.0, 10.0],
                [-2.0, 2.0, 0.0, 0.0, -1.5, 8.0, 3.0, 4.0, 20.0],
                [3.0, 3.0, 1.5, 1.0, 3.0, 7.0, 5.0, 6.0, 30.0],
                [2_f64.powi(40), 4.0, -2.0, 1.0, 4.75, 8.0, 7.0, 8.0, 40.0],
            ],
            "{name}"
        );
        assert_eq!(table.labels.unwrap(), ["x", "y", "x", "y"], "{name}");
        assert_eq!(table.sample_names.unwrap(), ["a", "b", "c", "d"], "{name}");
        let note = table.note.unwrap();
        assert!(note.contains("left out \"when\" (Timestamp"), "{note}");
        let parts = chunks_at(&fixture(name), &options, 3).unwrap();
        let parts: Vec<Samples> = parts.collect::<Result<_>>().unwrap();
        assert_eq!(parts.iter().map(Samples::len).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(parts[0], table.samples.range(0..3));
    }
    let table = read(&fixture("pandas-index.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(table.sample_names.unwrap(), ["r", "s"]);
    assert_eq!(columns(&table.samples), [[1.5, 3.0], [2.5, 4.0]]);
}

/// The first batch comes right behind the schema, without dictionaries between them.
#[test]
fn a_stream_keeps_its_first_batch() {
    let values: Vec<f64> = (0..10).map(f64::from).collect();
    let batch = RecordBatch::try_from_iter([("a", numbers_of(values.clone()))]).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    for from in (0..10).step_by(4) {
        writer.write(&batch.slice(from, 4.min(10 - from))).unwrap();
    }
    let bytes = writer.into_inner().unwrap();
    let table = read_made("a.arrows", bytes, &ReadOptions::default()).unwrap();
    let expected: Vec<Vec<f64>> = values.into_iter().map(|v| vec![v]).collect();
    assert_eq!(columns(&table.samples), expected);
}

#[test]
fn errors_name_the_file_the_column_and_what_to_do() {
    let name = "polars.parquet";
    let refusal = |options: &ReadOptions| {
        let why = read(&fixture(name), options).unwrap_err();
        why.to_string()
    };
    let with = |column: &str| ReadOptions {
        label_column: Some(column.into()),
        ..filled()
    };
    let why = refusal(&ReadOptions::default());
    assert!(
        why.contains("1 missing (NaN) entry: row 2, column 5 (\"single\")"),
        "{why}"
    );
    let why = refusal(&with("when"));
    assert!(why.contains("column \"when\" of type Timestamp"), "{why}");
    let why = refusal(&with("nothing"));
    assert!(why.contains("no column \"nothing\""), "{why}");
    // Lists of numbers can be left out, and labels may be numbers.
    let options = ReadOptions {
        drop_columns: vec![
            "vector".into(),
            "list".into(),
            "single".into(),
            "when".into(),
        ],
        label_column: Some("small".into()),
        ..ReadOptions::default()
    };
    let table = read(&fixture(name), &options).unwrap();
    assert_eq!(table.labels.unwrap(), ["1", "2", "3", "4"]);
    assert_eq!(
        table.feature_names.unwrap(),
        ["whole", "flag", "price", "coded"]
    );
    // Lists of several lengths are no vectors.
    let mut lists = ListBuilder::new(Float64Builder::new());
    lists.append_value([Some(1.0), Some(2.0)]);
    lists.append_null();
    lists.append_value([Some(3.0)]);
    let lists: ArrayRef = Arc::new(lists.finish());
    let why = read_made("a.parquet", parquet_of(vec![("v", lists)], 10), &filled());
    let why = why.unwrap_err().to_string();
    assert!(
        why.contains("row 3, column \"v\": a list of 1 numbers; expected lists of 2"),
        "{why}"
    );
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let why = read_made("a.parquet", parquet_of(vec![("w", words)], 10), &filled());
    let why = why.unwrap_err().to_string();
    assert!(why.contains("none of numbers"), "{why}");
}

#[test]
fn a_model_takes_its_features_by_name() {
    let options = ReadOptions {
        features: Some(vec!["price".into(), "vector[1]".into(), "whole".into()]),
        ..ReadOptions::default()
    };
    for name in FILES {
        let table = read(&fixture(name), &options).unwrap();
        assert_eq!(columns(&table.samples)[1], [-1.5, 4.0, -2.0], "{name}");
    }
}

#[test]
fn texts_in_a_column_are_documents() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        "red mesh",
        "blue mesh",
        "agents learn",
    ]));
    let labels: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 1]));
    let file = made(
        "a.parquet",
        parquet_of(vec![("text", texts), ("label", labels)], 2),
    );
    assert!(is_table_of_documents(&file.path));
    assert!(!is_table_of_documents(&fixture("polars.parquet")));
    let documents = read_documents(&file.path, &DocumentOptions::default()).unwrap();
    assert_eq!(documents.texts, ["red mesh", "blue mesh", "agents learn"]);
    assert_eq!(documents.labels.unwrap(), ["1", "2", "1"]);
    assert_eq!(documents.names[2], "row 3");
    let options = DocumentOptions {
        text_column: Some("label".into()),
        ..DocumentOptions::default()
    };
    let why = read_documents(&file.path, &options)
        .unwrap_err()
        .to_string();
    assert!(why.contains("no texts in column 2"), "{why}");
}

/// Many columns with large pages are read one after the other, through a temporary file.
#[test]
fn many_columns_are_read_in_bounded_memory() {
    let (rows, width) = (3000, 3000);
    let value = |row: usize, column: usize| (row * 31 + column * 17) as f64 / 8.0;
    let names: Vec<String> = (0..width).map(|c| format!("c{c}")).collect();
    let column = |c| numbers_of((0..rows).map(|row| value(row, c)).collect());
    let columns = names
        .iter()
        .enumerate()
        .map(|(c, name)| (name.as_str(), column(c)));
    let file = made("a.parquet", parquet_of(columns.collect(), rows));
    let parts = chunks_at(&file.path, &ReadOptions::default(), 100).unwrap();
    let mut row = 0;
    for part in parts {
        let part = part.unwrap().to_dense();
        for sample in part.columns() {
            for c in [0, 1, 1777, width - 1] {
                assert_eq!(sample[c], value(row, c));
            }
            row += 1;
        }
    }
    assert_eq!(row, rows);
}
