//! The content of a broadcast for an observer of the messages, such as an audit.

use super::order::{power, Order};
use super::DIRECTION_BITS;

/// What the root asks of all agents.
#[derive(Clone, Debug, PartialEq)]
pub enum Broadcast {
    /// Send the differences of the parts, in these units of each sample.
    Evaluate(Vec<f64>),
    /// The round ends. `true` stands for a sample that ends with it.
    Next(Vec<bool>),
    /// Send the terms of certificates of infeasibility.
    Prove,
}

impl Broadcast {
    /// Reads a broadcast for `samples` samples of `rows` rows; `None` if the bytes are no such.
    pub fn read(bytes: &[u8], samples: usize, rows: usize) -> Option<Self> {
        let order = Order::decode(bytes, samples, rows, DIRECTION_BITS)?;
        Some(match order {
            Order::Evaluate(each) => {
                Broadcast::Evaluate(each.iter().map(|scales| power(scales.part)).collect())
            }
            Order::Step(each) => {
                Broadcast::Evaluate(each.iter().map(|(_, scales)| power(scales.part)).collect())
            }
            Order::Next { ended, .. } => {
                Broadcast::Next(ended.iter().map(Option::is_some).collect())
            }
            Order::Prove(_) => Broadcast::Prove,
        })
    }
}
