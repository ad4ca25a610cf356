//! The side that dials, and dials again.

use super::accept::tls_words;
use super::counted::Counted;
use super::links::{words, Edge, Shared, UNSENT};
use super::message::{Hello, Kind, Message, Piece, PATH};
use super::read_ahead::ReadAhead;
use super::status::{Code, Status};
use super::stream::{self, End, Incoming};
use super::tongue::{First, Heard, Tongue};
use super::{http2, HAND_SHAKE};
use crate::WireEvent;
use http::{header, Request, Version};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout, Instant};
use tokio_rustls::rustls::pki_types::ServerName;

/// The pause before the second attempt,
const FIRST: Duration = Duration::from_millis(50);
/// twice as long each time, up to this.
const LONGEST: Duration = Duration::from_secs(2);

/// For so long a neighbour may not be there without anybody being warned: agents are not started all at once.
const GRACE: Duration = Duration::from_secs(5);
/// How long what was said last may take to go out.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why there is no link.
#[derive(Debug, PartialEq)]
enum NoLink {
    /// Nobody answers.
    Absent(String),
    /// Whoever answers is not the neighbour, or one of the two refused the other.
    Refused(String),
    /// The neighbour has a link to another process of this very agent.
    Twin(String),
}

impl NoLink {
    fn reason(&self) -> &str {
        let (NoLink::Absent(reason) | NoLink::Refused(reason) | NoLink::Twin(reason)) = self;
        reason
    }
}

/// Keeps a link to the neighbour of this edge for as long as the wire lives, or until the neighbour has left for good.
pub async fn keep(shared: Arc<Shared>, index: usize) {
    let edge = &shared.edges[index];
    let (mut pause, mut since, mut said) = (FIRST, Instant::now(), None);
    while !edge.is_gone() {
        match attempt(&shared, edge).await {
            Ok(reason) => {
                edge.log_down(&reason);
                (pause, since, said) = (FIRST, Instant::now(), None);
            }
            Err(NoLink::Absent(_)) if since.elapsed() < GRACE => {}
            // Once for each reason, not once for each attempt.
            Err(why) if said.as_ref() != Some(&why) => {
                edge.log_none(why.reason());
                if let NoLink::Twin(reason) = &why {
                    let (neighbour, reason) = (edge.neighbour.id, reason.clone());
                    shared
                        .tell(edge, WireEvent::Twin { neighbour, reason })
                        .await;
                }
                said = Some(why);
            }
            Err(_) => {}
        }
        sleep(pause).await;
        pause = (2 * pause).min(LONGEST);
    }
}

/// One link, from dialling to its end: why it ended, or why there was none.
async fn attempt(shared: &Shared, edge: &Edge) -> Result<String, NoLink> {
    let late = |_| NoLink::Absent(format!("no hand-shake within {} s", HAND_SHAKE.as_secs()));
    let (hello, out, mut incoming, _ends) = timeout(HAND_SHAKE, shake(shared, edge))
        .await
        .map_err(late)??;
    let neighbour = edge.neighbour.id;
    let at = &edge.neighbour.address;
    let checked = shared.terms.check(neighbour, &hello);
    if let Err(why) = checked.and_then(|()| edge.check_single(&hello, at)) {
        // It has to be on its way before the stream is dropped.
        let _ = out.send(Piece::of(&Message::refusal(why.clone()))).await;
        sleep(FIRST).await;
        return Err(NoLink::Refused(why));
    }
    let link = (&hello, at.clone());
    Ok(shared.carry(edge, link, out, &mut incoming).await)
}

type Shaken = (Hello, mpsc::Sender<Piece>, Incoming, Ends);

/// Ends the tasks of a connection soon after nobody needs it: a peer that opens no window would keep them for ever.
struct Ends(Vec<AbortHandle>);

impl Drop for Ends {
    fn drop(&mut self) {
        let tasks = std::mem::take(&mut self.0);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                sleep(LAST_WORDS).await;
                tasks.iter().for_each(AbortHandle::abort);
            });
        } else {
            tasks.iter().for_each(AbortHandle::abort);
        }
    }
}

