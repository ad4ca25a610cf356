//! The objective of a task as text.

use super::atoms::AtomPenalty;
use super::task::TaskSpec;
use crate::spec::Spec;

impl TaskSpec {
    /// What is minimised over the codes and the atoms, with its constants, as a line of text.
    pub fn objective(&self) -> String {
        let number = |spec: &Spec, name| spec.number(name).ok().flatten();
        let residual = match self.residual.kind() {
            "squared-l2" => "1/2 |x - W y|_2^2".to_string(),
            "huber" => {
                let eta = number(&self.residual, "eta").unwrap_or(f64::NAN);
                format!(
                    "sum over m of H(x_m - (W y)_m), H(u) = u^2 / {} up to |u| = {eta} and |u| - {} beyond,",
                    2.0 * eta,
                    eta / 2.0
                )
            }
            "l1" => "|x - W y|_1".into(),
            "ball" => {
                let sigma = number(&self.residual, "sigma").unwrap_or(f64::NAN);
                format!("[|x - W y|_2 <= {sigma}]")
            }
            "equality" => "[W y = x]".into(),
            _ => format!("f(x - W y), f = {},", self.residual),
        };
        let h = &self.common.regularizer;
        let (gamma, delta) = (number(h, "gamma"), number(h, "delta"));
        let range = match h.kind() {
            "non-negative-elastic-net" => " >= 0".into(),
            "boxed-elastic-net" => {
                let end = |name, none: &str| number(h, name).map_or(none.into(), |v| v.to_string());
                let (lo, hi): (String, String) = (end("lo", "-inf"), end("hi", "inf"));
                format!(" in [{lo}, {hi}]")
            }
            _ => String::new(),
        };
        let net = match (gamma, delta) {
            (Some(gamma), Some(delta)) if !h.kind().starts_with("group") => {
                format!("{gamma} |y|_1 + {delta}/2 |y|_2^2")
            }
            _ => format!("h(y), h = {h}"),
        };
        let penalty = match self.common.penalty {
            AtomPenalty::None => String::new(),
            AtomPenalty::L1 { beta } => format!(" + {beta} |W|_1"),
        };
        let set = match self.common.set.kind() {
            "unit-ball" => "|w_q|_2 <= 1".to_string(),
            "non-negative-unit-ball" => "w_q >= 0, |w_q|_2 <= 1".to_string(),
            "unit-l1-ball" => "|w_q|_1 <= 1".to_string(),
            "non-negative-unit-l1-ball" => "w_q >= 0, |w_q|_1 <= 1".to_string(),
            _ => format!("w_q in {}", self.common.set),
        };
        format!(
            "mean over samples x of [min over y{range} of {residual} + {net}]\
             {penalty}, over atoms with {set}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objective_names_its_constants() {
        let said = TaskSpec::biclustering(0.5, 0.25, 0.125).objective();
        for words in [
            "1/2 |x - W y|_2^2",
            "0.5 |y|_1",
            "0.25/2 |y|",
            "0.125 |W|_1",
            "|w_q|_2 <= 1",
        ] {
            assert!(said.contains(words), "{said}");
        }
        let said = TaskSpec::nmf_huber(0.5, 0.25, 0.2).objective();
        assert!(
            said.contains("y >= 0") && said.contains("u^2 / 0.4"),
            "{said}"
        );
    }
}
