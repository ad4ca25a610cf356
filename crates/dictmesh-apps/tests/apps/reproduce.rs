//! The paper's experiments on generated data with a known answer.

use dictmesh::random::{gaussian, stream};
use dictmesh::{Error, Matrix};
use dictmesh_apps::progress::silent;
use dictmesh_apps::reproduce::{
    generated_documents, grey_square, BiclusteringExperiment, DenoisingExperiment,
    DocumentsExperiment, DocumentsMethod, LearningCurveExperiment,
};
use dictmesh_apps::synthetic::{genes, news, scene, DOCUMENTS};
use dictmesh_data::text::{TfIdf, Weighting};
use dictmesh_data::Image;

/// 24 patients of three classes: each class has high values in 40 of 240 genes.
#[test]
fn classes_with_their_own_genes_are_separated_by_both_methods() {
    let noise = gaussian(24, 240, &mut stream(4, 0));
    let x = Matrix::from_fn(24, 240, |i, g| {
        noise.get(i, g) + if g / 40 == i / 8 { 4.0 } else { 0.0 }
    });
    let labels: Vec<String> = (0..24).map(|i| format!("class {}", i / 8)).collect();
    let found = BiclusteringExperiment { seeds: 2 }.run(&x, &labels, &mut silent);
    let found = found.unwrap();
    assert_eq!((found.patients, found.genes), (24, 240));
    let methods: Vec<_> = found.methods.iter().map(|m| (m.method, m.layers)).collect();
    let expected = [("diffusion", 5), ("ssvd", 5), ("diffusion", 3), ("ssvd", 3)];
    assert_eq!(methods, expected);
    for method in &found.methods {
        assert_eq!(method.misclassified, [0, 0], "{method:?}");
    }
    assert_eq!(found.first.unwrap().1.class, labels);
    let none = BiclusteringExperiment { seeds: 0 }.run(&x, &labels, &mut silent);
    assert!(none.is_err());
}

/// Outside span(W) the error of the fully connected mesh falls by 1 - mu eta/N = .99 a round: 40 dB
/// after 458.
#[test]
fn the_learning_curve_has_the_rate_on_paper() {
    let counts = generated_documents(40, 0).unwrap();
    let mut tfidf = TfIdf::new(counts.rows(), Weighting::default());
    let x = tfidf.transform_block(&counts).unwrap();
    let experiment = LearningCurveExperiment {
        samples: 2,
        rounds: 600,
        ..LearningCurveExperiment::default()
    };
    let found = experiment.run(&x, &mut silent).unwrap();
    let to_40 = found.cases[0].curve.nu[1].unwrap();
    assert!((440..480).contains(&to_40), "{to_40}");
    assert!(found.cases[0].is_y_first());
    let after = found.cases[0].at_paper_rounds;
    assert!(
        (40.0..50.0).contains(&after.nu) && after.round == 500,
        "{after:?}"
    );
    assert!(4 * found.cases[2].curve.both()[1].unwrap() < to_40);
    let many = LearningCurveExperiment {
        samples: 41,
        ..experiment
    };
    let refused = many.run(&x, &mut silent).unwrap_err().to_string();
    assert!(refused.contains("must be 1 to 40"), "{refused}");
}

/// Few agents and small patches, and the picture gains; one agent with all atoms agrees.
#[test]
fn agents_denoise_as_one_agent_does() {
    let clean = scene(40);
    let experiment = DenoisingExperiment {
        agents: 12,
        patch: 6,
        ..DenoisingExperiment::default()
    };
    let found = experiment.run(&clean, &mut silent).unwrap();
    assert!((found.noisy.psnr - 20.3).abs() < 0.7, "{found:?}");
    assert!(found.mesh.psnr > found.noisy.psnr + 2.0, "{:?}", found.mesh);
    assert!((found.mesh.psnr - found.centralized.psnr).abs() < 0.5);
    let pictures = found.pictures.unwrap();
    assert_eq!((pictures.mesh.agents(), pictures.by_mesh.width()), (12, 40));
    let wrong = DenoisingExperiment {
        sigma: 0.0,
        ..experiment
    };
    let wrong = wrong.run(&clean, &mut silent);
    assert!(matches!(wrong, Err(Error::Parameter { name: "sigma", .. })));
}

#[test]
fn a_square_is_cut_from_the_middle_in_grey() {
    let plane = |shift: f64| Matrix::from_fn(4, 6, |i, j| (10 * i + j) as f64 + shift);
    let image = Image {
        planes: vec![plane(0.0), plane(3.0), plane(6.0)],
        alpha: None,
        bits: 8,
    };
    let square = grey_square(&image, 2);
    assert_eq!(square.planes[0].as_slice(), [15.0, 25.0, 16.0, 26.0]);
    assert_eq!(grey_square(&image, 100).width(), 4);
}

#[test]
fn generated_data_have_their_structure_and_follow_the_seed() {
    let all = news(1);
    assert_eq!(all.len(), DOCUMENTS);
    let is_late = |(topic, _): &(&str, String)| *topic == "space";
    assert!(!all[..DOCUMENTS * 3 / 4].iter().any(is_late));
    assert!(all.iter().any(is_late));
    assert_eq!(news(1), all);
    assert_ne!(news(2), all);
    let table = genes(1);
    assert_eq!(table.lines().count(), 1 + 48);
    assert!(table.lines().all(|line| line.split(',').count() == 241));
}

/// 30 documents a block: topic 3 appears in block 1 and topic 4 in block 2, each with terms of its own.
#[test]
fn new_topics_score_above_known_ones() {
    let topic = |j: usize| match (j / 30, j % 5) {
        (1.., 0) => 3,
        (2.., 1) => 4,
        (_, at) => at % 3,
    };
    let counts = Matrix::from_fn(60, 90, |i, j| {
        let own = i / 12 == topic(j);
        let some = (i * 7 + j * 11) % 3 == 0;
        f64::from(u8::from(own && some) * 3 + u8::from((i + j) % 17 == 0))
    });
    let counts = dictmesh::Samples::dense(counts).unwrap();
    let topics: Vec<String> = (0..90).map(|j| format!("topic {}", topic(j))).collect();
    for (method, least) in [
        (DocumentsMethod::Mesh(Box::default()), 0.85),
        (DocumentsMethod::L1, 0.6),
    ] {
        let experiment = DocumentsExperiment {
            method,
            block: 30,
            seeds: 2,
            ..DocumentsExperiment::default()
        };
        let found = experiment.run(&counts, &topics, &mut silent).unwrap();
        let steps: Vec<usize> = found.row.auc.iter().map(|a| a.step).collect();
        assert_eq!(steps, [1, 2]);
        assert!(found.row.mean > least, "{:?}", found.row);
        assert_eq!((found.seeds.len(), found.curves.len()), (2, 2));
        assert_eq!(found.paper[2].row.auc[1].auc, 0.93);
    }
    let same = vec!["one".to_string(); 90];
    let experiment = DocumentsExperiment {
        block: 30,
        ..DocumentsExperiment::default()
    };
    let refused = experiment.run(&counts, &same, &mut silent).unwrap_err();
    assert!(
        refused.to_string().contains("an AUC at step 1"),
        "{refused}"
    );
    let few = DocumentsExperiment {
        block: 90,
        ..experiment
    };
    assert!(few.run(&counts, &topics, &mut silent).is_err());
}
