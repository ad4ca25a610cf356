//! Words and numbers for logs and messages: what people read has no trace of the language it was written in.

use serde::Serialize;
use std::fmt::Display;
use toml::Value;

/// Numbers of agents or samples with commas between them.
pub fn listed<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

/// A count with its noun: `1 atom`, `2 atoms`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// These agents: `agent 2`, or `agents 0, 2`.
pub fn agents<T: Display>(ids: &[T]) -> String {
    let word = if ids.len() == 1 { "agent" } else { "agents" };
    format!("{word} {}", listed(ids))
}

/// A choice as people write it: its kind, then its constants, as in `relaxed-admm (rho 1.5, alpha 0.9)`. Numbers are
/// exact, so that different choices have different words.
pub fn plain(choice: &impl Serialize) -> String {
    words(&value(choice))
}

/// A choice as settings files have it.
pub fn value(choice: &impl Serialize) -> Value {
    // Nothing was chosen, or what TOML has no word for.
    Value::try_from(choice).unwrap_or_else(|_| Value::String("none".into()))
}

/// The single values of a choice with their names, as in `strategy` relaxed-admm, `strategy.rho` 1.5.
pub fn leaves(name: &str, value: &Value) -> Vec<(String, String)> {
    let Value::Table(table) = value else {
        return vec![(name.to_string(), words(value))];
    };
    // Its kind before its constants, which mean nothing without.
    let kind = table.get("kind").into_iter();
    let kind = kind.flat_map(|value| leaves(name, value));
    let rest = table.iter().filter(|(key, _)| *key != "kind");
    let rest = rest.flat_map(|(key, value)| leaves(&format!("{name}.{key}"), value));
    kind.chain(rest).collect()
}

/// A value in words, see [`plain`].
pub fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => listed(&items.iter().map(words).collect::<Vec<_>>()),
        Value::Table(table) => {
            let rest = table.iter().filter(|(name, _)| *name != "kind");
            let rest: Vec<String> = rest.map(|(k, v)| format!("{k} {}", words(v))).collect();
            match (table.get("kind"), rest.is_empty()) {
                (Some(kind), true) => words(kind),
                (Some(kind), false) => format!("{} ({})", words(kind), rest.join(", ")),
                (None, _) => rest.join(", "),
            }
        }
        // Its exponent is shown where a person would write one.
        Value::Float(v) if *v != 0.0 && v.abs() < 1e-3 => format!("{v:e}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::problem::TaskSpec;
    use dictmesh::Spec;
    use dictmesh::{Stopping, Update};

    #[test]
    fn choices_are_words() {
        let strategy = Spec::new("relaxed-admm").with("rho", 1.5);
        let said = plain(&strategy);
        assert!(
            said.starts_with("relaxed-admm (") && said.contains("rho 1.5"),
            "{said}"
        );
        assert_eq!(plain(&Stopping::rounds(7)), "rounds 7");
        let said = plain(&Stopping::tolerance(1e-6));
        assert!(said.contains("tolerance 1e-6"), "{said}");
        assert_eq!(
            plain(&Some(Update::Constant { mu_w: 0.05 })),
            "constant (mu_w 0.05)"
        );
        assert_eq!(plain(&None::<u64>), "none");
        let said = plain(&TaskSpec::nmf(0.05, 0.1).common);
        assert!(
            said.contains("gamma 0.05") && !said.contains(['{', '"']),
            "{said}"
        );
        assert_eq!(listed(&[1, 3]), "1, 3");
        let single = leaves("task", &value(&TaskSpec::nmf(0.05, 0.1).common.regularizer));
        let single: Vec<String> = single.iter().map(|(n, v)| format!("{n} {v}")).collect();
        let expected = [
            "task non-negative-elastic-net",
            "task.delta 0.1",
            "task.gamma 0.05",
        ];
        assert_eq!(single, expected);
        assert_eq!([agents(&[2]), agents(&[0, 2])], ["agent 2", "agents 0, 2"]);
    }
}
