//! The side that is dialled: connections are let in one by one, and refused by name.

use super::guard::{Guarded, Peer};
use super::hello::shown;
use super::links::{words, Edge, Shared, UNSENT};
use super::message::{Hello, Kind, Message, PATH};
use super::strangers::{Refusals, Slot, Waiting};
use super::tls;
use super::{io_settings, HAND_SHAKE};
use dictmesh::agent::AgentId;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{timeout, timeout_at, Instant};
use tokio_rustls::rustls;
use tokio_stream::{Stream, StreamExt};
use tonic::body::Body;
use tonic::{Request, Response, Status, Streaming};

/// What a connection is carried by: a socket, or TLS over it.
trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}
type Connection = Guarded<Box<dyn Io>>;

/// Takes connections for as long as the wire lives.
pub async fn serve(shared: Arc<Shared>, listener: TcpListener) {
    let (admitted, connections) = mpsc::channel::<Connection>(1);
    let connections = Received(connections).map(Ok::<_, io::Error>);
    let largest = shared.codec.limit();
    let service = Mesh(Arc::clone(&shared));
    let server = io_settings::server(largest).serve_with_incoming(service, connections);
    let doors = open_doors(shared, listener, admitted);
    let (ended, ()) = tokio::join!(server, doors);
    if let Err(e) = ended {
        tracing::error!("the server ended: {e}");
    }
}

async fn open_doors(
    shared: Arc<Shared>,
    listener: TcpListener,
    admitted: mpsc::Sender<Connection>,
) {
    let waiting = Arc::new(Waiting::new(shared.edges.len()));
    let refusals = Arc::new(Refusals::default());
    loop {
        let (socket, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(e) => {
                // Too many open files, as a rule: others have to go first.
                tracing::warn!("cannot take a connection: {e}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let slot = match waiting.enter(address.ip()) {
            Ok(slot) => slot,
            Err(why) => {
                refusals.log(address, None, &why);
                continue;
            }
        };
        let (shared, refusals) = (Arc::clone(&shared), Arc::clone(&refusals));
        let admitted = admitted.clone();
        tokio::spawn(async move {
            if let Some(connection) = greet(&shared, socket, address, slot, refusals).await {
                let _ = admitted.send(connection).await;
            }
        });
    }
}

/// A new connection, on probation; with TLS, after the peer showed a certificate of our authority.
async fn greet(
    shared: &Shared,
    socket: TcpStream,
    address: SocketAddr,
    slot: Slot,
    refusals: Arc<Refusals>,
) -> Option<Connection> {
    let deadline = Instant::now() + HAND_SHAKE;
    let _ = socket.set_nodelay(true);
    let Some(tls) = &shared.tls else {
        let io: Box<dyn Io> = Box::new(socket);
        return Some(Guarded::new(io, (address, None), slot, refusals, deadline));
    };
    let why = match timeout_at(deadline, tls.acceptor.accept(socket)).await {
        Ok(Ok(stream)) => {
            let certificates = stream.get_ref().1.peer_certificates();
            let certificate = certificates.and_then(|chain| chain.first().cloned());
            let io: Box<dyn Io> = Box::new(stream);
            let peer = (address, certificate.map(|c| c.into_owned()));
            return Some(Guarded::new(io, peer, slot, refusals, deadline));
        }
        Ok(Err(e)) => tls_words(&e),
        Err(_) => "no TLS hand-shake in time".into(),
    };
    refusals.log(address, None, &why);
    None
}

/// Why a TLS hand-shake failed.
pub fn tls_words(e: &io::Error) -> String {
    use rustls::{CertificateError as C, Error as E};
    let inner = e.get_ref().and_then(|e| e.downcast_ref::<E>());
    let known = match inner {
        Some(E::NoCertificatesPresented) => "it has no certificate",
        Some(E::InvalidCertificate(C::UnknownIssuer)) => "its certificate is of another authority",
        Some(E::InvalidCertificate(C::BadSignature)) => "its certificate is of another authority",
        Some(E::InvalidCertificate(C::Expired | C::ExpiredContext { .. })) => {
            "its certificate has expired"
        }
        Some(E::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. })) => {
            "its certificate is not valid yet"
        }
        Some(E::InvalidMessage(_)) => "what it says is not TLS",
        _ => return format!("the TLS hand-shake failed: {e}"),
    };
    format!("{known} ({e})")
}

