//! Laws of the vectoriser, and the readers of raw text.

use super::tfidf::Counting;
use super::vocabulary::hash_row;
use super::*;
use dictmesh::Samples;
use proptest::prelude::*;

fn options(vocabulary: Vocabulary) -> TextOptions {
    TextOptions {
        vocabulary,
        ..TextOptions::default()
    }
}

fn both() -> [TextOptions; 2] {
    [
        options(Vocabulary::Growing { max: 50 }),
        options(Vocabulary::Hashing { bits: 10 }),
    ]
}

fn entries(x: &Samples, j: usize) -> Vec<(usize, f64)> {
    x.entries(j).collect()
}

fn weight(v: &Vectoriser, x: &Samples, j: usize, term: &str) -> f64 {
    let row = v.terms().find(|t| t.1 == term).map(|t| t.0);
    let found = x.entries(j).find(|e| Some(e.0) == row);
    found.map_or(0.0, |e| e.1)
}

#[test]
fn samples_are_sparse_unit_vectors_of_fixed_dimension() {
    for options in both() {
        let mut v = Vectoriser::new(options).unwrap();
        let first = v
            .transform_block(&["red mesh", "blue mesh mesh", ""])
            .unwrap();
        let second = v.transform_block(&["green agents dance"]).unwrap();
        for x in [&first, &second] {
            assert!(x.is_sparse());
            assert_eq!(x.rows(), options.vocabulary.rows());
            assert_eq!(v.rows(), x.rows());
        }
        assert!((first.norm(1) - 1.0).abs() < 1e-12 && first.norm(2) == 0.0);
        assert!((second.norm(0) - 1.0).abs() < 1e-12);
        assert_eq!(v.documents(), 4);
    }
}

#[test]
fn weights_follow_the_formula() {
    let mut options = options(Vocabulary::Growing { max: 10 });
    options.weighting.unit = false;
    options.weighting.counting = Counting::Log;
    let mut v = Vectoriser::new(options).unwrap();
    // The first block by its own frequencies: n = 2, "mesh" in 2, "red" in 1.
    let x = v.transform_block(&["red red the mesh", "mesh"]).unwrap();
    let idf = |n: f64, d: f64| ((2.0 + n) / (1.0 + d)).ln();
    assert!((weight(&v, &x, 0, "red") - (1.0 + 2_f64.ln()) * idf(2.0, 1.0)).abs() < 1e-12);
    assert!((weight(&v, &x, 0, "mesh") - idf(2.0, 2.0)).abs() < 1e-12);
    assert!(!v.terms().any(|(_, t)| t == "the"));
    // Later ones by the past: "blue" is new, and weighs most.
    let x = v.transform_block(&["blue red", "blue"]).unwrap();
    assert!((weight(&v, &x, 0, "blue") - idf(2.0, 0.0)).abs() < 1e-12);
    assert!((weight(&v, &x, 1, "blue") - idf(2.0, 0.0)).abs() < 1e-12);
    assert!((weight(&v, &x, 0, "red") - idf(2.0, 1.0)).abs() < 1e-12);
    // And now the past has it.
    let x = v.transform(&["blue", "unseen unknown red"]).unwrap();
    assert!((weight(&v, &x, 0, "blue") - idf(4.0, 2.0)).abs() < 1e-12);
    assert_eq!(v.documents(), 4);
    // Two terms without a row weigh in the first free one what they would weigh together.
    let free = v.terms().count();
    let last = entries(&x, 1)[1];
    assert_eq!(
        (last.0, v.describe(free)),
        (free, "(words never seen)".into())
    );
    assert!((last.1 - 2_f64.sqrt() * idf(4.0, 0.0)).abs() < 1e-12);

    options.weighting.counting = Counting::Counts;
    options.weighting.idf = false;
    let x = Vectoriser::new(options)
        .unwrap()
        .transform_block(&["red red"]);
    assert_eq!(entries(&x.unwrap(), 0), [(0, 2.0)]);
}

#[test]
fn rare_terms_wait_until_enough_documents_have_them() {
    for mut options in both() {
        options.weighting.min_documents = 2;
        let mut v = Vectoriser::new(options).unwrap();
        let x = v.transform_block(&["red mesh", "blue mesh"]).unwrap();
        assert_eq!([0, 1].map(|j| entries(&x, j).len()), [1, 1]);
        // "red" and "blue" are in one document of the past and in this one; "new" is not.
        let x = v.transform_block(&["red new", "blue new"]).unwrap();
        assert_eq!([0, 1].map(|j| entries(&x, j).len()), [1, 1]);
        let x = v.transform_block(&["new"]).unwrap();
        assert_eq!(entries(&x, 0).len(), 1);
    }
}

