//! Where a model codes samples: one choice for all commands that use a model.

use super::names::{OneOf, STRATEGIES};
use super::Options;
use crate::commands::{fail, say, Result};
use dictmesh::Mesh;
use dictmesh_apps::coding::Method;

/// The method, and the strategy of the mesh.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MethodArgs {
    /// exact: with all atoms in one place, certified; mesh: by the agents, with --strategy or the
    /// model's own [default: exact; mesh with --strategy, --bits, --latency or --bandwidth]
    #[arg(long, value_parser = OneOf::new(["exact", "mesh"]), value_name = "NAME", help_heading = "Inference")]
    pub method: Option<String>,
    /// How agents find the dual vectors [default: as the model was learned]
    #[arg(long, value_parser = OneOf::new(STRATEGIES), value_name = "NAME", help_heading = "Inference")]
    pub strategy: Option<String>,
    /// Bits of a number in a message of the mesh, 4 to 16 [default: 8 with --strategy tree, else doubles]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub bits: Option<i64>,
    /// Seconds of one hop between agents, for --strategy auto [default: 0.0005]
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub latency: Option<f64>,
    /// Bytes per second of an agent's link, for --strategy auto [default: 12.5e6, 100 Mbit/s]
    #[arg(
        long,
        value_name = "BYTES",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub bandwidth: Option<f64>,
}

impl MethodArgs {
    /// The method; the mesh gets the strategy that was asked for.
    pub fn apply(&self, mesh: &mut Mesh) -> Result<Method> {
        let of_the_mesh = [
            ("strategy", self.strategy.clone()),
            ("bits", self.bits.map(|v| v.to_string())),
            ("latency", self.latency.map(|v| v.to_string())),
            ("bandwidth", self.bandwidth.map(|v| v.to_string())),
        ];
        let given = of_the_mesh
            .into_iter()
            .find_map(|(flag, value)| Some((flag, value?)));
        match (self.method.as_deref(), given) {
            (Some("exact"), Some((flag, value))) => fail(format!(
                "--{flag} {value}: --method exact has no messages between agents; give --method mesh, or leave \
                 --{flag} out"
            )),
            (None | Some("exact"), None) => Ok(Method::Exact),
            (_, None) => Ok(Method::Mesh),
            (_, Some(_)) => {
                let options = Options {
                    strategy: self.strategy.clone(),
                    bits: self.bits,
                    latency: self.latency,
                    bandwidth: self.bandwidth,
                    ..Options::default()
                };
                mesh.set_strategy(options.strategy()?).map_err(say)?;
                Ok(Method::Mesh)
            }
        }
    }
}
