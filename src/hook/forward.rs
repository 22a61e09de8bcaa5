//! One POST of the raw payload to a collector, within a deadline. Errors are for the log only.
//!
//! Of a payload that is too large, here or for the collector, it gets a marker instead: that there
//! was one, of which session, and how large. It goes to a path of its own, so that no collector can
//! take it for an event of Claude Code.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::oversize::Oversize;
use super::stdin;

/// What is posted.
#[derive(Debug)]
pub(super) enum Posted {
    /// The payload as it came.
    Event(Vec<u8>),
    Marker(Oversize),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Collector {
    host: String,
    port: u16,
    /// Of events.
    path: String,
    token: Option<String>,
    is_nested: bool,
}

#[derive(Debug)]
pub(super) enum Failure {
    /// The address is not plain HTTP, or the token could not stand in a header.
    Address,
    Network(io::Error),
    Answer(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("CLAUDE_HUB_COLLECTOR_URL or its token cannot be used"),
            Self::Network(error) => write!(f, "{error}"),
            Self::Answer(status) => write!(f, "the collector answered {status:?}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Network(error)
    }
}

impl Collector {
    pub(super) fn new(url: &str, token: Option<String>) -> Result<Self, Failure> {
        let printable = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let rest = url.strip_prefix("http://").ok_or(Failure::Address)?;
        if !printable(url) || !token.as_deref().is_none_or(printable) {
            return Err(Failure::Address);
        }
        let (authority, base) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| Failure::Address)?)
            }
            _ => (authority, 80),
        };
        if host.is_empty() || host.contains('@') {
            return Err(Failure::Address);
        }
        let path = format!("{}/events", base.trim_end_matches('/'));
        Ok(Self { host: host.to_owned(), port, path, token, is_nested: false })
    }

    /// Says with each event whether it comes from a session that another one runs in a tool.
    pub(super) fn nested(self, is_nested: bool) -> Self {
        Self { is_nested, ..self }
    }

    pub(super) fn forward(&self, posted: &Posted, limit: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + limit;
        let payload = match posted {
            Posted::Marker(marker) => return self.mark(marker, deadline),
            Posted::Event(payload) => payload,
        };
        match self.post(&self.path, payload, deadline) {
            Err(Failure::Answer(status)) if code_of(&status) == Some(TOO_LARGE) => {
                let start = &payload[..payload.len().min(stdin::START)];
                self.mark(&Oversize::new(start, payload.len() as u64), deadline)
            }
            posted => posted,
        }
    }

    fn mark(&self, marker: &Oversize, deadline: Instant) -> Result<(), Failure> {
        let body = serde_json::to_vec(marker).map_err(io::Error::from)?;
        self.post(&format!("{}/oversize", self.path), &body, deadline)
    }

    fn post(&self, path: &str, body: &[u8], deadline: Instant) -> Result<(), Failure> {
        let mut stream = self.connect(deadline)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(left(deadline)?))?;
        let mut request = self.head(path, body.len()).into_bytes();
        request.extend_from_slice(body);
        let written = stream.write_all(&request);
        // Whoever refuses a body for its size may answer and close before all of it was sent.
        let status = read_status(&mut stream, deadline);
        let status = match written {
            Ok(()) => status?,
            Err(error) => status.ok().filter(|status| !status.is_empty()).ok_or(error)?,
        };
        match code_of(&status) {
            Some(code) if code.starts_with('2') => Ok(()),
            _ => Err(Failure::Answer(status)),
        }
    }

    /// Whether somebody listens there, without telling them anything.
    pub(super) fn reach(&self, limit: Duration) -> Result<(), Failure> {
        self.connect(Instant::now() + limit)?;
        Ok(())
    }

    fn connect(&self, deadline: Instant) -> io::Result<TcpStream> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn head(&self, path: &str, length: usize) -> String {
        let Self { host, port, token, is_nested, .. } = self;
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n"
        );
        if let Some(token) = token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if *is_nested {
            head.push_str("X-Cld-Nested: 1\r\n");
        }
        head.push_str("\r\n");
        head
    }
}

/// The status with which a collector refuses a body for its size.
const TOO_LARGE: &str = "413";

fn code_of(status: &str) -> Option<&str> {
    status.split(' ').nth(1)
}

/// The first line of the answer; the rest, however long, is not waited for.
fn read_status(stream: &mut TcpStream, deadline: Instant) -> io::Result<String> {
    let mut line = Vec::new();
    let mut piece = [0; 256];
    while line.len() < 1024 && !line.contains(&b'\n') {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut piece)? {
            0 => break,
            length => line.extend_from_slice(&piece[..length]),
        }
    }
    let text = String::from_utf8_lossy(&line);
    Ok(crate::text::one_line(text.lines().next().unwrap_or_default(), 80))
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, parts: Option<(&str, u16, &str)>) {
        let collector = Collector::new(url, None).ok();
        let found = collector.as_ref().map(|c| (c.host.as_str(), c.port, c.path.as_str()));
        assert_eq!(found, parts, "{url}");
    }

    #[test]
    fn addresses_are_plain_http() {
        check("http://127.0.0.1:8765", Some(("127.0.0.1", 8765, "/events")));
        check("http://127.0.0.1:8765/", Some(("127.0.0.1", 8765, "/events")));
        check("http://hub/a/b/", Some(("hub", 80, "/a/b/events")));
        check("http://[::1]:8765", Some(("[::1]", 8765, "/events")));
        check("http://[::1]", Some(("[::1]", 80, "/events")));
        check("https://127.0.0.1:8765", None);
        check("http://", None);
        check("http://h:99999", None);
        check("http://u@h:1", None);
        check("http://h:1/\r\nX: y", None);
    }

    #[test]
    fn a_token_cannot_add_a_header() {
        assert!(Collector::new("http://h:1", Some("a\r\nX: y".to_owned())).is_err());
        let collector = Collector::new("http://h:1", Some("secret".to_owned())).unwrap();
        assert!(collector.head("/events", 3).ends_with("Authorization: Bearer secret\r\n\r\n"));
    }
}