#[test]
fn a_full_vocabulary_keeps_its_terms() {
    let mut v = Vectoriser::new(options(Vocabulary::Growing { max: 2 })).unwrap();
    let x = v.transform_block(&["one1 two2 three3", "three3"]).unwrap();
    assert_eq!(v.terms().collect::<Vec<_>>(), [(0, "one1"), (1, "two2")]);
    assert!(entries(&x, 1).is_empty());
    let x = v.transform_block(&["two2 four4"]).unwrap();
    assert_eq!(entries(&x, 0), [(1, 1.0)]);
}

#[test]
fn fitted_as_a_whole_the_frequent_terms_have_the_rows() {
    let mut v = Vectoriser::new(options(Vocabulary::Growing { max: 2 })).unwrap();
    let texts = ["rare mesh", "blue mesh", "blue the mesh"];
    assert_eq!(v.fit(texts.into_iter()), 2);
    assert_eq!(v.terms().collect::<Vec<_>>(), [(0, "mesh"), (1, "blue")]);
    // One row more, for what has none; the weights are those of the whole.
    assert_eq!((v.rows(), v.documents()), (3, 3));
    let x = v.transform(&["mesh", "rare", "blue new"]).unwrap();
    assert_eq!(entries(&x, 0), [(0, 1.0)]);
    assert_eq!(entries(&x, 1), [(2, 1.0)]);
    let idf = |d: f64| (5.0 / (1.0 + d)).ln();
    let pair = entries(&x, 2);
    assert!((pair[1].1 / pair[0].1 - idf(0.0) / idf(2.0)).abs() < 1e-12);
    let saved = serde_json::to_string(&v).unwrap();
    assert_eq!(serde_json::from_str::<Vectoriser>(&saved).unwrap(), v);

    let mut hashed = Vectoriser::new(options(Vocabulary::Hashing { bits: 8 })).unwrap();
    hashed.fit(texts.into_iter());
    assert_eq!((hashed.rows(), hashed.documents()), (256, 3));
    assert_eq!(hashed.term(hash_row("mesh", 8)), Some("mesh"));
}

#[test]
fn the_hash_never_changes() {
    // FNV-1a of "a" is af63dc4c8601ec8c, of "foobar" 85944171f73967e8.
    assert_eq!(hash_row("a", 32), 0xaf63_dc4c ^ 0x8601_ec8c);
    assert_eq!(
        hash_row("foobar", 20),
        (0x8594_4171 ^ 0xf739_67e8) & 0xf_ffff
    );
    let mut v = Vectoriser::new(options(Vocabulary::Hashing { bits: 20 })).unwrap();
    let x = v.transform_block(&["foobar"]).unwrap();
    assert_eq!(entries(&x, 0), [(hash_row("foobar", 20), 1.0)]);
    assert_eq!(v.term(hash_row("foobar", 20)), Some("foobar"));
}

#[test]
fn vocabularies_of_impossible_size_are_refused() {
    for vocabulary in [
        Vocabulary::Growing { max: 0 },
        Vocabulary::Growing { max: usize::MAX },
        Vocabulary::Hashing { bits: 0 },
        Vocabulary::Hashing { bits: 40 },
        Vocabulary::Hashing { bits: u32::MAX },
    ] {
        assert!(Vectoriser::new(options(vocabulary)).is_err());
    }
}

#[test]
fn damaged_vectorisers_are_refused() {
    let mut v = Vectoriser::new(options(Vocabulary::Growing { max: 5 })).unwrap();
    v.transform_block(&["red mesh", "blue mesh"]).unwrap();
    let good = serde_json::to_string(&v).unwrap();
    assert_eq!(serde_json::from_str::<Vectoriser>(&good).unwrap(), v);
    for (from, to) in [
        ("[0,\"red\"", "[7,\"red\""),
        ("[0,\"red\"", "[1,\"red\""),
        ("\"red\"", "\"mesh\""),
        ("\"max\":5", "\"max\":2"),
        ("\"max\":5", "\"max\":0"),
        ("\"documents\"", "\"other\""),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(
            bad != good && serde_json::from_str::<Vectoriser>(&bad).is_err(),
            "{to}"
        );
    }
}

