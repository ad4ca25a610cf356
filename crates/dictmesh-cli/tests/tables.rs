//! Tables as pandas, R and spreadsheets write them: what is learned from, and what a sample is called.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{said, samples, Scratch};

/// The lines of [`samples`], each behind a field of its own.
fn behind(fields: impl Iterator<Item = String>, shift: usize) -> String {
    let lines = samples(40, shift);
    let each = fields.zip(lines.lines());
    each.map(|(field, line)| format!("{field},{line}\n"))
        .collect()
}

/// What `score` prints in its first column, without the header.
fn sample_names(scores: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(scores).into_owned();
    let first = |line: &str| line.split(',').next().unwrap_or_default().to_string();
    text.lines().skip(1).map(first).collect()
}

/// What `score` prints, without the names.
fn scores(printed: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(printed).into_owned();
    let score = |line: &str| line.split(',').nth(1).unwrap_or_default().to_string();
    text.lines().skip(1).map(score).collect()
}

const LEARN: &str = "--atoms 4 --quiet";

/// A split of a table keeps its index, shuffled: it was learned as a feature.
#[test]
fn an_index_in_any_order_names_the_samples() {
    let s = Scratch::new("tables-index");
    let shuffled: Vec<String> = (0..40).map(|i| (500 + i * 7 % 40).to_string()).collect();
    let table = |corner: &str| {
        let rows = behind(shuffled.iter().cloned(), 0);
        format!("{corner},a,b,c,d,e,f\n{rows}")
    };
    s.write("plain.csv", format!("a,b,c,d,e,f\n{}", samples(40, 0)));
    s.run(&format!("learn plain.csv -o plain {LEARN}"));
    let expected = scores(&s.run("score plain plain.csv").stdout);
    for corner in ["", "Unnamed: 0"] {
        s.write("split.csv", table(corner));
        let learned = s.run("learn split.csv -o model --atoms 4");
        assert!(
            said(&learned).contains("names are column 1")
                && said(&learned).contains("an index without a name"),
            "{}",
            said(&learned)
        );
        let out = s.run("score model split.csv");
        assert_eq!(sample_names(&out.stdout), shuffled, "{}", said(&out));
        assert_eq!(scores(&out.stdout), expected);
    }
    let header_and_row: Vec<String> = table("").lines().take(2).map(String::from).collect();
    s.write("one.csv", header_and_row.join("\n"));
    let out = s.run("score model one.csv");
    assert_eq!(sample_names(&out.stdout), ["500"], "{}", said(&out));
}

#[test]
fn any_column_can_name_the_samples() {
    let s = Scratch::new("tables-names");
    let rows = behind((0..40).map(|i| format!("{}", i / 2 + 7)), 0);
    s.write("t.csv", format!("patient,a,b,c,d,e,f\n{rows}"));
    for column in ["patient", "1"] {
        s.run(&format!(
            "learn t.csv -o model --name-column {column} {LEARN}"
        ));
        // The model remembers it.
        let out = s.run("score model t.csv");
        assert_eq!(sample_names(&out.stdout)[..3], ["7", "7", "8"]);
        assert!(
            said(&out).contains("names are column 1 (\"patient\")"),
            "{}",
            said(&out)
        );
    }
    s.refused("learn t.csv -o m --name-column nobody", "no column");
    s.write("x.txt", "some words\nmore words\n");
    s.refused("learn x.txt -o m --name-column 1", "--name-column belongs");
}

/// Columns in another order gave other scores without a word.
#[test]
fn a_model_finds_its_columns_by_name() {
    let s = Scratch::new("tables-by-name");
    let lines = samples(40, 0);
    s.write("t.csv", format!("a,b,c,d,e,f\n{lines}"));
    s.run(&format!("learn t.csv -o model {LEARN}"));
    let expected = scores(&s.run("score model t.csv").stdout);
    assert_eq!(expected.len(), 40);

    // Another order, with an index, a number and two columns of text that were not learned from.
    let mut other = String::from(",f,kind,e,d,age,c,b,a,town\n");
    for (i, line) in lines.lines().enumerate() {
        let x: Vec<&str> = line.split(',').collect();
        let (kind, town) = (["u", "v"][i % 2], ["x", "y", "z"][i % 3]);
        other += &format!(
            "{},{},{kind},{},{},{},{},{},{},{town}\n",
            90 - i,
            x[5],
            x[4],
            x[3],
            i * i,
            x[2],
            x[1],
            x[0]
        );
    }
    s.write("other.csv", &other);
    let out = s.run("score model other.csv");
    assert_eq!(scores(&out.stdout), expected, "{}", said(&out));
    assert_eq!(sample_names(&out.stdout)[..2], ["90", "89"]);
    for words in ["\"age\"", "\"kind\"", "\"town\"", "the model's order"] {
        assert!(said(&out).contains(words), "{}", said(&out));
    }
    let coded = s.run("infer model other.csv -o y.npz");
    assert!(coded.status.success(), "{}", said(&coded));
    let more = s.run("learn other.csv --resume model -o more --passes 2 --quiet");
    assert!(more.status.success(), "{}", said(&more));

    s.write("less.csv", other.replacen(",e,d,", ",E,D,", 1));
    s.refused("score model less.csv", "no columns \"d\", \"e\" (there are");
    // Samples in columns: their rows have names.
    s.write("genes.csv", "gene,s1,s2,s3\ng1,1,2,3\ng2,4,5,1\ng3,1,1,0\n");
    s.write(
        "more.csv",
        "gene,s1,s2,s3\ng3,1,1,0\ng1,1,2,3\nxx,9,9,9\ng2,4,5,1\n",
    );
    s.run("learn genes.csv --transpose -o turned --atoms 2 --quiet");
    let turned = s.run("score turned more.csv");
    let same = s.run("score turned genes.csv").stdout;
    assert_eq!(scores(&turned.stdout), scores(&same));
    assert!(said(&turned).contains("3 of 4 rows"), "{}", said(&turned));
    // Without a header the order is all there is.
    s.write("bare.csv", &lines);
    assert_eq!(scores(&s.run("score model bare.csv").stdout), expected);
}

