//! What goes over a stream, as `mesh.proto` describes it, and how it becomes bytes: the control messages by prost's
//! derive, which needs no compiler of .proto files; a frame as bytes that are copied once on the way out and never
//! on the way in.

use bytes::Bytes;
use prost::Message as _;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::Status;

/// The path of the one method, `/package.Service/Method`.
pub const PATH: &str = "/dictmesh.v1.Mesh/Link";

/// One message of a stream.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Message {
    #[prost(oneof = "Kind", tags = "1, 2, 3")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    /// The first message of each side.
    #[prost(message, tag = "1")]
    Hello(Hello),
    /// Why the side that dialled does not go on.
    #[prost(string, tag = "2")]
    Refusal(String),
    /// An encoded frame.
    #[prost(bytes = "bytes", tag = "3")]
    Frame(Bytes),
}

/// Who speaks to whom, and what both must agree on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Hello {
    #[prost(uint32, tag = "1")]
    pub protocol: u32,
    #[prost(string, tag = "2")]
    pub run: String,
    #[prost(uint64, tag = "3")]
    pub from: u64,
    #[prost(uint64, tag = "4")]
    pub to: u64,
    #[prost(fixed64, tag = "5")]
    pub incarnation: u64,
    #[prost(uint32, tag = "6")]
    pub epoch: u32,
    #[prost(message, repeated, tag = "7")]
    pub agreed: Vec<Setting>,
}

/// A setting that all agents of a run share.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Setting {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

impl Message {
    pub fn hello(hello: Hello) -> Self {
        Message {
            kind: Some(Kind::Hello(hello)),
        }
    }

    pub fn refusal(why: String) -> Self {
        Message {
            kind: Some(Kind::Refusal(why)),
        }
    }

    pub fn frame(bytes: Bytes) -> Self {
        Message {
            kind: Some(Kind::Frame(bytes)),
        }
    }

    /// For the log: what came in place of what was expected.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Some(Kind::Hello(_)) => "a hello",
            Some(Kind::Refusal(_)) => "a refusal",
            Some(Kind::Frame(_)) => "a frame",
            None => "an empty message",
        }
    }
}

/// How messages become bytes; `largest` is that of an encoded frame.
#[derive(Clone, Copy, Debug)]
pub struct MessageCodec {
    pub largest: usize,
}

impl MessageCodec {
    /// Bytes of a message at most: a frame, or a hello, and what protobuf puts around it.
    pub fn limit(self) -> usize {
        self.largest.max(LARGEST_HELLO) + AROUND
    }
}

/// Bytes of a hello at most.
pub const LARGEST_HELLO: usize = 32 << 10;
/// A tag and a length.
const AROUND: usize = 16;

impl Codec for MessageCodec {
    type Encode = Message;
    type Decode = Message;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for MessageCodec {
    type Item = Message;
    type Error = Status;

    fn encode(&mut self, item: Message, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        // In one piece: growing would copy what is there already.
        to.reserve(item.encoded_len());
        item.encode(to).map_err(|e| Status::internal(e.to_string()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        buffers(self.largest)
    }
}

impl Decoder for MessageCodec {
    type Item = Message;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Message>, Status> {
        let message = Message::decode(from);
        message
            .map(Some)
            .map_err(|e| Status::invalid_argument(format!("no message of dictmesh: {e}")))
    }

    fn buffer_settings(&self) -> BufferSettings {
        buffers(self.largest)
    }
}

/// Room for a whole frame of usual size at once, and one frame at a time to the socket.
fn buffers(largest: usize) -> BufferSettings {
    BufferSettings::new(largest.clamp(8 << 10, 1 << 20), 32 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;

    #[test]
    fn a_frame_is_the_bytes_that_the_proto_file_promises() {
        let bytes = Message::frame(Bytes::from_static(b"abc")).encode_to_vec();
        assert_eq!(bytes, b"\x1a\x03abc"); // field 3, length-delimited
        let refusal = Message::refusal("no".into()).encode_to_vec();
        assert_eq!(refusal, b"\x12\x02no");
    }

    #[test]
    fn a_frame_comes_in_without_a_copy() {
        let sent = Message::frame(Bytes::from(vec![7; 1000])).encode_to_vec();
        let bytes = Bytes::from(BytesMut::from(&sent[..]));
        let Some(Kind::Frame(frame)) = Message::decode(bytes.clone()).unwrap().kind else {
            panic!("a frame went in");
        };
        assert!(bytes.as_ptr_range().contains(&frame.as_ptr()));
    }
}
