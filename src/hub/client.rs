//! Requests to a running hub over its socket, for `cld hub status`, `open` and `token`.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

/// A hub that is alive answers at once; the socket alone proves nothing.
const LIMIT: Duration = Duration::from_secs(2);
const LONGEST: u64 = 1024 * 1024;

/// The answer as JSON.
pub(super) fn ask(socket: &Path, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
    let answer = exchange(socket, method, path, body).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            anyhow!("no hub is running\nTry: cld hub")
        }
        io::ErrorKind::TimedOut => anyhow!("the hub does not answer within 2 s"),
        _ => anyhow!("the hub cannot be asked: {error}"),
    })?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the hub's answer is cut off")?;
    let document: Value = serde_json::from_str(body).context("the hub's answer is not JSON")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    match status.starts_with('2') {
        true => Ok(document),
        false => Err(anyhow!("the hub refused: {}", document["detail"].as_str().unwrap_or(status))),
    }
}

/// Connecting has no limit of its own: where the queue of the socket is full, it waits for ever. So
/// does a thread, which is left behind.
fn exchange(socket: &Path, method: &str, path: &str, body: Option<&Value>) -> io::Result<String> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: cld\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let (sender, answer) = mpsc::channel();
    let socket = socket.to_owned();
    thread::Builder::new().spawn(move || {
        // Nobody listens any more when the time is over.
        let _ = sender.send(converse(&socket, &request));
    })?;
    answer.recv_timeout(LIMIT).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn converse(socket: &Path, request: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer)?;
    Ok(answer)
}