/// What a spreadsheet writes in German: semicolons, and commas for decimal points.
#[test]
fn semicolons_and_decimal_commas_are_read() {
    let s = Scratch::new("tables-german");
    let lines = samples(40, 0);
    s.write("t.csv", format!("a,b,c,d,e,f\n{lines}"));
    s.run(&format!("learn t.csv -o model {LEARN}"));
    let expected = scores(&s.run("score model t.csv").stdout);
    assert_eq!(expected.len(), 40);

    let semicolons = lines.replace(',', ";");
    let german = semicolons.replace('.', ",");
    for (name, content) in [
        ("points.csv", format!("a;b;c;d;e;f\n{semicolons}")),
        ("german.csv", format!("a;b;c;d;e;f\n{german}")),
        ("bare.csv", german.clone()),
        ("german.tsv", german.replace(';', "\t")),
    ] {
        s.write(name, content);
        for format in ["", " --format csv"] {
            if name.ends_with("tsv") && !format.is_empty() {
                continue;
            }
            let out = s.run(&format!("score model {name}{format}"));
            assert_eq!(scores(&out.stdout), expected, "{name}: {}", said(&out));
            let told = said(&out).contains("decimal commas");
            assert_eq!(told, name != "points.csv", "{name}: {}", said(&out));
        }
    }
    s.write("both.csv", "a;b\n1,5;2\n3;1.234\n");
    s.refused("learn both.csv -o m", "decimal comma in line 2");
    s.write("thousands.csv", "a;b\n1.234,5;2\n2.500,5;1\n");
    s.refused("learn thousands.csv -o m", "separators of thousands");
    s.write("quoted.csv", "a,b\n1,\"2,5\"\n2,\"3,5\"\n");
    s.refused(
        "learn quoted.csv -o m",
        "column 2 (\"b\"): numbers with commas",
    );
}

/// A table of documents is one to learn, as it is to score; and what the text is called is told.
#[test]
fn documents_in_a_table_and_in_json_lines_are_found_and_told() {
    let s = Scratch::new("tables-text");
    let topics = ["boats sail far at sea", "bread bakes warm in ovens"];
    let pick = |i: usize| topics[i % 2];
    let table: String = (0..12)
        .map(|i| format!("{i},t{},{} {i}\n", i % 2, pick(i)))
        .collect();
    s.write("news.csv", format!("id,topic,text\n{table}"));
    let json: String = (0..12)
        .map(|i| {
            format!(
                "{{\"topic\": \"t{}\", \"body\": \"{} {i}\"}}\n",
                i % 2,
                pick(i)
            )
        })
        .collect();
    s.write("news.jsonl", json);
    for (file, text, label) in [
        (
            "news.csv",
            "text is column 3 (\"text\")",
            "labels are column 2 (\"topic\")",
        ),
        (
            "news.jsonl",
            "text is the key \"body\"",
            "labels are the key \"topic\"",
        ),
    ] {
        let learned = s.run(&format!("learn {file} -o model --atoms 2"));
        assert!(learned.status.success(), "{}", said(&learned));
        let scored = s.run(&format!("score model {file}"));
        assert_eq!(sample_names(&scored.stdout).len(), 12, "{}", said(&scored));
        for out in [learned, scored] {
            assert!(
                said(&out).contains(text) && said(&out).contains(label),
                "{}",
                said(&out)
            );
        }
    }
    // Numbers with a remark stay numbers.
    s.write(
        "t.csv",
        "a,b,c,text\n1,2,3,two words\n2,1,4,more words\n3,3,1,last words\n",
    );
    let learned = s.run("learn t.csv -o numbers --atoms 2");
    assert!(
        said(&learned).contains("names are column 4"),
        "{}",
        said(&learned)
    );
}

#[test]
fn results_have_a_place_and_zeros_have_no_sign() {
    let s = Scratch::new("tables-places");
    s.write("t.csv", format!("a,b,c,d,e,f\n{}", samples(40, 0)));
    s.run(&format!("learn t.csv -o model {LEARN}"));
    s.refused(
        "learn - -o -",
        "not written to standard output; name a file",
    );
    s.refused(
        "infer model t.csv -o codes.csv",
        "codes.csv: it would be written as numpy's .npz; name it codes.npz",
    );
    for format in ["lines", "jsonl"] {
        s.refused(
            &format!("bicluster t.csv -o out --format {format}"),
            "expected numbers",
        );
    }
    // A layer of the first half of the columns, with either sign.
    let entry = |i: usize, j: usize| match (i % 2, j) {
        (0, 0..=2) => 5.0 - 3.0 * j as f64,
        _ => (i * 7 + j * 3) as f64 % 5.0 / 50.0,
    };
    let row = |i: usize| (0..6).map(|j| entry(i, j).to_string()).collect::<Vec<_>>();
    let rows: String = (0..20).map(|i| row(i).join(",") + "\n").collect();
    s.write("layers.csv", rows);
    let out = s.run("bicluster layers.csv -o layers --layers 2");
    assert!(out.status.success(), "{}", said(&out));
    let columns = std::fs::read_to_string(s.0.join("layers/columns.csv")).unwrap();
    assert!(
        columns.contains(",0,0") && !columns.contains(",-0,"),
        "{columns}"
    );
}
