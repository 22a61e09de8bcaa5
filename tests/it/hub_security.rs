//! Who may do what: the whole table against the running hub, and everything around it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::hub_world::{
    Hub, Stream, log_of, memory, raise_file_limit, request, request_on, said, world,
};
use crate::world::{DEADLINE, World, poll_until, wait_for};

/// Something that is not answered with 4xx has reached its handler.
const ROUTES: [(&str, &str, &str); 15] = [
    ("GET", "/status", "read"),
    ("GET", "/metrics", "read"),
    ("GET", "/openapi.json", "read"),
    ("GET", "/queue", "read"),
    ("GET", "/sessions", "read"),
    ("GET", "/sessions/x", "read"),
    ("GET", "/sessions/x/history", "read"),
    ("GET", "/sessions/x/events", "read"),
    ("GET", "/nonsense", "read"),
    ("POST", "/events", "collect"),
    ("POST", "/events/oversize", "collect"),
    ("POST", "/sessions", "control"),
    ("POST", "/sessions/x/message", "control"),
    ("DELETE", "/sessions/x", "control"),
    ("POST", "/auth/tickets", "control"),
];

fn event() -> Value {
    json!({ "hook_event_name": "Stop", "session_id": "s" })
}

#[test]
fn every_route_needs_a_token_of_its_scope() {
    let world = world();
    let hub = Hub::start(&world);
    let scopes = ["control", "read", "collect"];
    let tokens = scopes.map(|scope| said(&world, &["hub", "token", "--scope", scope]));
    for (method, path, needed) in ROUTES {
        let json = ("Content-Type", "application/json");
        let without = hub.request(method, path, &[json], b"{}");
        assert_eq!((without.status, without.code()), (401, "unauthorized"), "{method} {path}");
        assert_eq!(without.header("www-authenticate"), Some("Bearer"));
        for wrong in
            ["Bearer x", "Bearer ", "Basic eDp5", &hub.token, &format!("Bearer {}x", hub.token)]
        {
            let answer = hub.request(method, path, &[json, ("Authorization", wrong)], b"{}");
            assert_eq!(answer.status, 401, "{method} {path} {wrong}");
        }
        for (scope, token) in scopes.iter().zip(&tokens) {
            let answer = hub.send(token, method, path, Some(b"{}"));
            let is_allowed = *scope == "control" || *scope == needed;
            let is_refused = answer.code() == "wrong_scope";
            assert_eq!(is_refused, !is_allowed, "{method} {path} {scope} {answer:?}");
        }
    }
    for query in ["token", "access_token", "ticket"] {
        let answer = hub.request("GET", &format!("/sessions?{query}={}", hub.token), &[], b"");
        assert_eq!(answer.status, 401, "no token in an address");
    }
    let cookie = format!("token={}", hub.token);
    assert_eq!(hub.request("GET", "/sessions", &[("Cookie", &cookie)], b"").status, 401);
    for path in ["/healthz", "/", "/app.css", "/app.js"] {
        assert_eq!(hub.request("GET", path, &[], b"").status, 200, "{path} holds no data");
    }
}

