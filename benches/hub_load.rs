//! Load for a server of events, and the smallest such server to compare with. Driven by
//! `benches/hub`.
//!
//! `hub_load echo` serves: what is posted goes to every reader, without token, check or memory.
//! `hub_load ADDRESS TOKEN CASE` measures, and prints one line of JSON.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program for measuring"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["echo"] = *words {
        return echo().await;
    }
    let [address, token, case] = *words else { panic!("usage: hub_load ADDRESS TOKEN CASE") };
    let server = Server { address: address.to_owned(), token: token.to_owned() };
    let result = match case.split_once(':').unwrap_or((case, "")) {
        ("latency", seconds) => latency(&server, seconds.parse().unwrap()).await,
        ("burst", seconds) => burst(&server, seconds.parse().unwrap()).await,
        ("throughput", events) => throughput(&server, events.parse().unwrap()).await,
        ("idle", streams) => idle(&server, streams.parse().unwrap()).await,
        ("large", events) => large(&server, events.parse().unwrap(), 0).await,
        ("stalled", events) => large(&server, events.parse().unwrap(), 20).await,
        _ => panic!("there is no case {case}"),
    };
    println!("{result}");
}

async fn echo() {
    struct Stream(broadcast::Receiver<Bytes>);
    let (sender, _) = broadcast::channel::<Bytes>(65_536);
    let posted = sender.clone();
    let app = Router::new().route(
        "/events",
        get(move || async move {
            let (to_body, body) = tokio::sync::mpsc::channel(64);
            let mut events = Stream(sender.subscribe());
            tokio::spawn(async move {
                let _ = to_body.send(Bytes::from_static(b"event: hub\ndata: {}\n\n")).await;
                while let Ok(event) = events.0.recv().await {
                    if to_body.send(event).await.is_err() {
                        return;
                    }
                }
            });
            Body::new(Plain(body))
        })
        .post(async move |body: Bytes| {
            let frame = [b"event: hook\ndata: ", &body[..], b"\n\n"].concat();
            let _ = posted.send(Bytes::from(frame));
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream: &mut TcpStream| {
        stream.set_nodelay(true).unwrap();
    });
    axum::serve(listener, app.layer(axum::extract::DefaultBodyLimit::disable())).await.unwrap();
}

struct Plain(tokio::sync::mpsc::Receiver<Bytes>);

impl http_body::Body for Plain {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(http_body::Frame::data(piece))))
    }
}

#[derive(Clone)]
struct Server {
    address: String,
    token: String,
}

impl Server {
    async fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    fn head(&self, method: &str) -> String {
        let Self { address, token } = self;
        format!("{method} /events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n")
    }

    fn event(&self, stamp: u64, session: usize, size: usize, close: bool) -> Vec<u8> {
        let payload = format!(
            r#"{{"t":{stamp},"hook_event_name":"PostToolUse","session_id":"bench-{session}","x":"{}"}}"#,
            "x".repeat(size)
        );
        let close = if close { "Connection: close\r\n" } else { "" };
        let length = payload.len();
        let head = self.head("POST");
        let head = format!(
            "{head}Content-Type: application/json\r\n{close}Content-Length: {length}\r\n\r\n"
        );
        (head + &payload).into_bytes()
    }

    /// Reads events until `wanted` were seen; the delay of each in nanoseconds.
    async fn subscribe(&self, began: Instant, wanted: usize) -> tokio::task::JoinHandle<Vec<u64>> {
        let mut reader = self.open_stream().await;
        tokio::spawn(async move {
            let mut delays = Vec::with_capacity(wanted);
            while delays.len() < wanted {
                let Some(line) = reader.line().await else { break };
                if let Some(rest) = line.strip_prefix(b"data: {\"t\":") {
                    let end = rest.iter().position(|byte| *byte == b',').unwrap();
                    let stamp: u64 = str::from_utf8(&rest[..end]).unwrap().parse().unwrap();
                    delays.push(nanos(began).saturating_sub(stamp));
                }
            }
            delays
        })
    }

