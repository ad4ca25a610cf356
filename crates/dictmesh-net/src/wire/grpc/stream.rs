//! Messages over one HTTP/2 stream. What goes out is not copied; what comes in is only copied if it comes in parts.

use super::message::{Message, Piece, BEFORE};
use super::status::{Code, Status};
use bytes::{Bytes, BytesMut};
use h2::{RecvStream, SendStream};
use prost::Message as _;
use std::future::poll_fn;
use tokio::sync::mpsc;

/// What the other side says.
pub struct Incoming {
    stream: RecvStream,
    /// Bytes of a message at most.
    limit: usize,
    /// What came and is no message yet.
    held: Bytes,
}

impl Incoming {
    pub fn new(stream: RecvStream, limit: usize) -> Self {
        Incoming {
            stream,
            limit,
            held: Bytes::new(),
        }
    }

    /// The next message; `None` at the end.
    pub async fn message(&mut self) -> Result<Option<Message>, Status> {
        loop {
            if let Some(bytes) = self.whole()? {
                let wrong = |e| format!("no message of dictmesh: {e}");
                let message = Message::decode(bytes).map_err(wrong);
                let message = message.map_err(|why| Status::new(Code::InvalidArgument, why));
                return message.map(Some);
            }
            match self.stream.data().await {
                Some(Ok(more)) => {
                    // The bound is the number of messages that wait for the agent: the window may open again.
                    let _ = self.stream.flow_control().release_capacity(more.len());
                    self.hold(more);
                }
                Some(Err(e)) => return Err(Status::broken(&e)),
                None => return self.end().await,
            }
        }
    }

    /// The bytes of the first message, if they are all there.
    fn whole(&mut self) -> Result<Option<Bytes>, Status> {
        let Some((before, _)) = self.held.split_first_chunk::<BEFORE>() else {
            return Ok(None);
        };
        let [compressed, length @ ..] = *before;
        let length = u32::from_be_bytes(length) as usize;
        if compressed != 0 {
            let why = "its messages are compressed, which this agent did not offer";
            return Err(Status::new(Code::Unimplemented, why));
        }
        if length > self.limit {
            let most = self.limit;
            let why =
                format!("its message of {length} bytes is too large; at most {most} are taken");
            return Err(Status::new(Code::ResourceExhausted, why));
        }
        if self.held.len() < BEFORE + length {
            return Ok(None);
        }
        let mut message = self.held.split_to(BEFORE + length);
        Ok(Some(message.split_off(BEFORE)))
    }

    fn hold(&mut self, more: Bytes) {
        if self.held.is_empty() {
            self.held = more;
            return;
        }
        let held = std::mem::take(&mut self.held).try_into_mut();
        let mut held = held.unwrap_or_else(|held| BytesMut::from(&held[..]));
        // It doubles, so a length that is only claimed costs no memory.
        held.extend_from_slice(&more);
        self.held = held.freeze();
    }

    async fn end(&mut self) -> Result<Option<Message>, Status> {
        if !self.held.is_empty() {
            let why = "it ended in the middle of a message";
            return Err(Status::new(Code::InvalidArgument, why));
        }
        let trailers = self.stream.trailers().await;
        let trailers = trailers.map_err(|e| Status::broken(&e))?;
        match trailers.and_then(|trailers| Status::of(&trailers)) {
            Some(status) if status.code != Code::Ok => Err(status),
            _ => Ok(None),
        }
    }
}

/// How this side ends the stream.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// The side that dialled just ends,
    Silent,
    /// the other one says that all went well.
    Status,
}

/// Sends messages as they come until no more will, or the stream breaks.
pub async fn send(
    mut stream: SendStream<Piece>,
    mut messages: mpsc::Receiver<Piece>,
    end: End,
) -> Result<(), h2::Error> {
    while let Some(message) = messages.recv().await {
        if !room(&mut stream).await? {
            return Ok(());
        }
        stream.send_data(message, false)?;
    }
    match end {
        End::Silent => stream.send_data(Piece::default(), true),
        End::Status => stream.send_trailers(Status::new(Code::Ok, "").headers()),
    }
}

/// Waits until the other side's window and our own buffer have room; for how much does not matter: h2 cuts a
/// message into what fits. `false` when the stream is over.
async fn room(stream: &mut SendStream<Piece>) -> Result<bool, h2::Error> {
    stream.reserve_capacity(1);
    while stream.capacity() == 0 {
        match poll_fn(|cx| stream.poll_capacity(cx)).await {
            Some(room) => room?,
            None => return Ok(false),
        };
    }
    Ok(true)
}