#[test]
fn what_a_foreign_page_can_send_reaches_no_handler() {
    let world = world();
    let hub = Hub::start(&world);
    let authorization = format!("Bearer {}", hub.token);
    let (token, json) = (("Authorization", &*authorization), ("Content-Type", "application/json"));
    let body = event().to_string();
    let port = hub.address.rsplit_once(':').unwrap().1.to_owned();
    let own = format!("http://{}", hub.address);
    let rebound = format!("evil.test:{port}");
    let localhost = format!("localhost:{port}");
    let before = hub.metric("events_total");
    for (fields, code) in [
        // DNS rebinding: the browser believes that evil.test is this machine.
        (vec![("Host", &*rebound)], "host_not_allowed"),
        (vec![("Host", &*rebound), ("Origin", "http://evil.test")], "host_not_allowed"),
        (vec![("Host", "evil.test")], "host_not_allowed"),
        (vec![("Host", "127.0.0.1")], "host_not_allowed"),
        (vec![("Host", "0.0.0.0")], "host_not_allowed"),
        (vec![("Host", "")], "host_not_allowed"),
        (vec![("Origin", "http://evil.test")], "origin_not_allowed"),
        (vec![("Origin", "null")], "origin_not_allowed"),
        (vec![("Origin", "http://127.0.0.1:1")], "origin_not_allowed"),
        (vec![("Sec-Fetch-Site", "cross-site")], "origin_not_allowed"),
        (vec![("Sec-Fetch-Site", "same-site")], "origin_not_allowed"),
    ] {
        let fields: Vec<_> = fields.into_iter().chain([token, json]).collect();
        let answer = hub.request("POST", "/events", &fields, body.as_bytes());
        assert_eq!((answer.status, answer.code()), (403, code), "{fields:?}");
    }
    // Forms and `no-cors` requests can only send these.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let answer =
            hub.request("POST", "/events", &[token, ("Content-Type", kind)], body.as_bytes());
        assert_eq!((answer.status, answer.code()), (415, "unsupported_media_type"));
    }
    assert_eq!(hub.request("POST", "/events", &[token], body.as_bytes()).status, 415);
    let preflight = [("Origin", &*own), ("Access-Control-Request-Method", "POST")];
    let answer = hub.request("OPTIONS", "/events", &preflight, b"");
    assert_eq!(answer.status, 405);
    assert_eq!(hub.metric("events_total"), before, "nothing was taken in");

    for fields in [
        vec![("Origin", &*own)],
        vec![("Host", &*localhost)],
        vec![("Sec-Fetch-Site", "same-origin")],
    ] {
        let fields: Vec<_> = fields.into_iter().chain([token, json]).collect();
        let answer = hub.request("POST", "/events", &fields, body.as_bytes());
        assert_eq!(answer.status, 202, "{fields:?}");
        assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
        assert!(!answer.head.to_lowercase().contains("set-cookie"), "{}", answer.head);
    }
}

/// Every combination, and only those pass in which each part is good.
#[test]
fn only_requests_that_are_right_in_every_part_reach_a_handler() {
    let world = World::bare();
    let hub = Hub::start(&world);
    let read = said(&world, &["hub", "token", "--scope", "read"]);
    let port = hub.address.rsplit_once(':').unwrap().1;
    let (localhost, rebound) = (format!("localhost:{port}"), format!("evil.test:{port}"));
    let own = format!("http://{}", hub.address);
    let bearer = |token: &str| Some(format!("Bearer {token}"));
    let hosts =
        [(&*hub.address, true), (&localhost, true), (&rebound, false), ("127.0.0.1", false)];
    let origins =
        [(None, true), (Some(&*own), true), (Some("null"), false), (Some("http://a.test"), false)];
    let sites = [(None, true), (Some("same-origin"), true), (Some("cross-site"), false)];
    let types = [(Some("application/json"), true), (Some("text/plain"), false), (None, false)];
    let methods = ["GET", "POST", "OPTIONS"];
    // What a token may do: look, and change something.
    let tokens = [
        (None, false, false),
        (bearer("wrong"), false, false),
        (bearer(&read), true, false),
        (bearer(&hub.token), true, true),
    ];
    let mut passed = 0;
    for (host, good_host) in hosts {
        for (origin, good_origin) in origins {
            for (site, good_site) in sites {
                for (kind, good_type) in types {
                    for (token, may_look, may_change) in &tokens {
                        for method in methods {
                            let fields = [
                                ("Host", Some(host)),
                                ("Origin", origin),
                                ("Sec-Fetch-Site", site),
                                ("Content-Type", kind),
                                ("Authorization", token.as_deref()),
                            ];
                            let fields: Vec<_> = fields
                                .into_iter()
                                .filter_map(|(name, value)| Some((name, value?)))
                                .collect();
                            let answer = hub.request(method, "/sessions", &fields, b"{}");
                            let fits = match method {
                                "GET" => *may_look,
                                "POST" => *may_change && good_type,
                                _ => false,
                            };
                            let good = good_host && good_origin && good_site && fits;
                            let handled = matches!(answer.status, 200 | 422);
                            assert_eq!(handled, good, "{method} {fields:?} {answer:?}");
                            assert!(handled || matches!(answer.status, 401 | 403 | 405 | 415));
                            passed += usize::from(good);
                        }
                    }
                }
            }
        }
    }
    assert_eq!(passed, 2 * 2 * 2 * (3 * 2 + 1));
    let refused = 4 * 4 * 3 * 3 * 4 * 3 - passed as u64;
    assert_eq!(hub.metric("requests_refused_total"), refused);
}

