//! What a run learned, batch by batch.

use dictmesh::mesh::Event;
use dictmesh::Stop;

/// The batches of a run.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    /// The mean cost of a sample in each batch.
    pub costs: Vec<f64>,
    /// Samples of these data that were learned before, where a run goes on.
    pub from: usize,
    /// Samples learned at the end of each batch, those before included.
    pub ends: Vec<usize>,
    /// The mean number of entries of a code that are not zero in each batch.
    pub entries: Vec<f64>,
    /// The last batch.
    pub last: Option<Event>,
    /// Batches that ended at the limit of rounds.
    pub at_limit: usize,
    /// Rounds of all batches.
    pub rounds: usize,
    /// Bytes of the messages between agents.
    pub bytes: u64,
    /// Whether the run was stopped before all passes were done.
    pub interrupted: bool,
}

impl Learned {
    /// Nothing yet, after this many samples of the data.
    pub fn from(from: usize) -> Self {
        Learned {
            from,
            ..Learned::default()
        }
    }

    /// Adds a batch.
    pub fn add(&mut self, event: &Event) {
        self.costs.push(event.cost);
        self.entries.push(event.sparsity);
        let end = self.ends.last().copied().unwrap_or(self.from);
        self.ends.push(end + event.batch);
        self.rounds += event.rounds;
        self.bytes += event.bytes;
        self.last = Some(*event);
        self.at_limit += usize::from(event.stop == Stop::RoundLimit);
    }

    /// The mean cost of a sample, from batch number `first` on.
    pub fn mean_cost(&self, first: usize) -> f64 {
        let batches = self.sizes().zip(&self.costs).skip(first);
        let (sum, samples) = batches.fold((0.0, 0), |(sum, samples), (size, cost)| {
            (sum + cost * size as f64, samples + size)
        });
        sum / samples as f64
    }

    /// The samples of each batch.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = std::iter::once(&self.from).chain(&self.ends);
        let each = starts.zip(&self.ends);
        // Agents may have gone back to before the sample that they first agreed on.
        each.map(|(start, end)| end.saturating_sub(*start))
    }

    /// The mean cost over the first and over the last n samples of this run, and n: a tenth of all, but at least
    /// three batches, if the run has twice as many.
    pub fn first_and_last(&self) -> (f64, f64, usize) {
        let batches: Vec<(usize, f64)> = self.sizes().zip(self.costs.iter().copied()).collect();
        let all: usize = batches.iter().map(|batch| batch.0).sum();
        let largest = batches.iter().map(|batch| batch.0).max().unwrap_or(0);
        let few = match batches.len() {
            0 | 1 => all,
            _ => (all / 10).max(3 * largest).min(all / 2),
        };
        let mean = |batches: &mut dyn Iterator<Item = &(usize, f64)>| {
            let (mut left, mut sum) = (few, 0.0);
            for (size, cost) in batches {
                let taken = left.min(*size);
                left -= taken;
                // A batch of which nothing is taken may have any cost.
                sum += if taken > 0 { taken as f64 * cost } else { 0.0 };
            }
            sum / few.max(1) as f64
        };
        let first = mean(&mut batches.iter());
        (first, mean(&mut batches.iter().rev()), few)
    }
}
