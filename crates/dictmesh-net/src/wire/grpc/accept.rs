//! The side that is dialled: connections are let in one by one, and refused by name.

use super::counted::Counted;
use super::guard::{Guarded, Peer};
use super::hello::shown;
use super::lines::Lines;
use super::links::{words, Edge, Shared, MINUTE, MOST_LINES, UNSENT};
use super::message::{Hello, Kind, Message, Piece, PATH};
use super::read_ahead::ReadAhead;
use super::status::{Code, Status};
use super::strangers::{Refusals, Slot, Waiting};
use super::stream::{self, End, Incoming};
use super::tongue::{First, Heard, Tongue};
use super::{http2, tls, HAND_SHAKE};
use dictmesh::AgentId;
use h2::server::SendResponse;
use h2::RecvStream;
use http::{header, Request, Response, StatusCode};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{timeout, timeout_at, Instant};
use tokio_rustls::rustls;

/// What a connection is carried by: a socket, or TLS over it.
trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}
type Connection = Guarded<Box<dyn Io>>;

/// Takes connections for as long as the wire lives.
pub async fn serve(shared: Arc<Shared>, listener: TcpListener) {
    let waiting = Arc::new(Waiting::new(shared.edges.len()));
    let refusals = Arc::new(Refusals::new());
    let failures = Lines::new(MOST_LINES, MINUTE);
    loop {
        let (socket, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(e) => {
                // Too many open files, as a rule: others have to go first.
                if let Some(hidden) = failures.next() {
                    let hidden = (hidden > 0).then_some(hidden);
                    tracing::warn!(hidden, "cannot take a connection: {e}");
                }
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
        tokio::spawn(async move {
            if let Some(connection) = greet(&shared, socket, address, slot, refusals).await {
                converse(shared, connection).await;
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
    let socket = Counted::new(socket, &shared.written);
    let Some(tls) = &shared.tls else {
        let io: Box<dyn Io> = Box::new(socket);
        return Some(Guarded::new(io, (address, None), slot, refusals, deadline));
    };
    let first = First::default();
    let accepted = tls
        .acceptor
        .accept(Heard::new(ReadAhead::new(socket), &first));
    let why = match timeout_at(deadline, accepted.into_fallible()).await {
        Ok(Ok(stream)) => {
            let certificates = stream.get_ref().1.peer_certificates();
            let certificate = certificates.and_then(|chain| chain.first().cloned());
            let io: Box<dyn Io> = Box::new(stream);
            let peer = (address, certificate.map(|c| c.into_owned()));
            return Some(Guarded::new(io, peer, slot, refusals, deadline));
        }
        Ok(Err((_, mut io))) if first.tongue() == Some(Tongue::Plain) => {
            refusals.log(address, None, &Tongue::Plain.words("it"));
            // It has got TLS's complaint, and reads it if the connection is not broken off while it speaks.
            let _ = timeout(LEAVE, hear_out(&mut io)).await;
            return None;
        }
        Ok(Err((e, _))) => tls_words(&e),
        Err(_) => "no TLS hand-shake in time".into(),
    };
    refusals.log(address, None, &why);
    None
}

/// Takes what still comes, until the other side has enough.
async fn hear_out(io: &mut (impl AsyncRead + Unpin)) {
    let mut part = [0; 1024];
    while matches!(io.read(&mut part).await, Ok(1..)) {}
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
        Some(E::InvalidMessage(_)) => "its bytes are not TLS",
        _ if e.kind() == io::ErrorKind::UnexpectedEof => {
            return "it ended the connection in the TLS hand-shake".into()
        }
        _ => return format!("the TLS hand-shake failed: {e}"),
    };
    format!("{known} ({e})")
}

/// HTTP/2 over a connection that was let in, to its end. Why that came too early the guard has said, or HTTP/2 says.
async fn converse(shared: Arc<Shared>, connection: Connection) {
    let peer = connection.peer();
    let greeted = http2::server(shared.limit).handshake::<_, Piece>(connection);
    let mut connection = match greeted.await {
        Ok(connection) => connection,
        Err(e) => return peer.broke(&e),
    };
    let alive = http2::keep_alive(connection.ping_pong());
    let calls = async {
        while let Some(accepted) = connection.accept().await {
            match accepted {
                Ok((request, answer)) => {
                    tokio::spawn(call(Arc::clone(&shared), peer.clone(), request, answer));
                }
                Err(e) => return peer.broke(&e),
            }
        }
    };
    tokio::select! {
        () = calls => {}
        () = alive => {}
    }
}

/// A call, and its answer.
async fn call(
    shared: Arc<Shared>,
    peer: Peer,
    request: Request<RecvStream>,
    mut answer: SendResponse<Piece>,
) {
    let path = request.uri().path();
    let mut incoming = None;
    let shaken = match path == PATH {
        true => {
            let incoming = incoming.insert(Incoming::new(request.into_body(), shared.limit));
            hand_shake(&shared, &peer, incoming).await
        }
        false => {
            let why = format!("there is no such method; the only one is {PATH}");
            Err(Status::new(Code::Unimplemented, why))
        }
    };
    match (shaken, incoming) {
        (Ok((hello, neighbour)), Some(incoming)) => {
            peer.admit();
            link(&shared, &peer, (neighbour, &hello), incoming, answer).await;
        }
        (Ok(_), None) => {}
        (Err(status), _) => {
            peer.refuse(&words(&status));
            let _ = answer.send_response(reply(Some(&status)), true);
        }
    }
    // What was said last takes its way first; a peer that does not go by itself is closed.
    tokio::time::sleep(LEAVE).await;
    peer.close();
}

/// The head of an answer: the only one, or the first of a stream's.
fn reply(status: Option<&Status>) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::OK;
    if let Some(status) = status {
        *response.headers_mut() = status.headers();
    }
    let grpc = header::HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, grpc);
    response
}

/// Frames both ways until the link ends.
async fn link(
    shared: &Shared,
    peer: &Peer,
    (neighbour, hello): (AgentId, &Hello),
    mut incoming: Incoming,
    mut answer: SendResponse<Piece>,
) {
    let Ok(outgoing) = answer.send_response(reply(None), false) else {
        return;
    };
    let Some(edge) = shared.edge(neighbour) else {
        return;
    };
    let (out, messages) = mpsc::channel(UNSENT);
    let own = Message::hello(shared.terms.hello(neighbour));
    let _ = out.try_send(Piece::of(&own));
    tokio::spawn(stream::send(outgoing, messages, End::Status));
    let at = peer.address().to_string();
    let reason = shared.carry(edge, (hello, at), out, &mut incoming).await;
    edge.log_down(&reason);
}

/// How long a connection is left open when its link has ended.
const LEAVE: Duration = Duration::from_secs(1);

async fn hand_shake(
    shared: &Shared,
    peer: &Peer,
    incoming: &mut Incoming,
) -> Result<(Hello, AgentId), Status> {
    let message = timeout(HAND_SHAKE, incoming.message()).await;
    let message =
        message.map_err(|_| Status::new(Code::DeadlineExceeded, "no hello in time"))??;
    let hello = match message.map(|message| (message.name(), message.kind)) {
        Some((_, Some(Kind::Hello(hello)))) => hello,
        Some((name, _)) => {
            let why = format!("it sent {name} where a hello belongs");
            return Err(Status::new(Code::InvalidArgument, why));
        }
        None => {
            return Err(Status::new(
                Code::InvalidArgument,
                "it ended without a hello",
            ))
        }
    };
    let edge = usize::try_from(hello.from)
        .ok()
        .and_then(|id| shared.edge(id));
    let Some(edge) = edge else {
        let (from, own) = (hello.from, shared.terms.own);
        let why = format!("it claims to be agent {from}, which is no neighbour of agent {own}");
        return Err(Status::new(Code::PermissionDenied, why));
    };
    check_name(peer, edge)?;
    let neighbour = edge.neighbour.id;
    if neighbour > shared.terms.own {
        let why = "the agent with the smaller id dials; this one has the larger";
        return Err(Status::new(Code::FailedPrecondition, why));
    }
    (shared.terms.check(neighbour, &hello))
        .map_err(|why| Status::new(Code::FailedPrecondition, why))?;
    // Its port is another at each attempt.
    let at = peer.address().ip().to_string();
    (edge.check_single(&hello, &at)).map_err(|why| Status::new(Code::AlreadyExists, why))?;
    Ok((hello, neighbour))
}

/// Under TLS the certificate must be the neighbour's: one of the same authority is not enough.
fn check_name(peer: &Peer, edge: &Edge) -> Result<(), Status> {
    let (id, name) = (edge.neighbour.id, &edge.neighbour.name);
    match peer.certificate() {
        Some(certificate) if !tls::is_for(certificate, name) => {
            let names = shown(&tls::names(certificate));
            let why = format!(
                "it claims to be agent {id}, whose certificate is for {name}, but its own is for {names}"
            );
            Err(Status::new(Code::PermissionDenied, why))
        }
        _ => Ok(()),
    }
}
