//! A hub for one test, and the two clients that tests need: requests, and a reader of streams.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::world::{DEADLINE, World, poll_until, wait_for};

pub(crate) struct Hub<'a> {
    pub(crate) world: &'a World,
    pub(crate) child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    pub(crate) token: String,
}

/// A world in which `claude` is the fake one.
pub(crate) fn world() -> World {
    with_claude(World::new())
}

fn with_claude(world: World) -> World {
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(fake_claude(), bin.join("claude")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    fs::create_dir(world.path("project")).unwrap();
    world.with("PATH", &path)
}

/// Where the fake Claude is. `cargo test` builds it, but `cargo test --test it` alone does not.
fn fake_claude() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let cld = Path::new(env!("CARGO_BIN_EXE_cld"));
        let program = cld.with_file_name("examples").join("fake_claude");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake_claude.rs");
        let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        if changed(&program) < changed(&source) {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "--example", "fake_claude"]);
            cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
            if cld.parent().unwrap().ends_with("release") {
                cargo.arg("--release");
            }
            assert!(cargo.status().unwrap().success());
        }
        program
    };
    BUILT.get_or_init(build).clone()
}

impl<'a> Hub<'a> {
    pub(crate) fn start(world: &'a World) -> Self {
        Self::start_with(world, &[])
    }

    pub(crate) fn start_with(world: &'a World, options: &[&str]) -> Self {
        let mut command = world.cld(&["hub", "--listen", "127.0.0.1:0"]);
        let log = fs::OpenOptions::new().create(true).append(true).open(world.path("hub.log"));
        command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.unwrap());
        let mut child = command.spawn().unwrap();
        let mut status = Value::Null;
        poll_until("the hub answers", || {
            assert!(child.try_wait().unwrap().is_none(), "{}", log_of(world));
            let asked = world.cld(&["hub", "status", "--json"]).output().unwrap();
            status = serde_json::from_slice(&asked.stdout).unwrap_or_default();
            status["pid"] == child.id()
        });
        let url = status["url"].as_str().unwrap_or_default();
        let address = url.trim_start_matches("http://").to_owned();
        let token = said(world, &["hub", "token"]);
        Self { world, child, address, token }
    }

    /// With the token, as JSON.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string);
        self.send(&self.token, method, path, body.as_deref().map(str::as_bytes))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None)
    }

    pub(crate) fn send(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Answer {
        let authorization = format!("Bearer {token}");
        let mut headers = vec![("Authorization", authorization.as_str())];
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        self.request(method, path, &headers, body.unwrap_or_default())
    }

    /// With exactly these headers, and those without which there is no request.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        request(&self.address, method, path, headers, body)
    }

    #[track_caller]
    pub(crate) fn post_event(&self, payload: &Value) -> String {
        let answer = self.ask("POST", "/events", Some(payload));
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn stream(&self, path: &str, after: Option<&str>) -> Stream {
        let mut headers = vec![format!("Authorization: Bearer {}", self.token)];
        headers.extend(after.map(|after| format!("Last-Event-ID: {after}")));
        Stream::open(&self.address, path, &headers)
    }

    /// Starts a session of the fake Claude; its id.
    #[track_caller]
    pub(crate) fn start_session(&self, modes: &str) -> String {
        let id = new_id();
        let answer = self.create(&id, &json!({ "env": { "FAKE_CLAUDE": modes } }));
        assert_eq!(answer.status, 201, "{answer:?}\n{}", self.log());
        id
    }

    pub(crate) fn create(&self, id: &str, fields: &Value) -> Answer {
        let mut body = json!({ "session_id": id, "cwd": self.world.path("project") });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.ask("POST", "/sessions", Some(&body))
    }

    pub(crate) fn session(&self, id: &str) -> Value {
        self.get(&format!("/sessions/{id}")).json
    }

    #[track_caller]
    pub(crate) fn wait_for_state(&self, id: &str, state: &str) -> Value {
        let mut session = Value::Null;
        poll_until(&format!("{id} is {state}, not {}", self.session(id)["state"]), || {
            session = self.session(id);
            session["state"] == state
        });
        session
    }

    pub(crate) fn message(&self, id: &str, body: &Value) -> Answer {
        self.ask("POST", &format!("/sessions/{id}/message"), Some(body))
    }

    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").text;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("cld_hub_{name} ")));
        line.unwrap_or_else(|| panic!("there is no {name} in {text}")).parse().unwrap()
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.world.state_file("hub")
    }

    pub(crate) fn log(&self) -> String {
        log_of(self.world)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it with SIGTERM, and waits.
    pub(crate) fn shut_down(mut self) {
        self.signal(Signal::TERM);
        assert!(wait_for(&mut self.child).success());
    }

    /// Ends it with SIGKILL, as it never wants to be.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        wait_for(&mut self.child);
    }
}

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For tests that have more connections than a process usually may.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

pub(crate) fn log_of(world: &World) -> String {
    fs::read_to_string(world.path("hub.log")).unwrap_or_default()
}

/// What a command prints, without the end of the line.
#[track_caller]
pub(crate) fn said(world: &World, arguments: &[&str]) -> String {
    let output = world.cld(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cld {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// An id that no other test has.
pub(crate) fn new_id() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    format!("{number:08x}-{:04x}-4000-8000-{:012x}", std::process::id() & 0xffff, number)
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }
}

pub(crate) fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    exchange(stream, address, method, path, headers, body)
}

/// Over the Unix socket.
pub(crate) fn request_on(
    socket: &Path,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    exchange(UnixStream::connect(socket).unwrap(), "localhost", method, path, headers, body)
}

