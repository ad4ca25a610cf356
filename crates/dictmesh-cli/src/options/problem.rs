//! The problem: residual, regularizer and set of the atoms, with their constants.

use super::names::{self, OneOf};
use super::{check_owned, Owned, Result};
use crate::commands::say;
use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::TaskSpec;
use dictmesh::Spec;
use serde::{Deserialize, Serialize};

/// A preset, and what differs from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "The problem")]
#[serde(rename_all = "kebab-case", default)]
pub struct ProblemArgs {
    /// What to solve (a row of the paper's table)
    #[arg(long, value_parser = OneOf::new(names::TASKS), value_name = "NAME")]
    pub task: Option<String>,
    /// The residual f
    #[arg(long, value_parser = OneOf::new(names::RESIDUALS), value_name = "NAME")]
    pub residual: Option<String>,
    /// The regularizer of the codes
    #[arg(long, value_parser = OneOf::new(names::REGULARIZERS), value_name = "NAME")]
    pub regularizer: Option<String>,
    /// The set of the atoms
    #[arg(long, value_parser = OneOf::new(names::SETS), value_name = "NAME")]
    pub atoms_set: Option<String>,
    /// Weight of |y|_1: more makes codes sparser
    #[arg(long, value_name = "X")]
    pub gamma: Option<f64>,
    /// Weight of |y|^2/2, above 0
    #[arg(long, value_name = "X")]
    pub delta: Option<f64>,
    /// Weight of |W|_1 on the atoms
    #[arg(long, value_name = "X")]
    pub beta: Option<f64>,
    /// Where the Huber residual turns from quadratic to linear
    #[arg(long, value_name = "X")]
    pub eta: Option<f64>,
    /// Radius of the ball residual
    #[arg(long, value_name = "X")]
    pub radius: Option<f64>,
    /// Lower end of boxed codes [default: none]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub lo: Option<f64>,
    /// Upper end of boxed codes [default: none]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub hi: Option<f64>,
}

impl ProblemArgs {
    /// A flag that was given.
    pub fn given(&self) -> Option<String> {
        let fields = serde_json::to_value(self).ok()?;
        let mut fields = fields.as_object()?.iter();
        fields
            .find(|(_, value)| !value.is_null())
            .map(|(name, _)| name.clone())
    }

    /// The preset that is named, or else `base`, with the pieces and constants given.
    pub fn task(&self, base: TaskSpec) -> Result<TaskSpec> {
        let mut task = match &self.task {
            Some(name) => TaskSpec::preset(name).map_err(say)?,
            None => base,
        };
        if let Some(name) = &self.residual {
            task.residual = names::residual(name)?;
        }
        let owned = [
            Owned("eta", self.eta.is_some(), &["huber"]),
            Owned("radius", self.radius.is_some(), &["ball"]),
        ];
        check_owned("residual", task.residual.kind(), &owned)?;
        for (name, value) in [("eta", self.eta), ("sigma", self.radius)] {
            if let Some(value) = value {
                task.residual = Spec::new(task.residual.kind()).with_number(name, value);
            }
        }
        self.change_regularizer(&mut task.common.regularizer)?;
        if let Some(name) = &self.atoms_set {
            task.common.set = Spec::new(name);
        }
        if let Some(beta) = self.beta {
            task.common.penalty = AtomPenalty::L1 { beta };
        }
        task.build().map_err(say)?;
        Ok(task)
    }

    fn change_regularizer(&self, spec: &mut Spec) -> Result<()> {
        const BOXED: &str = "boxed-elastic-net";
        let preset = |name| spec.required(name).map_err(say);
        let gamma = self.gamma.map_or_else(|| preset("gamma"), Ok)?;
        let delta = self.delta.map_or_else(|| preset("delta"), Ok)?;
        let boxed = self.lo.is_some() || self.hi.is_some();
        let name = match (self.regularizer.as_deref(), spec.kind()) {
            (Some(name), _) => name,
            (None, "non-negative-elastic-net") => "non-negative-elastic-net",
            (None, _) if boxed => BOXED,
            (None, _) => "elastic-net",
        };
        let ends = [("lo", self.lo), ("hi", self.hi)];
        let owned = ends.map(|(flag, end)| Owned(flag, end.is_some(), &[BOXED]));
        check_owned("regularizer", name, &owned)?;
        *spec = ends.into_iter().fold(
            Spec::new(name)
                .with_number("gamma", gamma)
                .with_number("delta", delta),
            |spec, (flag, end)| spec.with_some_number(flag, end),
        );
        Ok(())
    }
}
