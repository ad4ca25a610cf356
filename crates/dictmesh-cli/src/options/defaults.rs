//! The defaults that help prints, as the library has them.

use super::{names, BATCH, PASSES, SEED};
use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::TaskSpec;
use dictmesh::{strategy as strategies, Spec, Stopping};
use dictmesh_apps::novelty::Novelty;

/// The defaults of a command's flags, by their identifiers.
pub fn defaults(command: &str) -> Vec<(&'static str, String)> {
    let mut defaults = general();
    let own = match command {
        "infer" | "score" => ["strategy", "tolerance"]
            .map(|id| (id, "as the model was learned".into()))
            .to_vec(),
        "novelty" => novelty(),
        "documents" => novelty(),
        _ => Vec::new(),
    };
    defaults.retain(|(id, _)| own.iter().all(|(other, _)| other != id));
    defaults.extend(own);
    defaults
}

/// The defaults of `novelty` that differ.
fn novelty() -> Vec<(&'static str, String)> {
    let (usual, paper) = (Novelty::default(), Novelty::paper());
    let stopping = |stopping: &Stopping| match stopping.tolerance {
        Some(tolerance) => format!("{tolerance:e}"),
        None => "none".into(),
    };
    let both =
        |of: &dyn Fn(&Novelty) -> String| format!("{}; {} with --paper", of(&usual), of(&paper));
    vec![
        ("task", "nmf".into()),
        ("gamma", Novelty::GAMMA.to_string()),
        ("delta", Novelty::DELTA.to_string()),
        ("beta", "0".into()),
        ("method", usual.method.name().into()),
        ("strategy", both(&|n| n.strategy.name())),
        ("tolerance", both(&|n| stopping(&n.stopping))),
        ("rounds", both(&|n| n.stopping.rounds.to_string())),
    ]
}

/// The defaults of `learn`.
fn general() -> Vec<(&'static str, String)> {
    let preset = |name: &str| TaskSpec::preset(name).ok();
    // "0.1 in sparse-svd, 0.5 in biclustering": tasks with the same value together.
    let by_task = |value: &dyn Fn(&TaskSpec) -> Option<String>| {
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for name in names::TASKS {
            let Some(value) = preset(name).and_then(|task| value(&task)) else {
                continue;
            };
            match groups.iter_mut().find(|group| group.0 == value) {
                Some(group) => group.1.push(name),
                None => groups.push((value, vec![name])),
            }
        }
        let words = groups
            .iter()
            .map(|(value, tasks)| format!("{value} in {}", tasks.join(" and ")));
        words.collect::<Vec<_>>().join(", ")
    };
    let constant = |name: &'static str| {
        by_task(&|task: &TaskSpec| {
            let value: f64 = task.common.regularizer.required(name).ok()?;
            Some(value.to_string())
        })
    };
    let piece = |of: &dyn Fn(&TaskSpec) -> &Spec| by_task(&|task| Some(of(task).kind().into()));
    let penalty = |task: &TaskSpec| match task.common.penalty {
        AtomPenalty::L1 { beta } => Some(beta.to_string()),
        _ => Some("0".into()),
    };
    let residual = |name: &str, constant: &'static str| {
        let spec = names::residual(name)
            .ok()
            .and_then(|spec| spec.required(constant).ok());
        spec.map_or(String::new(), |value| value.to_string())
    };
    let tolerance = dictmesh::Stopping::default().tolerance;
    vec![
        ("task", "sparse-svd; nmf for text and counts".into()),
        (
            "method",
            "exact; mesh with a strategy, one of its constants, --tolerance or --rounds".into(),
        ),
        ("residual", piece(&|task| &task.residual)),
        ("regularizer", piece(&|task| &task.common.regularizer)),
        ("atoms_set", piece(&|task| &task.common.set)),
        ("gamma", constant("gamma")),
        ("delta", constant("delta")),
        ("beta", by_task(&penalty)),
        ("eta", residual("huber", "eta")),
        ("radius", residual("ball", "sigma")),
        ("strategy", strategies::DEFAULT.into()),
        ("weights", names::WEIGHTS[0].into()),
        (
            "bits",
            format!(
                "{} with --strategy tree, else doubles",
                strategies::tree::DEFAULT_BITS
            ),
        ),
        ("latency", strategies::auto::DEFAULT_LATENCY.to_string()),
        (
            "bandwidth",
            format!("{:e}", strategies::auto::DEFAULT_BANDWIDTH),
        ),
        (
            "tolerance",
            tolerance.map_or(String::new(), |value| format!("{value:e}")),
        ),
        ("batch", BATCH.to_string()),
        ("passes", PASSES.to_string()),
        ("seed", SEED.to_string()),
    ]
}
