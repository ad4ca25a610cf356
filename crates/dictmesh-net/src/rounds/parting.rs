//! What is said to a neighbour that goes for good.

use super::Rounds;
use crate::codec;
use crate::exchange::{Frame, Tag};
use crate::wire::Wire;
use bytes::BytesMut;
use dictmesh::AgentId;

impl<W: Wire> Rounds<W> {
    /// Forgets this neighbour and tells it so: it stays until its neighbours have let it go. If the word is lost, it goes
    /// all the same, a little later.
    pub(super) fn let_go(&mut self, neighbour: AgentId) {
        let known = self.edges.remove(&neighbour).is_some();
        let epoch = self.newest.map(|tag| tag.epoch);
        if let Some(epoch) = epoch.filter(|_| known) {
            let word = Frame {
                tag: Tag::going(epoch),
                ..Frame::default()
            };
            let bytes = codec::encode(&word, self.options.incarnation, false, BytesMut::new());
            self.wire.send(neighbour, bytes);
        }
        if known {
            self.wire.forget(neighbour);
        }
    }
}
