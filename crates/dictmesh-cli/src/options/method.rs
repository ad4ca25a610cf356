//! Where a model codes samples: one choice for all commands that use a model.

use super::names::OneOf;
use super::{Result, StoppingArgs, StrategyArgs};
use crate::commands::{fail, say};
use dictmesh::Mesh;
use dictmesh_apps::coding::Method;

/// The flag of a method.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MethodName {
    /// exact, with all atoms in one place and certified, or mesh, by the agents; --strategy is theirs
    #[arg(long, value_parser = OneOf::new(["exact", "mesh"]), value_name = "NAME", help_heading = "Inference")]
    pub method: Option<String>,
}

impl MethodName {
    /// The method, if one is given.
    pub fn get(&self) -> Option<Method> {
        self.method.as_deref().map(|name| match name {
            "mesh" => Method::Mesh,
            _ => Method::Exact,
        })
    }
}

/// The method, and the strategy and the rounds of the mesh.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MethodArgs {
    #[command(flatten)]
    pub method: MethodName,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    #[command(flatten)]
    pub stopping: StoppingArgs,
}

impl MethodArgs {
    /// The method; the mesh gets the strategy and the end of rounds that were asked for.
    pub fn apply(&self, mesh: &mut Mesh) -> Result<Method> {
        let given = self.strategy.given().or_else(|| self.stopping.given());
        match (self.method.get(), given) {
            (Some(Method::Exact), Some((flag, value))) => fail(format!(
                "--{flag} {value}: --method exact has no messages between agents; give --method mesh, or leave \
                 --{flag} out"
            )),
            (method, None) => Ok(method.unwrap_or(Method::Exact)),
            (_, Some(_)) => {
                if self.strategy.given().is_some() {
                    mesh.set_strategy(self.strategy.build()?).map_err(say)?;
                }
                let stopping = self.stopping.or(mesh.stopping());
                mesh.set_stopping(stopping).map_err(say)?;
                Ok(Method::Mesh)
            }
        }
    }
}