#[test]
fn count_matrices_get_the_same_weights_as_text() {
    let weighting = Weighting::default();
    let mut counts = TfIdf::new(3, weighting);
    let mut text = Vectoriser::new(options(Vocabulary::Growing { max: 3 })).unwrap();
    // Rows: red, mesh, blue.
    let blocks = [
        (
            vec!["red red mesh", "mesh"],
            vec![[2.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
        ),
        (
            vec!["blue mesh", "red"],
            vec![[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]],
        ),
        (vec!["blue blue red"], vec![[1.0, 0.0, 2.0]]),
    ];
    for (documents, columns) in blocks {
        let from_text = text.transform_block(&documents).unwrap();
        let matrix = Samples::dense_from_columns(3, &columns).unwrap();
        assert_eq!(counts.transform_block(&matrix).unwrap(), from_text);
    }
    let negative = Samples::dense_from_columns(3, &[[1.0, -1.0, 0.0]]).unwrap();
    let message = counts.transform(&negative).unwrap_err().to_string();
    assert!(message.contains("-1 at term 1 of document 0"));
    let short = Samples::dense_from_columns(2, &[[1.0, 1.0]]).unwrap();
    assert!(counts.transform_block(&short).is_err());
    let saved: TfIdf = serde_json::from_str(&serde_json::to_string(&counts).unwrap()).unwrap();
    assert_eq!(saved, counts);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![9 => "[a-f]{2}", 1 => ".{0,4}"]
}

fn document() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..8).prop_map(|w| w.join(" "))
}

fn stream() -> impl Strategy<Value = Vec<Vec<String>>> {
    prop::collection::vec(prop::collection::vec(document(), 1..5), 1..5)
}

fn run(options: TextOptions, blocks: &[Vec<String>]) -> (Vectoriser, Vec<Samples>) {
    let mut v = Vectoriser::new(options).unwrap();
    let samples = blocks.iter().map(|block| {
        let block: Vec<&str> = block.iter().map(String::as_str).collect();
        v.transform_block(&block).unwrap()
    });
    let samples = samples.collect();
    (v, samples)
}

proptest! {
    /// Blocks that come later, and after the first block even later documents of the same one,
    /// never change a vector.
    #[test]
    fn the_future_changes_nothing(
        past in stream(), one in stream(), other in stream(), min_documents in 0_u32..4,
    ) {
        for mut options in both() {
            options.weighting.min_documents = min_documents;
            let join = |future: &[Vec<String>]| [&past[..], future].concat();
            let (_, a) = run(options, &join(&one));
            let (_, b) = run(options, &join(&other));
            prop_assert_eq!(&a[..past.len()], &b[..past.len()]);
            // The first document of the next block, alone or in company.
            let (_, c) = run(options, &join(&[vec![one[0][0].clone()]]));
            prop_assert_eq!(a[past.len()].range(0..1), c[past.len()].range(0..1));
        }
    }

    /// A saved vectoriser goes on as the one that was saved.
    #[test]
    fn json_keeps_everything(past in stream(), future in stream(), min_documents in 0_u32..3) {
        for mut options in both() {
            options.weighting.min_documents = min_documents;
            let (mut v, _) = run(options, &past);
            let json = serde_json::to_string(&v).unwrap();
            let mut w: Vectoriser = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&v, &w);
            for block in &future {
                let block: Vec<&str> = block.iter().map(String::as_str).collect();
                prop_assert_eq!(v.transform(&block).unwrap(), w.transform(&block).unwrap());
                let (a, b) = (v.transform_block(&block).unwrap(), w.transform_block(&block).unwrap());
                prop_assert_eq!(a, b);
            }
        }
    }

    /// Hashing gives what an unlimited vocabulary gives, up to the names of the rows.
    #[test]
    fn hashing_and_growing_agree_without_collisions(blocks in stream()) {
        let (g, grown) = run(options(Vocabulary::Growing { max: 1000 }), &blocks);
        let (_, hashed) = run(options(Vocabulary::Hashing { bits: 20 }), &blocks);
        let rows: std::collections::HashSet<usize> =
            g.terms().map(|(_, t)| hash_row(t, 20)).collect();
        prop_assume!(rows.len() == g.terms().count());
        for (a, b) in grown.iter().zip(&hashed) {
            for j in 0..a.len() {
                let mut renamed: Vec<(usize, f64)> = a
                    .entries(j)
                    .map(|(row, v)| (hash_row(g.term(row).unwrap(), 20), v))
                    .collect();
                renamed.sort_by_key(|e| e.0);
                let hashed = entries(b, j);
                prop_assert_eq!(renamed.len(), hashed.len());
                for (x, y) in renamed.iter().zip(&hashed) {
                    prop_assert!(x.0 == y.0 && (x.1 - y.1).abs() < 1e-12);
                }
            }
        }
    }
}
