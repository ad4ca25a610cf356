//! An agent that somebody else wrote: by the words of `mesh.proto`, over another implementation of gRPC (tonic) with its
//! usual settings, so frames come in many small parts.

use crate::common::*;
use bytes::Bytes;
use dictmesh_net::grpc::GrpcWire;
use dictmesh_net::Wire;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct Said {
    #[prost(oneof = "What", tags = "1, 2, 3")]
    what: Option<What>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum What {
    #[prost(message, tag = "1")]
    Hello(Hello),
    #[prost(string, tag = "2")]
    Refusal(String),
    #[prost(bytes = "vec", tag = "3")]
    Frame(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Hello {
    #[prost(uint32, tag = "1")]
    protocol: u32,
    #[prost(string, tag = "2")]
    run: String,
    #[prost(uint64, tag = "3")]
    from: u64,
    #[prost(uint64, tag = "4")]
    to: u64,
    #[prost(fixed64, tag = "5")]
    incarnation: u64,
    #[prost(uint32, tag = "6")]
    epoch: u32,
    #[prost(message, repeated, tag = "7")]
    agreed: Vec<Setting>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Setting {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

fn said(what: What) -> Said {
    Said { what: Some(what) }
}

/// What agent 0 of this run says to agent 1.
fn hello(run: &str) -> Said {
    said(What::Hello(words(run)))
}

fn words(run: &str) -> Hello {
    let setting = |(name, value): (&str, &str)| Setting {
        name: name.into(),
        value: value.into(),
    };
    Hello {
        protocol: 3,
        run: run.into(),
        from: 0,
        to: 1,
        incarnation: 42,
        epoch: 3,
        agreed: [("batch", "16"), ("M", "100")].map(setting).into(),
    }
}

/// A runtime whose tasks run on a thread of their own.
fn background() -> Arc<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = Arc::new(runtime.unwrap());
    let driven = Arc::clone(&runtime);
    std::thread::spawn(move || driven.block_on(std::future::pending::<()>()));
    runtime
}

async fn link(
    address: SocketAddr,
    first: Said,
) -> Result<(mpsc::Sender<Said>, Streaming<Said>), Status> {
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}")).unwrap();
    let mut client = tonic::client::Grpc::new(endpoint.connect().await.unwrap());
    client.ready().await.unwrap();
    let (out, messages) = mpsc::channel(4);
    out.send(first).await.unwrap();
    let path = http::uri::PathAndQuery::from_static("/dictmesh.v1.Mesh/Link");
    let codec = ProstCodec::<Said, Said>::default();
    let call = Request::new(ReceiverStream::new(messages));
    let answer = client.streaming(call, path, codec).await?;
    Ok((out, answer.into_inner()))
}

async fn next(incoming: &mut Streaming<Said>) -> What {
    let message = tokio::time::timeout(PATIENCE, incoming.message()).await;
    message.unwrap().unwrap().unwrap().what.unwrap()
}

#[test]
fn an_agent_over_another_grpc_can_take_part() {
    record();
    let nowhere = "127.0.0.1:1".to_string();
    let mut one = GrpcWire::start(settings(1, "127.0.40.1:0", &[(0, nowhere)])).unwrap();
    let address = one.address().unwrap();
    let runtime = background();
    let (out, mut incoming) = runtime.block_on(link(address, hello("a-run"))).unwrap();
    assert_eq!(up(&mut one, 0), (42, 3));
    match runtime.block_on(next(&mut incoming)) {
        What::Hello(hello) => assert_eq!((hello.from, hello.to, hello.protocol), (1, 0, 3)),
        other => panic!("{other:?}"),
    }
    for length in [0, 1, 300, 16_384, LARGEST] {
        let bytes: Vec<u8> = (0..length).map(|i| ((i * i) >> 3) as u8).collect();
        let frame_of = said(What::Frame(bytes.clone()));
        runtime.block_on(out.send(frame_of)).unwrap();
        assert!(frame(&mut one, 0) == bytes, "{length}");
        one.send(0, Bytes::from(bytes.clone()));
        one.flush();
        assert!(
            runtime.block_on(next(&mut incoming)) == What::Frame(bytes),
            "{length}"
        );
    }
    // It ends, and is told that all was well.
    drop(out);
    assert_eq!(down(&mut one, 0), "it ended the stream");
    let end = runtime.block_on(async { tokio::time::timeout(PATIENCE, incoming.message()).await });
    assert_eq!(end.unwrap().unwrap(), None);
}

#[test]
fn it_is_told_why_it_is_refused() {
    record();
    let nowhere = "127.0.0.1:1".to_string();
    let one = GrpcWire::start(settings(1, "127.0.41.1:0", &[(0, nowhere)])).unwrap();
    let address = one.address().unwrap();
    let runtime = background();
    let refused = runtime.block_on(link(address, hello("yesterday")));
    let status = refused.map(|_| ()).unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("\"yesterday\""), "{status}");
    let newer = Hello {
        protocol: 9,
        ..words("a-run")
    };
    let refused = runtime.block_on(link(address, said(What::Hello(newer))));
    let status = refused.map(|_| ()).unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    let named = "agent 1 speaks version 3 of the protocol and agent 0 version 9";
    assert!(status.message().contains(named), "{status}");
    logged(&["refused", "peer=127.", named]);
    let frame = said(What::Frame(vec![1, 2, 3]));
    let refused = runtime.block_on(link(address, frame));
    let status = refused.map(|_| ()).unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(
        status.message().contains("where a hello belongs"),
        "{status}"
    );
}

/// Somebody to be dialled: what runs it, where it listens, and the address of that.
fn listening(host: &str) -> (Arc<Runtime>, std::net::TcpListener, String) {
    let runtime = background();
    let listener = std::net::TcpListener::bind((host, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (runtime, listener, address)
}

/// Whoever answers at that address may say that this agent runs twice: it is believed by an agent only that has had the
/// link, and had it back.
#[test]
fn a_stranger_cannot_end_an_agent_by_saying_that_it_runs_twice() {
    record();
    let (runtime, listener, address) = listening("127.0.42.1");
    let (answered, mut answers) = mpsc::channel(1);
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((socket, _)) = listener.accept().await {
            let mut connection = h2::server::handshake(socket).await.unwrap();
            if let Some(Ok((_, mut answer))) = connection.accept().await {
                let status = http::Response::builder()
                    .header("content-type", "application/grpc")
                    .header("grpc-status", "6")
                    .header("grpc-message", "agent 0 runs twice, says a stranger")
                    .body(())
                    .unwrap();
                answer.send_response(status, true).unwrap();
                // What was said goes out while the connection is driven.
                tokio::spawn(async move { while connection.accept().await.is_some() {} });
                answered.send(()).await.unwrap();
            }
        }
    });
    let mut zero = GrpcWire::start(settings(0, "127.0.0.1:0", &[(1, address)])).unwrap();
    for _ in 0..4 {
        let answer = async { tokio::time::timeout(PATIENCE, answers.recv()).await };
        runtime.block_on(answer).unwrap().unwrap();
    }
    logged(&["no link: agent 0 runs twice, says a stranger"]);
    assert_eq!(zero.next(std::time::Instant::now()), None);
}

/// A message as gRPC frames it: not compressed, so long, and its bytes.
fn framed(message: &Said) -> Bytes {
    let bytes = prost::Message::encode_to_vec(message);
    let length = (bytes.len() as u32).to_be_bytes();
    [&[0], &length[..], &bytes].concat().into()
}

/// Agent 101 of a later version, which agent 100 dials: answers its hello, and hears what is said to it.
async fn speak_version_nine(listener: std::net::TcpListener, heard: mpsc::Sender<String>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    while let Ok((socket, _)) = listener.accept().await {
        let mut connection = h2::server::handshake(socket).await.unwrap();
        let Some(Ok((request, mut answer))) = connection.accept().await else {
            continue;
        };
        let head = http::Response::builder().header("content-type", "application/grpc");
        let mut out = answer.send_response(head.body(()).unwrap(), false).unwrap();
        let newer = Hello {
            protocol: 9,
            from: 101,
            to: 100,
            ..words("a-run")
        };
        out.send_data(framed(&said(What::Hello(newer))), false)
            .unwrap();
        let heard = heard.clone();
        tokio::spawn(async move {
            let mut body = request.into_body();
            while let Some(Ok(part)) = body.data().await {
                let _ = body.flow_control().release_capacity(part.len());
                let _ = heard.send(String::from_utf8_lossy(&part).into()).await;
            }
            drop(out);
        });
        tokio::spawn(async move { while connection.accept().await.is_some() {} });
    }
}

#[test]
fn a_dialled_agent_of_another_version_is_named_by_the_dialler_and_told_so() {
    record();
    let (runtime, listener, address) = listening("127.0.44.1");
    let (heard, mut hears) = mpsc::channel(64);
    runtime.spawn(speak_version_nine(listener, heard));
    let _dials = GrpcWire::start(settings(100, "127.0.0.1:0", &[(101, address)])).unwrap();
    let named = "agent 100 speaks version 3 of the protocol and agent 101 version 9";
    logged(&[
        "no link",
        "neighbour=101",
        named,
        "install the same dictmesh",
    ]);
    let told = async {
        while let Some(part) = hears.recv().await {
            if part.contains(named) {
                return;
            }
        }
        panic!("nothing more is said");
    };
    let told = async { tokio::time::timeout(PATIENCE, told).await };
    runtime.block_on(told).unwrap();
}