async fn shake(shared: &Shared, edge: &Edge) -> Result<Shaken, NoLink> {
    let name = &edge.neighbour.name;
    let socket = TcpStream::connect(&edge.neighbour.address).await;
    let socket = socket.map_err(|e| NoLink::Absent(e.to_string()))?;
    let _ = socket.set_nodelay(true);
    let socket = Counted::new(socket, &shared.written);
    let (first, who) = (First::default(), format!("agent {}", edge.neighbour.id));
    // One of us speaks TLS and the other does not: nothing else that is said of it helps.
    let or_mixed = |other: Tongue, why| match first.tongue() == Some(other) {
        true => NoLink::Refused(other.words(&who)),
        false => why,
    };
    match &shared.tls {
        None => stream(shared, edge, Heard::new(socket, &first))
            .await
            .map_err(|why| or_mixed(Tongue::Tls, why)),
        Some(tls) => {
            let nobody = |_| NoLink::Refused(format!("\"{name}\" can be in no certificate"));
            let server = ServerName::try_from(name.clone()).map_err(nobody)?;
            let socket = Heard::new(ReadAhead::new(socket), &first);
            let socket = tls.connector.connect(server, socket).await;
            let socket =
                socket.map_err(|e| or_mixed(Tongue::Plain, NoLink::Refused(tls_words(&e))))?;
            stream(shared, edge, socket).await
        }
    }
}

/// The gRPC call over a connection, up to the neighbour's hello.
async fn stream<IO>(shared: &Shared, edge: &Edge, io: IO) -> Result<Shaken, NoLink>
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // A peer may give its reasons, of any length.
    let broken = |e: h2::Error| NoLink::Refused(words(&Status::broken(&e)));
    let request = request(shared, edge).map_err(|e| NoLink::Refused(e.to_string()))?;
    let (client, connection) = http2::client(shared.limit)
        .handshake(io)
        .await
        .map_err(broken)?;
    let mut ends = Ends(vec![tokio::spawn(http2::carry(connection)).abort_handle()]);
    let mut client = client.ready().await.map_err(broken)?;
    let (answer, outgoing) = (client.send_request(request, false)).map_err(broken)?;
    let (out, messages) = mpsc::channel(UNSENT);
    let own = Message::hello(shared.terms.hello(edge.neighbour.id));
    let _ = out.try_send(Piece::of(&own));
    let sending = tokio::spawn(stream::send(outgoing, messages, End::Silent));
    ends.0.push(sending.abort_handle());
    let answer = answer.await.map_err(broken)?;
    if !answer.status().is_success() {
        return Err(NoLink::Refused(format!(
            "it answered as a web server does: {}",
            answer.status()
        )));
    }
    if let Some(status) = Status::of(answer.headers()).filter(|s| s.code != Code::Ok) {
        return Err(match status.code {
            Code::AlreadyExists if has_had_links(edge) => NoLink::Twin(words(&status)),
            _ => NoLink::Refused(words(&status)),
        });
    }
    let mut incoming = Incoming::new(answer.into_body(), shared.limit);
    let first = incoming.message().await;
    let first = first.map_err(|status| NoLink::Refused(words(&status)))?;
    match first.map(|message| (message.name(), message.kind)) {
        Some((_, Some(Kind::Hello(hello)))) => Ok((hello, out, incoming, ends)),
        Some((name, _)) => Err(NoLink::Refused(format!(
            "it sent {name} where a hello belongs"
        ))),
        None => Err(NoLink::Refused("it ended without a hello".into())),
    }
}

/// Whether this process has had the edge, and had it back: a neighbour says of no other that it runs twice. Whoever
/// says it sooner is believed no more than any other that refuses.
fn has_had_links(edge: &Edge) -> bool {
    edge.traffic.links.load(Ordering::Relaxed) >= 2
}

/// The call of the one method. The connection is made already: of the address only the name is used.
fn request(shared: &Shared, edge: &Edge) -> Result<Request<()>, http::Error> {
    let scheme = if shared.tls.is_some() {
        "https"
    } else {
        "http"
    };
    Request::post(format!("{scheme}://{}{PATH}", edge.neighbour.name))
        .version(Version::HTTP_2)
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .header(
            header::USER_AGENT,
            concat!("dictmesh/", env!("CARGO_PKG_VERSION")),
        )
        .body(())
}
