//! The raw payload goes to a collector, and the collector cannot hold Claude up.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::events::{start, stop};
use crate::world::World;

/// The worst case is two seconds for the collector; the rest is room for a busy machine.
const PATIENCE_SECONDS: u64 = 10;

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// Reads one request: its head and as much body as it announces.
fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let length: usize = length.unwrap().parse().unwrap();
            if bytes.len() - end - 4 >= length {
                return (head, bytes[end + 4..].to_vec());
            }
        }
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "the request is cut off");
        bytes.extend_from_slice(&piece[..read]);
    }
}

#[test]
fn the_raw_bytes_are_posted_with_the_token() {
    let (listener, url) = listener();
    let world = World::new()
        .with("CLAUDE_HUB_COLLECTOR_URL", &format!("{url}/base/"))
        .with("CLAUDE_HUB_COLLECTOR_TOKEN", "s3cret");
    let payload = format!(" {}\r\n", start("startup"));
    let collector = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").unwrap();
        request
    });
    world.hook_bytes(payload.as_bytes());
    let (head, body) = collector.join().unwrap();
    assert_eq!(body, payload.as_bytes());
    assert!(head.starts_with("POST /base/events HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/json"), "{head}");
    assert!(head.contains("Authorization: Bearer s3cret"), "{head}");
    assert_eq!(world.meta("status"), "stopped");
}

#[test]
fn even_what_cld_refuses_is_posted_and_a_nested_session_too() {
    for world in [World::bare(), World::new().with("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")] {
        let (listener, url) = listener();
        let world = world.with("CLAUDE_HUB_COLLECTOR_URL", &url);
        let collector = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (_, body) = read_request(&mut stream);
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            body
        });
        world.hook_bytes(b"not json");
        assert_eq!(collector.join().unwrap(), b"not json");
    }
}

#[test]
fn a_payload_that_is_refused_for_its_size_is_marked_at_a_path_of_its_own() {
    // A collector may close before it has read everything, or take all of it first.
    for reads in [1, usize::MAX] {
        let (listener, url) = listener();
        let world = World::bare().with("CLAUDE_HUB_COLLECTOR_URL", &format!("{url}/base"));
        let collector = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            match reads {
                1 => stream.read_exact(&mut [0; 4096]).unwrap(),
                _ => _ = read_request(&mut stream),
            }
            stream.write_all(b"HTTP/1.1 413 Content Too Large\r\n\r\n").unwrap();
            drop(stream);
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream)
        });
        let payload = format!(
            r#"{{"session_id":"s-1","hook_event_name":"Stop","x":"{}"}}"#,
            "done ".repeat(1 << 20)
        );
        world.hook_bytes(payload.as_bytes());
        let (head, body) = collector.join().unwrap();
        assert!(head.starts_with("POST /base/events/oversize HTTP/1.1\r\n"), "{head}");
        let marker: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let expected =
            json!({ "session_id": "s-1", "hook_event_name": "Stop", "bytes": payload.len() });
        assert_eq!(marker, expected);
    }
}

#[test]
fn a_collector_that_misbehaves_is_not_noticed() {
    type Behaviour = fn(TcpListener);
    let behaviours: [(&str, Behaviour); 7] = [
        ("refuses", drop),
        ("accepts and says nothing", |listener| {
            let held = listener.accept();
            thread::park_timeout(Duration::from_secs(PATIENCE_SECONDS));
            drop(held);
        }),
        ("never accepts", |listener| {
            thread::park_timeout(Duration::from_secs(PATIENCE_SECONDS));
            drop(listener);
        }),
        ("closes at once", |listener| drop(listener.accept())),
        ("resets the connection in the middle of the body", |listener| {
            let (mut stream, _) = listener.accept().unwrap();
            // To close while bytes are unread is a reset.
            stream.read_exact(&mut [0; 100_000]).unwrap();
        }),
        ("answers with ten gigabytes", |listener| {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream);
            let head = b"HTTP/1.1 202 Accepted\r\nContent-Length: 10000000000\r\n\r\n";
            let mut sent = stream.write(head).unwrap() as u64;
            while let Ok(length) = stream.write(&[b'x'; 65_536]) {
                sent += length as u64;
            }
            assert!(sent < 100 << 20, "{sent} bytes were taken");
        }),
        ("answers without end", |listener| {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        }),
    ];
    for (name, behaviour) in behaviours {
        let (listener, url) = listener();
        let world = World::new().with("CLAUDE_HUB_COLLECTOR_URL", &url);
        let collector = thread::spawn(move || behaviour(listener));
        let begun = Instant::now();
        world.hook(&stop(&"done ".repeat(1 << 20)));
        assert!(begun.elapsed().as_secs() < PATIENCE_SECONDS, "{name}: {:?}", begun.elapsed());
        assert_eq!(world.meta("status"), "stopped", "{name}");
        collector.thread().unpark();
        collector.join().unwrap();
    }
}

#[test]
fn an_address_that_is_no_plain_http_is_left_alone() {
    for url in ["https://127.0.0.1:1", "ftp://x", "nonsense", "http://"] {
        let world =
            World::new().with("CLAUDE_HUB_COLLECTOR_URL", url).with("CLAUDE_TMUX_DEBUG", "1");
        world.hook(&stop("done"));
        let log = std::fs::read_to_string(world.state_file("debug.log")).unwrap();
        assert!(log.contains("forwarding failed: CLAUDE_HUB_COLLECTOR_URL"), "{log}");
    }
}