#[test]
fn every_answer_forbids_what_pages_do_not_need() {
    let world = world();
    let hub = Hub::start(&world);
    for (path, status) in [("/", 200), ("/healthz", 200), ("/sessions", 401), ("/nonsense", 401)] {
        let answer = hub.request("GET", path, &[], b"");
        assert_eq!(answer.status, status);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(
            !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert!(answer.header("server").is_none());
    }
    let answer = hub.get("/nonsense");
    assert_eq!((answer.status, answer.code()), (404, "not_found"));
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    for field in ["type", "title", "status", "code", "detail", "request_id"] {
        assert!(!answer.json[field].is_null(), "{field} in {}", answer.text);
    }
    let answer = hub.ask("PUT", "/queue", None);
    assert_eq!((answer.status, answer.code()), (405, "method_not_allowed"));
    assert_eq!(answer.header("allow"), Some("GET, HEAD"));
}

#[test]
fn a_browser_is_let_in_by_a_ticket_that_is_good_once() {
    let world = world();
    let hub = Hub::start(&world);
    let address = said(&world, &["hub", "open", "--print"]);
    let ticket = address.strip_prefix(&format!("http://{}/#t=", hub.address)).unwrap();
    let json = ("Content-Type", "application/json");
    let exchange = |ticket: &str| {
        let body = json!({ "ticket": ticket }).to_string();
        hub.request("POST", "/auth/session", &[json], body.as_bytes())
    };
    assert_eq!(exchange("wrong").code(), "ticket_invalid");
    let session = exchange(ticket);
    assert_eq!((session.status, &session.json["scope"]), (200, &json!("control")));
    assert_eq!(exchange(ticket).code(), "ticket_invalid");
    let token = session.json["token"].as_str().unwrap();
    assert_eq!(hub.send(token, "GET", "/sessions", None).status, 200);
    assert_eq!(hub.send(token, "DELETE", "/auth/session", None).status, 204);
    assert_eq!(hub.send(token, "GET", "/sessions", None).status, 401);

    let address = said(&world, &["hub", "open", "--print", "--read-only"]);
    let token = exchange(address.split_once("#t=").unwrap().1).json["token"].clone();
    let token = token.as_str().unwrap();
    assert_eq!(hub.send(token, "GET", "/sessions", None).status, 200);
    assert_eq!(hub.send(token, "POST", "/sessions", Some(b"{}")).code(), "wrong_scope");
    assert!(!hub.log().contains(ticket));
}

/// The status of a stream, and the code of a refusal.
fn opened(hub: &Hub<'_>, path: &str) -> (u16, String) {
    let mut stream = Stream::open(&hub.address, path, &[]);
    if stream.status == 200 {
        stream.until(|event| event.is_hub("hello"));
        return (200, String::new());
    }
    let answer = hub.request("GET", path, &[], b"");
    (stream.status, answer.code().to_owned())
}

#[test]
fn a_reader_without_headers_is_let_in_by_a_ticket_for_one_stream_once() {
    let world = world();
    let hub = Hub::start(&world);
    hub.ask("POST", "/events", Some(&event()));
    let read = said(&world, &["hub", "token", "--scope", "read"]);
    let asked = |token: &str, body: &Value| {
        hub.send(token, "POST", "/auth/tickets", Some(body.to_string().as_bytes()))
    };
    let ticket = |path: &str| {
        let answer = asked(&read, &json!({ "scope": "read", "path": path }));
        assert_eq!((answer.status, &answer.json["path"]), (201, &json!(path)), "{answer:?}");
        answer.json["ticket"].as_str().unwrap().to_owned()
    };
    let used = (401, "ticket_invalid".to_owned());
    let mut tickets = Vec::new();
    for path in ["/events", "/sessions/s/events"] {
        let other = if path == "/events" { "/sessions/s/events" } else { "/events" };
        let ticket = ticket(path);
        assert_eq!(opened(&hub, &format!("{other}?ticket={ticket}")), used, "another path");
        assert_eq!(opened(&hub, &format!("{path}?after=oldest&ticket={ticket}")).0, 200);
        assert_eq!(opened(&hub, &format!("{path}?ticket={ticket}")), used, "a second time");
        tickets.push(ticket);
    }
    let unused = ticket("/events");
    for (method, path) in [
        ("GET", "/sessions"),
        ("GET", "/sessions/s"),
        ("GET", "/sessions/s/history"),
        ("HEAD", "/events"),
        ("POST", "/events"),
        ("DELETE", "/sessions/s"),
    ] {
        let json = [("Content-Type", "application/json")];
        let answer = hub.request(method, &format!("{path}?ticket={unused}"), &json, b"{}");
        assert_eq!(answer.status, 401, "{method} {path} is no stream to read");
    }
    assert_eq!(hub.send(&unused, "GET", "/sessions", None).status, 401, "it is no token");
    let body = json!({ "ticket": unused }).to_string();
    let json = [("Content-Type", "application/json")];
    let exchanged = hub.request("POST", "/auth/session", &json, body.as_bytes());
    assert_eq!(exchanged.code(), "ticket_invalid", "and lets no page in");
    let page = asked(&hub.token, &json!({ "scope": "read" })).json["ticket"].clone();
    let page = page.as_str().unwrap();
    assert_eq!(opened(&hub, &format!("/events?ticket={page}")), used, "nor the other way round");
    assert_eq!(opened(&hub, "/events?ticket=").0, 401);
    let foreign = [("Origin", "http://evil.test")];
    let path = format!("/events?ticket={unused}");
    assert_eq!(hub.request("GET", &path, &foreign, b"").code(), "origin_not_allowed");
    assert_eq!(opened(&hub, &path).0, 200, "what was refused before did not use it up");

    for (body, code) in [
        (json!({ "scope": "control", "path": "/events" }), "invalid_scope"),
        (json!({ "scope": "collect", "path": "/events" }), "invalid_scope"),
        (json!({ "scope": "read", "path": "/sessions" }), "invalid_path"),
        (json!({ "scope": "read", "path": "/sessions/s/history" }), "invalid_path"),
        (json!({ "scope": "read", "path": "/sessions//events" }), "invalid_path"),
        (json!({ "scope": "read", "path": "/events?after=oldest" }), "invalid_path"),
        (json!({ "scope": "read", "path": "" }), "invalid_path"),
        (json!({ "scope": "read", "path": 7 }), "invalid_field"),
        (json!(["read", "/events"]), "invalid_field"),
    ] {
        let answer = asked(&read, &body);
        assert_eq!((answer.status, answer.code()), (422, code), "{body}");
    }
    let collect = said(&world, &["hub", "token", "--scope", "collect"]);
    assert_eq!(asked(&collect, &json!({ "path": "/events" })).code(), "wrong_scope");
    assert_eq!(asked(&read, &json!({ "scope": "read" })).code(), "wrong_scope", "a page lives on");
    for ticket in tickets.iter().chain([&unused]) {
        assert!(!hub.log().contains(ticket.as_str()));
    }
}

#[test]
fn a_token_can_be_replaced_by_the_user_alone() {
    let world = world();
    let hub = Hub::start(&world);
    let new = said(&world, &["hub", "token", "--rotate"]);
    assert_ne!(new, hub.token);
    assert_eq!(hub.get("/sessions").status, 401, "the old one ends at once");
    assert_eq!(hub.send(&new, "GET", "/sessions", None).status, 200);
    let answer = hub.send(&new, "POST", "/auth/rotate", Some(br#"{"scope":"control"}"#));
    assert_eq!((answer.status, answer.code()), (403, "socket_only"));
    assert_eq!(said(&world, &["hub", "token"]), new);
    assert_eq!(new.len(), 43, "256 bits");
}

#[test]
fn the_socket_needs_no_token_and_takes_nothing_from_browsers() {
    let world = world();
    let hub = Hub::start(&world);
    let socket = hub.dir().join("hub.sock");
    assert_eq!(said(&world, &["hub", "status", "--socket"]), socket.to_str().unwrap());
    assert_eq!(request_on(&socket, "GET", "/sessions", &[], b"").status, 200);
    let foreign = [("Origin", "http://localhost")];
    assert_eq!(request_on(&socket, "GET", "/sessions", &foreign, b"").status, 403);
    let host = [("Host", "evil.test")];
    assert_eq!(request_on(&socket, "GET", "/sessions", &host, b"").status, 403);
    assert_eq!(request_on(&socket, "POST", "/events", &[], b"{}").status, 415);
}

#[test]
fn containers_have_a_door_of_their_own_that_only_takes_events() {
    let world = world();
    let hub = Hub::start_with(&world, &["--collector-listen", "127.0.0.1:0"]);
    let status: Value = serde_json::from_str(&said(&world, &["hub", "status", "--json"])).unwrap();
    let collector = status["collector"].as_str().unwrap().trim_start_matches("http://").to_owned();
    let token = said(&world, &["hub", "token", "--scope", "collect"]);
    let authorization = format!("Bearer {token}");
    let port = collector.rsplit_once(':').unwrap().1;
    let docker = format!("host.docker.internal:{port}");
    let fields = [
        ("Host", docker.as_str()),
        ("Authorization", &authorization),
        ("Content-Type", "application/json"),
    ];
    let body = event().to_string();
    assert_eq!(request(&collector, "POST", "/events", &fields, body.as_bytes()).status, 202);
    assert_eq!(request(&collector, "GET", "/healthz", &[], b"").status, 200);
    let control = format!("Bearer {}", hub.token);
    for (method, path) in [
        ("GET", "/sessions"),
        ("POST", "/sessions"),
        ("GET", "/events"),
        ("GET", "/"),
        ("DELETE", "/sessions/x"),
        ("POST", "/auth/session"),
    ] {
        let fields = [("Authorization", &*control), ("Content-Type", "application/json")];
        assert_eq!(request(&collector, method, path, &fields, b"{}").status, 404, "{path}");
    }
    let json = ("Content-Type", "application/json");
    assert_eq!(request(&collector, "POST", "/events", &[json], body.as_bytes()).status, 401);
    assert_eq!(hub.request("POST", "/events", &fields, body.as_bytes()).status, 403);

    // `cld hook` in a container: the token comes in a file.
    let file = world.path("token");
    fs::write(&file, format!("{token}\n")).unwrap();
    let mut hook = world.cld(&["hook"]);
    hook.env("CLAUDE_HUB_COLLECTOR_URL", format!("http://{collector}"));
    hook.env("CLAUDE_HUB_COLLECTOR_TOKEN_FILE", &file);
    let before = hub.metric("events_total");
    crate::world::assert_silent(&crate::world::run(hook, body.as_bytes()));
    assert_eq!(hub.metric("events_total"), before + 1);
}

#[test]
fn a_launch_posts_for_itself_alone() {
    let world = world();
    let hub = Hub::start(&world);
    let (own, other) = (hub.start_session(""), hub.start_session(""));
    hub.wait_for_state(&own, "idle");
    hub.wait_for_state(&other, "idle");
    let pid = hub.session(&own)["pid"].as_u64().unwrap();
    let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    let token = environment.split('\0').find_map(|v| v.strip_prefix("CLAUDE_HUB_COLLECTOR_TOKEN="));
    let token = token.unwrap();
    let post = |session: &str| {
        let body = json!({ "hook_event_name": "Stop", "session_id": session }).to_string();
        hub.send(token, "POST", "/events", Some(body.as_bytes()))
    };
    assert_eq!(post(&own).status, 202);
    assert_eq!((post(&other).status, post(&other).code()), (403, "wrong_launch"));
    assert_eq!(hub.send(token, "GET", "/sessions", None).code(), "wrong_scope");
    let launch = hub.session(&other)["launch_id"].as_str().unwrap().to_owned();
    let authorization = format!("Bearer {token}");
    let fields = [
        ("Authorization", &*authorization),
        ("Content-Type", "application/json"),
        ("X-Cld-Launch", &launch),
    ];
    let body = json!({ "hook_event_name": "Stop", "session_id": own }).to_string();
    let answer = hub.request("POST", "/events", &fields, body.as_bytes());
    assert_eq!(answer.code(), "wrong_launch");
}

#[test]
fn without_tokens_everything_else_is_still_checked() {
    let world = world();
    let hub = Hub::start_with(&world, &["--insecure-no-auth"]);
    assert!(log_of(&world).contains("WARNING: --insecure-no-auth"), "{}", hub.log());
    assert_eq!(hub.request("GET", "/sessions", &[], b"").status, 200);
    let evil = [("Host", "evil.test")];
    assert_eq!(hub.request("GET", "/sessions", &evil, b"").status, 403);
    let foreign = [("Origin", "http://evil.test")];
    assert_eq!(hub.request("GET", "/sessions", &foreign, b"").status, 403);
    assert_eq!(
        hub.request("POST", "/sessions", &[("Content-Type", "text/plain")], b"{}").status,
        415
    );
    assert_eq!(hub.request("GET", "/sessions", &[("Authorization", "Bearer x")], b"").status, 401);
    assert!(said(&world, &["hub", "status"]).contains("INSECURE"));
}

#[test]
fn the_hub_listens_on_loopback_only() {
    let world = World::bare();
    for (address, options) in
        [("0.0.0.0:0", &[][..]), ("192.0.2.1:80", &["--insecure-no-auth"]), ("[::]:0", &[])]
    {
        let mut command = world.cld(&["hub", "--listen", address]);
        let output = command.args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("loopback only"));
    }
}

#[test]
fn a_door_for_events_that_the_whole_network_can_reach_is_warned_of() {
    let world = World::bare();
    for (address, is_warned_of) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let hub = Hub::start_with(&world, &["--collector-listen", address]);
        assert_eq!(hub.log().contains("WARNING"), is_warned_of, "{}", hub.log());
        hub.shut_down();
        fs::remove_file(world.path("hub.log")).unwrap();
    }
}

#[test]
fn a_name_that_was_given_and_the_other_loopback_address_are_the_hub_too() {
    let world = World::bare();
    let hub = Hub::start_with(&world, &["--allowed-host", "hub.example"]);
    for (host, origin, status) in [
        ("hub.example", "https://hub.example", 200),
        ("hub.example", "https://evil.test", 403),
        ("evil.test", "https://evil.test", 403),
        ("hub.example.evil.test", "https://hub.example", 403),
    ] {
        let fields = [("Host", host), ("Origin", origin)];
        let answer = hub.request("GET", "/healthz", &fields, b"");
        assert_eq!(answer.status, status, "{host} {origin} {answer:?}");
    }
    let (_, port) = hub.address.rsplit_once(':').unwrap();
    let other = format!("[::1]:{port}");
    // Not every machine has IPv6.
    if TcpStream::connect(&other).is_ok() {
        assert_eq!(request(&other, "GET", "/healthz", &[], b"").status, 200);
        assert_eq!(request(&other, "GET", "/sessions", &[], b"").status, 401);
    }
}

#[test]
fn there_is_one_hub_and_it_does_not_trust_what_lies_in_its_place() {
    let world = world();
    let hub = Hub::start(&world);
    let refused = |what: &str| {
        let mut command = world.cld(&["hub", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let status = wait_for(&mut child);
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!(status.code(), Some(1), "{error}");
        assert!(error.contains(what), "{what}: {error}");
    };
    refused("a hub is running already");
    let dir = hub.dir();
    hub.shut_down();

    let elsewhere = world.path("elsewhere");
    for name in ["token", "token.read", "token.collect", "lock"] {
        fs::rename(dir.join(name), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.join(name)).unwrap();
        refused(if name == "lock" { "cannot be opened" } else { "refused" });
        fs::rename(&elsewhere, dir.join(name)).unwrap();
    }
    fs::write(dir.join("hub.sock"), "").unwrap();
    refused("is not a socket");
    fs::remove_file(dir.join("hub.sock")).unwrap();
    std::os::unix::fs::symlink(world.path("nowhere"), dir.join("hub.sock")).unwrap();
    refused("is not a socket");
    fs::remove_file(dir.join("hub.sock")).unwrap();
    fs::set_permissions(dir.join("token"), fs::Permissions::from_mode(0o644)).unwrap();
    refused("others may read it");
    fs::set_permissions(dir.join("token"), fs::Permissions::from_mode(0o600)).unwrap();
    for name in ["spool", "launches"] {
        fs::rename(dir.join(name), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.join(name)).unwrap();
        refused("not a directory that only you can enter");
        fs::remove_file(dir.join(name)).unwrap();
        fs::rename(&elsewhere, dir.join(name)).unwrap();
    }
    // What is written anew replaces a link and never goes through one.
    fs::write(&elsewhere, "precious").unwrap();
    for name in ["settings.json", "settings.json.new", "pages", "pages.new"] {
        let _ = fs::remove_file(dir.join(name));
        std::os::unix::fs::symlink(&elsewhere, dir.join(name)).unwrap();
    }
    let hub = Hub::start(&world);
    let address = said(&world, &["hub", "open", "--print"]);
    let body = json!({ "ticket": address.split_once("#t=").unwrap().1 }).to_string();
    let json = [("Content-Type", "application/json")];
    assert_eq!(hub.request("POST", "/auth/session", &json, body.as_bytes()).status, 200);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
    for name in ["settings.json", "pages"] {
        assert!(fs::symlink_metadata(dir.join(name)).unwrap().is_file(), "{name}");
    }
}

#[test]
fn links_in_the_way_to_its_files_are_refused() {
    for place in ["home/.local/state/cld", "home/.local/state/cld/hub", "runtime/cld"] {
        let mut world = World::bare();
        fs::create_dir(world.path("runtime")).unwrap();
        world.set("XDG_RUNTIME_DIR", world.path("runtime").to_str().unwrap());
        Hub::start(&world).shut_down();
        let elsewhere = world.path("elsewhere");
        fs::rename(world.path(place), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, world.path(place)).unwrap();
        let output = world.cld(&["hub", "--listen", "127.0.0.1:0"]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{place}: {error}");
        assert!(error.contains("not a directory that only you can enter"), "{place}: {error}");
    }
}

#[test]
fn another_user_is_refused_even_where_the_files_would_let_him_in() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        let reason = b"skipped: only root can become another user\n";
        std::io::stderr().write_all(reason).unwrap();
        return;
    }
    let world = World::bare();
    let hub = Hub::start(&world);
    // The program may be where nobody else can come.
    let program = world.path("cld");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_cld")).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut opened = hub.dir();
    while opened.starts_with(world.path("")) {
        fs::set_permissions(&opened, fs::Permissions::from_mode(0o755)).unwrap();
        opened.pop();
    }
    let socket = hub.dir().join("hub.sock");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    let ask_as = |user: u32| {
        let mut command = Command::new(&program);
        command.args(["hub", "status"]).env_clear().env("HOME", world.home());
        let output = command.uid(user).gid(user).current_dir("/").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(ask_as(0), (Some(0), String::new()));
    let (code, error) = ask_as(NOBODY);
    // The connection is made, and closed without a word.
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("cut off") || error.contains("Connection reset"), "{error}");
    poll_until("it is gone", || hub.metric("connections") == 1);
}

#[test]
fn a_socket_that_a_killed_hub_left_is_replaced() {
    let world = world();
    let hub = Hub::start(&world);
    let dir = hub.dir();
    hub.kill();
    assert!(dir.join("hub.sock").exists());
    let output = world.cld(&["hub", "status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no hub is running"));
    let hub = Hub::start(&world);
    assert_eq!(hub.get("/sessions").status, 200);
}

#[test]
fn a_hub_that_does_not_answer_is_not_waited_for() {
    let world = world();
    let hub = Hub::start(&world);
    let asked = |what: &str| {
        let mut command = world.cld(&["hub", "status"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = wait_for(&mut child);
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!(status.code(), Some(1), "{what}: {error}");
        assert!(error.contains("the hub does not answer within 2 s"), "{what}: {error}");
    };
    hub.signal(rustix::process::Signal::STOP);
    asked("it is stopped");
    // What nobody accepts fills the queue of the socket, and then even connecting waits.
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let waiting = runtime.block_on(async {
        let (mut waiting, socket) = (Vec::new(), hub.dir().join("hub.sock"));
        while let Ok(stream) = tokio::net::UnixStream::connect(&socket).await {
            waiting.push(stream);
        }
        waiting
    });
    asked("its queue is full");
    drop(waiting);
    hub.signal(rustix::process::Signal::CONT);
    poll_until("it answers again", || {
        world.cld(&["hub", "status"]).output().unwrap().status.success()
    });
}

#[test]
fn heads_and_bodies_are_bounded() {
    let world = world();
    let hub = Hub::start(&world);
    let long = "x".repeat(100_000);
    let answer = hub.request("GET", "/healthz", &[("X-Long", &long)], b"");
    assert_eq!(answer.status, 431);
    let announced = format!(
        "POST /events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: 40000000\r\n\r\n",
        hub.address, hub.token
    );
    let mut stream = TcpStream::connect(&hub.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(announced.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413", "before the body is sent");
    let streamed = announced.replace("Content-Length: 40000000", "Transfer-Encoding: chunked");
    let mut stream = TcpStream::connect(&hub.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(streamed.as_bytes()).unwrap();
    let chunk =
        [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    for _ in 0..34 {
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413", "however it is sent");
    assert_eq!(hub.get("/healthz").status, 200);
}

#[test]
fn bodies_that_do_not_come_hold_the_others_up_for_a_bounded_time() {
    let world = World::bare();
    let hub = Hub::start(&world);
    let begin = |length: usize| {
        let mut stream = TcpStream::connect(&hub.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let head = format!(
            "POST /events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{{",
            hub.address, hub.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    // Together they may have all the memory that there is for bodies.
    let stalled: Vec<TcpStream> = (0..4).map(|_| begin(32 << 20)).collect();
    assert_eq!(hub.get("/healthz").status, 200, "what has no body is not held up");
    assert!(memory(hub.child.id()) < 64 * 1024, "memory is taken as bytes come");
    for mut stream in stalled {
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 503");
    }
    assert_eq!(hub.ask("POST", "/events", Some(&event())).status, 202);
}

#[test]
fn no_connection_becomes_a_websocket() {
    let world = World::bare();
    let hub = Hub::start(&world);
    let authorization = format!("Bearer {}", hub.token);
    let fields = [
        ("Authorization", &*authorization),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Version", "13"),
    ];
    for path in ["/sessions", "/", "/healthz"] {
        let answer = hub.request("GET", path, &fields, b"");
        assert_eq!(answer.status, 200, "{path} is answered as if nobody had asked");
    }
}

#[test]
fn a_client_that_sends_nothing_is_not_waited_for_for_ever() {
    let world = world();
    let hub = Hub::start(&world);
    let mut idle = TcpStream::connect(&hub.address).unwrap();
    let mut half = TcpStream::connect(&hub.address).unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nHost").unwrap();
    for stream in [&mut idle, &mut half] {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
    poll_until("both are gone", || hub.metric("connections") == 1);
}

#[test]
fn a_stream_that_nobody_reads_any_more_is_closed() {
    let world = world();
    let hub = Hub::start_with(&world, &["--heartbeat", "1"]);
    for _ in 0..50 {
        let mut stream = hub.stream("/events", None);
        stream.until(|event| event.is_hub("hello"));
    }
    poll_until("no stream is left", || hub.metric("streams") == 0);
    let mut stream = hub.stream("/events", None);
    stream.set_timeout(Duration::from_secs(30));
    stream.until(|event| event.is_hub("ping"));
}
