//! The side that dials, and dials again.

use super::accept::{tls_words, Received};
use super::links::{words, Edge, Shared, UNSENT};
use super::message::{Hello, Kind, Message, PATH};
use super::{io_settings, HAND_SHAKE};
use hyper_util::rt::TokioIo;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_stream::StreamExt;
use tonic::{Request, Streaming};

/// The pause before the second attempt,
const FIRST: Duration = Duration::from_millis(50);
/// twice as long each time, up to this.
const LONGEST: Duration = Duration::from_secs(2);

/// Keeps a link to the neighbour of this edge for as long as the wire lives.
pub async fn keep(shared: Arc<Shared>, index: usize) {
    let edge = &shared.edges[index];
    let neighbour = edge.neighbour.id;
    let mut pause = FIRST;
    let mut said = String::new();
    loop {
        match attempt(&shared, edge).await {
            Ok(reason) => {
                tracing::info!(neighbour, "link down: {reason}");
                pause = FIRST;
                said.clear();
            }
            // Once for each reason, not once for each attempt.
            Err(reason) if reason != said => {
                let (name, address) = (&edge.neighbour.name, &edge.neighbour.address);
                tracing::warn!(neighbour, %name, %address, "no link: {reason}; trying again");
                said = reason;
            }
            Err(_) => {}
        }
        sleep(pause).await;
        pause = (2 * pause).min(LONGEST);
    }
}

/// One link, from dialling to its end: why it ended, or why there was none.
async fn attempt(shared: &Shared, edge: &Edge) -> Result<String, String> {
    let late = |_| format!("no hand-shake within {} s", HAND_SHAKE.as_secs());
    let (hello, out, mut incoming) = timeout(HAND_SHAKE, shake(shared, edge))
        .await
        .map_err(late)??;
    let neighbour = edge.neighbour.id;
    if let Err(why) = shared.terms.check(neighbour, &hello) {
        // It has to be on its way before the stream is dropped.
        let _ = out.send(Message::refusal(why.clone())).await;
        sleep(FIRST).await;
        return Err(why);
    }
    Ok(shared.carry(edge, &hello, out, &mut incoming).await)
}

type Shaken = (Hello, mpsc::Sender<Message>, Streaming<Message>);

async fn shake(shared: &Shared, edge: &Edge) -> Result<Shaken, String> {
    let name = &edge.neighbour.name;
    let socket = TcpStream::connect(&edge.neighbour.address).await;
    let socket = socket.map_err(|e| e.to_string())?;
    let _ = socket.set_nodelay(true);
    let Some(tls) = &shared.tls else {
        return stream(shared, edge, "http", socket).await;
    };
    let server = ServerName::try_from(name.clone())
        .map_err(|_| format!("\"{name}\" can be in no certificate; name agents like hosts"))?;
    let socket = tls.connector.connect(server, socket).await;
    let socket = socket.map_err(|e| tls_words(&e))?;
    stream(shared, edge, "http", socket).await
}

/// The gRPC call over a connection, up to the neighbour's hello.
async fn stream<IO>(shared: &Shared, edge: &Edge, scheme: &str, io: IO) -> Result<Shaken, String>
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let codec = shared.codec;
    let endpoint = io_settings::client(&edge.neighbour.name, scheme, codec.limit());
    let endpoint = endpoint.map_err(|e| e.to_string())?;
    let mut io = Some(TokioIo::new(io));
    let once = tower::service_fn(move |_: http::Uri| {
        let io = io.take().ok_or(io::ErrorKind::NotConnected);
        async move { io.map_err(io::Error::from) }
    });
    let channel = endpoint.connect_with_connector(once).await;
    let channel = channel.map_err(|e| root(&e))?;
    let mut client = tonic::client::Grpc::new(channel).max_decoding_message_size(codec.limit());
    client.ready().await.map_err(|e| root(&e))?;
    let (out, messages) = mpsc::channel(UNSENT);
    let own = shared.terms.hello(edge.neighbour.id);
    let outgoing = tokio_stream::once(Message::hello(own)).chain(Received(messages));
    let path = http::uri::PathAndQuery::from_static(PATH);
    let answer = client.streaming(Request::new(outgoing), path, codec).await;
    let mut incoming = answer.map_err(|status| words(&status))?.into_inner();
    let first = incoming.message().await.map_err(|status| words(&status))?;
    match first.map(|message| (message.name(), message.kind)) {
        Some((_, Some(Kind::Hello(hello)))) => Ok((hello, out, incoming)),
        Some((name, _)) => Err(format!("it sent {name} where a hello belongs")),
        None => Err("it ended without a hello".into()),
    }
}

/// What lies at the bottom of an error.
fn root(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
