//! The content of a broadcast for an observer of the messages, such as an audit.

use super::order::{decode, power, Task};
use super::DIRECTION_BITS;

/// What the root asks of all agents for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Broadcast {
    /// The sample ends.
    End,
    /// Send the difference of the part, in this unit.
    Part(f64),
    /// Send slopes or the terms of a certificate, without a part.
    Other,
}

impl Broadcast {
    /// Reads a broadcast for `samples` samples of `rows` rows; `None` if the bytes are no such.
    pub fn read(bytes: &[u8], samples: usize, rows: usize) -> Option<Vec<Self>> {
        let tasks = decode(bytes, samples, rows, DIRECTION_BITS)?;
        let each = tasks.iter().map(|task| match (task, task.scales()) {
            (Task::End(_), _) => Broadcast::End,
            (_, Some(scales)) => Broadcast::Part(power(scales.part)),
            (_, None) => Broadcast::Other,
        });
        Some(each.collect())
    }
}
