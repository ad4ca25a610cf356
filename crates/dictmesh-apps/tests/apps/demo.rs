//! The demo finds what was planted, and its figures are those of the strategies it names.

use dictmesh::strategy::NAMES;
use dictmesh_apps::demo;

#[test]
fn every_strategy_has_a_row_and_tree_sends_the_fewest_bytes() {
    let result = demo::run(1, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let names: Vec<_> = result
        .strategies
        .iter()
        .map(|row| row.name.as_str())
        .collect();
    assert_eq!(names, NAMES);
    for row in &result.strategies {
        assert_eq!(
            row.rounds.is_some(),
            row.accuracy <= result.target,
            "{row:?}"
        );
    }
    let fewest = result
        .strategies
        .iter()
        .min_by_key(|row| row.bytes)
        .unwrap();
    assert_eq!(fewest.name, "tree");
    assert!(fewest.rounds.is_some(), "{fewest:?}");
    assert!(result.cost_after < 0.8 * result.cost_before);
}