/// The gRPC service with its one method.
#[derive(Clone)]
struct Mesh(Arc<Shared>);

type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl tower::Service<http::Request<Body>> for Mesh {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = Answer<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            if request.uri().path() != PATH {
                let only = format!("there is no such method; the only one is {PATH}");
                return Ok(Status::unimplemented(only).into_http());
            }
            let codec = shared.codec;
            let link = tower::service_fn(move |request| link(Arc::clone(&shared), request));
            let mut grpc = tonic::server::Grpc::new(codec).max_decoding_message_size(codec.limit());
            Ok(grpc.streaming(link, request).await)
        })
    }
}

type Outgoing = Pin<Box<dyn Stream<Item = Result<Message, Status>> + Send>>;

/// The one method: a hand-shake, then frames both ways until the link ends.
async fn link(
    shared: Arc<Shared>,
    request: Request<Streaming<Message>>,
) -> Result<Response<Outgoing>, Status> {
    let Some(peer) = request.extensions().get::<Peer>().cloned() else {
        return Err(Status::internal("a connection that nobody watches"));
    };
    let mut incoming = request.into_inner();
    let (hello, neighbour) = match hand_shake(&shared, &peer, &mut incoming).await {
        Ok(found) => found,
        Err(status) => {
            peer.refuse(&words(&status));
            // The answer takes its way first; a peer that does not go by itself is closed.
            tokio::spawn(async move {
                tokio::time::sleep(LEAVE).await;
                peer.close();
            });
            return Err(status);
        }
    };
    peer.admit();
    let own = shared.terms.hello(neighbour);
    let (out, messages) = mpsc::channel(UNSENT);
    let outgoing = tokio_stream::once(Message::hello(own)).chain(Received(messages));
    tokio::spawn(async move {
        if let Some(edge) = shared.edge(neighbour) {
            let reason = shared.carry(edge, &hello, out, &mut incoming).await;
            tracing::info!(neighbour, "link down: {reason}");
        }
        tokio::time::sleep(LEAVE).await;
        peer.close();
    });
    Ok(Response::new(Box::pin(outgoing.map(Ok))))
}

/// How long a connection is left open when its link has ended.
const LEAVE: Duration = Duration::from_secs(1);

async fn hand_shake(
    shared: &Shared,
    peer: &Peer,
    incoming: &mut Streaming<Message>,
) -> Result<(Hello, AgentId), Status> {
    let message = timeout(HAND_SHAKE, incoming.message()).await;
    let message = message.map_err(|_| Status::deadline_exceeded("no hello in time"))??;
    let hello = match message.map(|message| (message.name(), message.kind)) {
        Some((_, Some(Kind::Hello(hello)))) => hello,
        Some((name, _)) => {
            let why = format!("it sent {name} where a hello belongs");
            return Err(Status::invalid_argument(why));
        }
        None => return Err(Status::invalid_argument("it ended without a hello")),
    };
    let edge = usize::try_from(hello.from)
        .ok()
        .and_then(|id| shared.edge(id));
    let Some(edge) = edge else {
        let (from, own) = (hello.from, shared.terms.own);
        let why = format!("it says it is agent {from}, who is no neighbour of agent {own}");
        return Err(Status::permission_denied(why));
    };
    check_name(peer, edge)?;
    let neighbour = edge.neighbour.id;
    if neighbour > shared.terms.own {
        let why = "the agent with the smaller id dials; this one has the larger";
        return Err(Status::failed_precondition(why));
    }
    (shared.terms.check(neighbour, &hello)).map_err(Status::failed_precondition)?;
    Ok((hello, neighbour))
}

/// Under TLS the certificate must be the neighbour's: one of the same authority is not enough.
fn check_name(peer: &Peer, edge: &Edge) -> Result<(), Status> {
    let (id, name) = (edge.neighbour.id, &edge.neighbour.name);
    match peer.certificate() {
        Some(certificate) if !tls::is_for(certificate, name) => {
            let names = shown(&tls::names(certificate));
            let why = format!(
                "it says it is agent {id}, whose certificate is for {name}, but its own is for {names}"
            );
            Err(Status::permission_denied(why))
        }
        _ => Ok(()),
    }
}

/// The receiving end of a queue as a stream.
pub struct Received<T>(pub mpsc::Receiver<T>);

impl<T> Stream for Received<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(cx)
    }
}