    async fn open_stream(&self) -> Reader {
        let mut stream = self.connect().await;
        stream.write_all(format!("{}\r\n", self.head("GET")).as_bytes()).await.unwrap();
        let mut reader = Reader { stream, raw: Vec::new(), left: 0, plain: Vec::new(), used: 0 };
        reader.skip_head().await;
        reader
    }
}

/// A chunked stream, line by line.
struct Reader {
    stream: TcpStream,
    raw: Vec<u8>,
    /// What is left of the current chunk, with the line break behind it.
    left: usize,
    plain: Vec<u8>,
    used: usize,
}

impl Reader {
    async fn skip_head(&mut self) {
        loop {
            if let Some(end) = self.raw.windows(4).position(|four| four == b"\r\n\r\n") {
                self.raw.drain(..end + 4);
                return;
            }
            assert!(self.fill().await, "the head is cut off");
        }
    }

    async fn fill(&mut self) -> bool {
        let before = self.raw.len();
        self.raw.resize(before + 256 * 1024, 0);
        let read = self.stream.read(&mut self.raw[before..]).await.unwrap_or(0);
        self.raw.truncate(before + read);
        read > 0
    }

    async fn line(&mut self) -> Option<Vec<u8>> {
        let mut searched = self.used;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.plain[searched..]) {
                let line = self.plain[self.used..searched + end].to_vec();
                self.used = searched + end + 1;
                return Some(line);
            }
            self.plain.drain(..self.used);
            self.used = 0;
            searched = self.plain.len();
            while !self.unwrap_chunks() {
                if !self.fill().await {
                    return None;
                }
            }
        }
    }

    /// Moves what is whole of the chunks over; false when there was nothing.
    fn unwrap_chunks(&mut self) -> bool {
        let mut at = 0;
        let mut moved = false;
        while at < self.raw.len() {
            if self.left == 0 {
                let Some(end) = memchr::memchr(b'\n', &self.raw[at..]) else { break };
                let size = str::from_utf8(&self.raw[at..at + end]).unwrap().trim();
                self.left = usize::from_str_radix(size, 16).unwrap() + 2;
                at += end + 1;
                continue;
            }
            let length = self.left.min(self.raw.len() - at);
            // The last two bytes are the line break behind the chunk.
            let data = length.min(self.left.saturating_sub(2));
            self.plain.extend_from_slice(&self.raw[at..at + data]);
            moved |= data > 0;
            self.left -= length;
            at += length;
        }
        self.raw.drain(..at);
        moved
    }
}

/// Posts over one connection; how long the answer took.
async fn post(stream: &mut TcpStream, request: &[u8]) -> Duration {
    let began = Instant::now();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "no answer");
        answer.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.unwrap().parse::<usize>().unwrap() {
            assert!(head.starts_with("HTTP/1.1 20"), "{head}");
            return began.elapsed();
        }
    }
}

fn nanos(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap()
}

fn percentiles(mut values: Vec<u64>) -> (f64, f64) {
    values.sort_unstable();
    if values.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let at = |part: f64| values[((values.len() - 1) as f64 * part) as usize] as f64 / 1e6;
    (at(0.5), at(0.99))
}

/// 200 events of 2 KB a second, each over a connection of its own, to 5 readers.
async fn latency(server: &Server, seconds: usize) -> Value {
    let (began, events) = (Instant::now(), seconds * 200);
    let mut readers = Vec::new();
    for _ in 0..5 {
        readers.push(server.subscribe(began, events).await);
    }
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let mut posts = Vec::new();
    for _ in 0..events {
        ticks.tick().await;
        let server = server.clone();
        posts.push(tokio::spawn(async move {
            let stamp = nanos(began);
            let mut stream = server.connect().await;
            post(&mut stream, &server.event(stamp, 0, 2000, true)).await;
            nanos(began) - stamp
        }));
    }
    let mut took = Vec::new();
    for one in posts {
        took.push(one.await.unwrap());
    }
    let mut delays = Vec::new();
    for reader in readers {
        delays.extend(reader.await.unwrap());
    }
    let lost = events * 5 - delays.len();
    let ((p50, p99), (post50, post99)) = (percentiles(delays), percentiles(took));
    json!({ "p50_ms": p50, "p99_ms": p99, "post_p50_ms": post50, "post_p99_ms": post99, "lost": lost })
}