fn exchange(
    mut stream: impl Read + Write,
    host: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str(&format!("Host: {host}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    // A hub that refuses the head need not read the rest.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer to {method} {path}: {bytes:?}"));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let text = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        json: serde_json::from_str(&text).unwrap_or_default(),
        head,
        text,
    }
}

/// A stream of events, read as the standard says.
pub(crate) struct Stream {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    pub(crate) head: String,
    /// What was read and not yet used.
    read: Vec<u8>,
    used: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }

    pub(crate) fn is_hub(&self, name: &str) -> bool {
        self.kind == "hub" && self.json()["type"] == name
    }

    /// The name of the hook event; nothing for what the hub says itself.
    pub(crate) fn hook(&self) -> Option<String> {
        (self.kind == "hook").then(|| self.json()["hook_event_name"].as_str().unwrap().to_owned())
    }
}

impl Stream {
    pub(crate) fn open(address: &str, path: &str, headers: &[String]) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "no answer to {path}: {head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { reader, status, head, read: Vec::new(), used: 0 }
    }

    pub(crate) fn set_timeout(&self, limit: Duration) {
        self.reader.get_ref().set_read_timeout(Some(limit)).unwrap();
    }

    /// The next event; nothing at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let mut event = Event { id: None, kind: "message".to_owned(), data: String::new() };
        let mut lines = 0;
        loop {
            let line = self.line()?;
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" if line.is_empty() && lines > 0 => return Some(event),
                "id" => event.id = Some(value.to_owned()),
                "event" => event.kind = value.to_owned(),
                "data" => {
                    if lines > 0 {
                        event.data.push('\n');
                    }
                    event.data.push_str(value);
                    lines += 1;
                }
                _ => {}
            }
        }
    }

    /// Reads on to an event that fits.
    #[track_caller]
    pub(crate) fn until(&mut self, fits: impl Fn(&Event) -> bool) -> Event {
        let deadline = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < deadline, "the event did not come");
            let event = self.next().expect("the stream goes on");
            if fits(&event) {
                return event;
            }
        }
    }

    /// Reads on to a hook event of this name.
    #[track_caller]
    pub(crate) fn until_hook(&mut self, name: &str) -> Event {
        self.until(|event| event.hook().as_deref() == Some(name))
    }

    /// All that is left, up to the end.
    pub(crate) fn rest(mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next()).collect()
    }

    fn line(&mut self) -> Option<String> {
        let mut searched = self.used;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.read[searched..]) {
                let line = self.read[self.used..searched + end].to_vec();
                self.used = searched + end + 1;
                return Some(String::from_utf8(line).unwrap());
            }
            self.read.drain(..self.used);
            self.used = 0;
            searched = self.read.len();
            self.chunk()?;
        }
    }

    /// Reads one chunk; nothing at the end.
    fn chunk(&mut self) -> Option<()> {
        let mut size = String::new();
        self.reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
        let before = self.read.len();
        self.read.resize(before + size + 2, 0);
        self.reader.read_exact(&mut self.read[before..]).ok()?;
        self.read.truncate(before + size);
        Some(())
    }
}

/// Posts one event after another over one connection.
pub(crate) struct Poster {
    stream: TcpStream,
    head: String,
    read: Vec<u8>,
}

impl Poster {
    pub(crate) fn new(hub: &Hub<'_>) -> Self {
        let stream = TcpStream::connect(&hub.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let head = format!(
            "POST /events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
            hub.address, hub.token
        );
        Self { stream, head, read: Vec::new() }
    }

    pub(crate) fn post(&mut self, payload: &Value) -> Option<u16> {
        self.post_bytes(payload.to_string().as_bytes())
    }

    pub(crate) fn post_bytes(&mut self, body: &[u8]) -> Option<u16> {
        self.exchange(body).map(|(status, _)| status)
    }

    /// The id of an event that was acknowledged; nothing when the hub is gone.
    pub(crate) fn post_for_id(&mut self, payload: &Value) -> Option<String> {
        let (status, body) = self.exchange(payload.to_string().as_bytes())?;
        assert_eq!(status, 202);
        Some(body["id"].as_str().unwrap().to_owned())
    }

    fn exchange(&mut self, body: &[u8]) -> Option<(u16, Value)> {
        let head = format!("{}Content-Length: {}\r\n\r\n", self.head, body.len());
        // Whoever refuses a body may answer, and close, before all of it was sent.
        unless_gone(self.stream.write_all(&[head.as_bytes(), body].concat()));
        let mut piece = [0; 4096];
        loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.read[..end].to_vec()).unwrap();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.unwrap().parse().unwrap();
                if self.read.len() >= end + 4 + length {
                    let body =
                        serde_json::from_slice(&self.read[end + 4..end + 4 + length]).unwrap();
                    self.read.drain(..end + 4 + length);
                    return Some((head.split(' ').nth(1)?.parse().ok()?, body));
                }
            }
            match self.stream.read(&mut piece) {
                // A read with a time limit is not taken up again by itself.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => match unless_gone(read)? {
                    0 => return None,
                    length => self.read.extend_from_slice(&piece[..length]),
                },
            }
        }
    }
}

/// Nothing where nobody is there any more; whoever is there has to answer.
#[track_caller]
fn unless_gone<T>(done: io::Result<T>) -> Option<T> {
    match done {
        Ok(done) => Some(done),
        Err(error) => match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => None,
            _ => panic!("the hub does not answer: {error}"),
        },
    }
}

/// Resident memory of a process in KiB.
pub(crate) fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
