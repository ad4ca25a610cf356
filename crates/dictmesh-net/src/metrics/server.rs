//! The page for whoever asks, and little else for anybody.

use super::Metrics;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Readers at a time. One more, and the one who came first goes: a real one has its page long before.
const MOST: usize = 32;
/// How long one may take, from its coming to the last byte of its page.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request at most.
const LONGEST: usize = 8 << 10;

impl Metrics {
    /// Answers at this address, for as long as the process lives. Where it really is (port 0 takes a free one).
    pub fn serve(self: Arc<Self>, address: SocketAddr) -> io::Result<SocketAddr> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        thread::Builder::new()
            .name("metrics".into())
            .spawn(move || runtime.block_on(self.take(listener)))?;
        Ok(address)
    }

    async fn take(self: Arc<Self>, listener: TcpListener) {
        let mut readers: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let Ok((socket, _)) = listener.accept().await else {
                // Too many open files, as a rule: others have to go first.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            readers.retain(|reader| !reader.is_finished());
            if readers.len() >= MOST {
                if let Some(first) = readers.pop_front() {
                    first.abort();
                }
            }
            let metrics = Arc::clone(&self);
            // Whoever asks wrongly, or too slowly, gets nothing.
            let answer = async move { timeout(PATIENCE, metrics.answer(socket)).await };
            readers.push_back(tokio::spawn(answer).abort_handle());
        }
    }

    async fn answer(&self, mut socket: TcpStream) -> io::Result<()> {
        let mut asked = Vec::new();
        while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
            if asked.len() > LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if socket.read_buf(&mut asked).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let (status, kind, text) = match asked.starts_with(b"GET /metrics ") {
            true => ("200 OK", "text/plain; version=0.0.4", self.page()),
            false => ("404 Not Found", "text/plain", "ask for /metrics\n".into()),
        };
        let length = text.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        socket.write_all((head + &text).as_bytes()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::Traffic;
    use std::io::{self, Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::Ordering;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut socket = TcpStream::connect(address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_numbers_are_there_for_whoever_asks_and_nobody_blocks_them() {
        let traffic = Arc::new(Traffic::default());
        traffic.sent.store(10, Ordering::Relaxed);
        traffic.links.store(3, Ordering::Relaxed);
        let metrics = Arc::new(Metrics::new(4, vec![(7, traffic)]));
        metrics.round(Duration::from_millis(2));
        metrics.round(Duration::from_secs(20));
        metrics.batch(48, 0.25, 1e-5);
        let address = Arc::clone(&metrics)
            .serve(SocketAddr::from(([127, 0, 0, 1], 0)))
            .unwrap();
        // One that says nothing, and one that says nonsense.
        let _silent = TcpStream::connect(address).unwrap();
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404"));
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        for line in [
            "dictmesh_rounds_total{agent=\"4\"} 2",
            "dictmesh_round_seconds_bucket{agent=\"4\",le=\"0.001\"} 0",
            "dictmesh_round_seconds_bucket{agent=\"4\",le=\"0.003\"} 1",
            "dictmesh_round_seconds_bucket{agent=\"4\",le=\"+Inf\"} 2",
            "dictmesh_round_seconds_sum{agent=\"4\"} 20.002",
            "dictmesh_bytes_sent_total{agent=\"4\",neighbour=\"7\"} 10",
            "dictmesh_reconnects_total{agent=\"4\",neighbour=\"7\"} 2",
            "dictmesh_samples_total{agent=\"4\"} 48",
            "dictmesh_cost{agent=\"4\"} 0.25",
            "dictmesh_disagreement{agent=\"4\"} 0.00001",
        ] {
            assert!(page.contains(&format!("\n{line}\n")), "{line} in {page}");
        }
    }

    /// Readers that came and said nothing once delayed the next one by a second each.
    #[test]
    fn crowds_that_say_nothing_or_never_read_delay_nobody_and_take_few_connections() {
        // A page that is far too long to wait in a socket.
        let traffic = Arc::new(Traffic::default());
        let edges = (0..20_000).map(|id| (id, Arc::clone(&traffic)));
        let metrics = Arc::new(Metrics::new(4, edges.collect()));
        let address = Arc::clone(&metrics)
            .serve(SocketAddr::from(([127, 0, 0, 1], 0)))
            .unwrap();
        let came = |said: &str| {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.write_all(said.as_bytes()).unwrap();
            socket
        };
        let request = "GET /metrics HTTP/1.1\r\n\r\n";
        let deaf: Vec<_> = (0..4).map(|_| came(request)).collect();
        let silent: Vec<_> = (0..400).map(|_| came("")).collect();
        let slow: Vec<_> = (0..400).map(|_| came("GET /met")).collect();
        let page = ask(address, request);
        assert!(page.contains("neighbour=\"19999\""), "{}", page.len());
        assert!(page.ends_with('\n'));
        // The page came last, so all of them had been taken; those who were sent away know it.
        let is_open = |mut socket: &TcpStream| {
            socket.set_nonblocking(true).unwrap();
            let read = socket.read(&mut [0]);
            matches!(read, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
        };
        let open = silent.iter().chain(&slow).filter(|s| is_open(s)).count();
        assert!(open < MOST, "{open}");
        drop(deaf);
    }
}
