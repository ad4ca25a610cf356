//! The flag `--masks`.

/// Whether masks hide each agent's part of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// Agents add masks that cancel in the total
    On,
    /// Parents in the tree read the parts of the agents below them
    Off,
}

impl Switch {
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}