/// 2,000 events a second, each over a connection of its own; how many posts failed.
async fn burst(server: &Server, seconds: usize) -> Value {
    let began = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let mut posts = Vec::new();
    for number in 0..seconds * 2000 {
        if number % 10 == 0 {
            ticks.tick().await;
        }
        let server = server.clone();
        posts.push(tokio::spawn(async move {
            let mut stream = server.connect().await;
            let request = server.event(nanos(began), number % 50, 2000, true);
            post(&mut stream, &request).await;
        }));
    }
    let (posted, mut failed) = (posts.len(), 0);
    for one in posts {
        failed += usize::from(one.await.is_err());
    }
    let rate = posted as f64 / began.elapsed().as_secs_f64();
    json!({ "events_per_second": rate, "failed": failed })
}

/// As fast as 16 connections can, over 8 sessions, to 10 readers of everything.
async fn throughput(server: &Server, events: usize) -> Value {
    let began = Instant::now();
    let mut readers = Vec::new();
    for _ in 0..10 {
        readers.push(server.subscribe(began, events).await);
    }
    let next = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let posters: Vec<_> = (0..16)
        .map(|poster| {
            let (server, next) = (server.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut stream = server.connect().await;
                while next.fetch_add(1, Ordering::Relaxed) < events as u64 {
                    let request = server.event(nanos(began), poster % 8, 2000, false);
                    post(&mut stream, &request).await;
                }
            })
        })
        .collect();
    for poster in posters {
        poster.await.unwrap();
    }
    let mut seen = 0;
    for reader in readers {
        let read = tokio::time::timeout(Duration::from_secs(20), reader).await;
        seen += read.map_or(0, |delays| delays.unwrap().len());
    }
    let rate = events as f64 / start.elapsed().as_secs_f64();
    json!({ "events_per_second": rate, "lost": events * 10 - seen })
}

/// Streams in which nothing happens; the caller looks at the memory of the server meanwhile.
async fn idle(server: &Server, streams: usize) -> Value {
    let mut open = Vec::new();
    for _ in 0..streams {
        open.push(server.open_stream().await);
    }
    println!("{}", json!({ "open": open.len() }));
    let mut line = String::new();
    let stdin = std::io::stdin();
    tokio::task::spawn_blocking(move || stdin.read_line(&mut line)).await.unwrap().unwrap();
    json!({ "streams": open.len() })
}

/// Events of 5 MB, one after another, while some readers do not read.
async fn large(server: &Server, events: usize, stalled: usize) -> Value {
    let mut held = Vec::new();
    for _ in 0..stalled {
        held.push(server.open_stream().await);
    }
    let began = Instant::now();
    let reader = server.subscribe(began, events).await;
    let mut stream = server.connect().await;
    let mut took = Vec::new();
    for _ in 0..events {
        let request = server.event(nanos(began), 0, 5 * 1024 * 1024, false);
        took.push(u64::try_from(post(&mut stream, &request).await.as_nanos()).unwrap());
    }
    let read = tokio::time::timeout(Duration::from_secs(20), reader).await;
    let delays = read.map_or(Vec::new(), |delays| delays.unwrap());
    let lost = events - delays.len();
    let ((p50, p99), (post50, post99)) = (percentiles(delays), percentiles(took));
    json!({ "p50_ms": p50, "p99_ms": p99, "post_p50_ms": post50, "post_p99_ms": post99, "lost": lost })
}
