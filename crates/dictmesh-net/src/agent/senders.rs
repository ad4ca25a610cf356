//! The senders of an agent by a rule, and the sum over them.

use dictmesh::network::Order;
use dictmesh::AgentId;

/// The senders of an agent with their weights. Agents are numbered by their place among all
/// members, as in one process: the sum is added up in the same order.
pub(super) struct Senders {
    /// (place, a_lk), rising.
    weights: Vec<(usize, f64)>,
    /// The place of the agent itself.
    own: usize,
    agents: usize,
    order: Order,
}

impl Senders {
    /// `ids` are all members, rising; `weights` (l, a_lk) of the senders of agent `id`, rising.
    pub fn new(id: AgentId, ids: &[AgentId], weights: &[(AgentId, f64)]) -> Self {
        let place = |l: &AgentId| ids.binary_search(l).ok();
        let weights: Vec<(usize, f64)> = (weights.iter())
            .filter_map(|(l, a)| Some((place(l)?, *a)))
            .collect();
        let (own, agents) = (place(&id).unwrap_or(ids.len()), ids.len());
        Senders {
            order: Order::of(own, agents, &weights),
            weights,
            own,
            agents,
        }
    }

    /// The weight of the agent itself and of another sender; 0 if there is none.
    pub fn own_and_other(&self) -> (f64, f64) {
        let of = |own: bool| (self.weights.iter()).find(|(l, _)| (*l == self.own) == own);
        let [own, other] = [true, false].map(|own| of(own).map_or(0.0, |(_, a)| *a));
        (own, other)
    }

    /// sum_l a_lk psi_l; `own` is the agent's psi, and `psi_of` that of a neighbour.
    pub fn combine<'a>(
        &self,
        members: &[(AgentId, bool)],
        own: &'a [f64],
        psi_of: impl Fn(AgentId) -> Option<&'a [f64]> + Copy,
        sum: &mut [f64],
    ) {
        let part = |place: usize| match place == self.own {
            true => own,
            // Every sender is a neighbour.
            false => psi_of(members[place].0).unwrap_or(own),
        };
        (self.order).combine(self.own, self.agents, &self.weights, part, sum);
    }
}
