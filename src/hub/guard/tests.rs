use super::*;
use axum::http::HeaderValue;

fn tcp() -> Door {
    let given = ["Hub.example".to_owned()];
    Door::Tcp(Hosts::new(4717, &["127.0.0.1", "localhost", "[::1]"], &given))
}

fn collector() -> Door {
    Door::Collector(Hosts::new(4718, &["172.17.0.1", "host.docker.internal"], &[]))
}

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

/// Nothing when the request is let in, else the code of the refusal.
fn refused(
    door: &Door,
    method: &str,
    uri: &str,
    fields: &[(&'static str, &str)],
) -> Option<&'static str> {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    check(door, &method, &uri.parse().unwrap(), &headers(fields)).err().map(|p| p.code)
}

/// Every cell of the table: only those where each field is good pass.
#[test]
fn only_requests_that_are_right_in_every_field_pass() {
    let hosts = [
        ("127.0.0.1:4717", true),
        ("localhost:4717", true),
        ("LOCALHOST:4717", true),
        ("[::1]:4717", true),
        ("hub.example", true),
        ("hub.example:4717", true),
        ("127.0.0.1", false),
        ("127.0.0.1:4718", false),
        ("127.0.0.1:4717.evil.test", false),
        ("localhost.evil.test:4717", false),
        ("evil.test:4717", false),
        ("evil.test", false),
        ("0.0.0.0:4717", false),
        ("127.1:4717", false),
        ("2130706433:4717", false),
        ("user@127.0.0.1:4717", false),
        ("", false),
    ];
    let origins = [
        (None, true),
        (Some("http://127.0.0.1:4717"), true),
        (Some("http://localhost:4717"), true),
        (Some("http://hub.example:4717"), true),
        (Some("https://hub.example"), true),
        (Some("null"), false),
        (Some("https://127.0.0.1:4717"), false),
        (Some("http://127.0.0.1:4718"), false),
        (Some("http://127.0.0.1"), false),
        (Some("http://evil.test"), false),
        (Some("http://127.0.0.1:4717.evil.test"), false),
        (Some(""), false),
    ];
    let sites = [
        (None, true),
        (Some("same-origin"), true),
        (Some("none"), true),
        (Some("same-site"), false),
        (Some("cross-site"), false),
        (Some(""), false),
    ];
    let types = [
        (Some("application/json"), true),
        (Some("Application/JSON; charset=utf-8"), true),
        (Some("text/plain"), false),
        (Some("application/x-www-form-urlencoded"), false),
        (Some("multipart/form-data; boundary=x"), false),
        (Some("application/jsonp"), false),
        (Some("text/plain; application/json"), false),
        (None, false),
    ];
    let methods =
        [("GET", true), ("POST", true), ("HEAD", true), ("OPTIONS", false), ("TRACE", false)];
    let mut passed = 0;
    for (host, good_host) in hosts {
        for (origin, good_origin) in origins {
            for (site, good_site) in sites {
                for (kind, good_type) in types {
                    for (method, good_method) in methods {
                        let mut fields = vec![("host", host)];
                        fields.extend(origin.map(|origin| ("origin", origin)));
                        fields.extend(site.map(|site| ("sec-fetch-site", site)));
                        fields.extend(kind.map(|kind| ("content-type", kind)));
                        let good = good_host
                            && good_origin
                            && good_site
                            && good_method
                            && (good_type || method != "POST");
                        let code = refused(&tcp(), method, "/sessions", &fields);
                        assert_eq!(code.is_none(), good, "{method} {fields:?} {code:?}");
                        passed += usize::from(good);
                    }
                }
            }
        }
    }
    // Six hosts, five origins, three sites; GET and HEAD with any type, POST with two.
    assert_eq!(passed, 6 * 5 * 3 * (2 * 8 + 2));
}

#[test]
fn a_field_that_is_given_twice_is_refused() {
    let host = ("host", "127.0.0.1:4717");
    let json = ("content-type", "application/json");
    for fields in [
        vec![host, host],
        vec![("host", "evil.test"), host],
        vec![host, ("origin", "http://127.0.0.1:4717"), ("origin", "http://evil.test")],
        vec![host, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
        vec![host, json, ("content-type", "text/plain")],
        vec![json],
    ] {
        assert!(refused(&tcp(), "POST", "/sessions", &fields).is_some(), "{fields:?}");
    }
    assert_eq!(refused(&tcp(), "POST", "/sessions", &[host, json]), None);
}

#[test]
fn the_host_of_the_request_line_counts_too() {
    let host = ("host", "127.0.0.1:4717");
    assert_eq!(refused(&tcp(), "GET", "http://127.0.0.1:4717/queue", &[host]), None);
    let code = refused(&tcp(), "GET", "http://evil.test/queue", &[host]);
    assert_eq!(code, Some("host_not_allowed"));
}

#[test]
fn the_refusal_names_the_host_and_the_flag() {
    let uri = "/".parse().unwrap();
    let refusal = check(&tcp(), &Method::GET, &uri, &headers(&[("host", "box.local:4717")]));
    let detail = format!("{:?}", refusal.unwrap_err());
    assert!(detail.contains("box.local:4717"), "{detail}");
    assert!(detail.contains("--allowed-host box.local"), "{detail}");
}

#[test]
fn the_collector_takes_events_and_nothing_else() {
    let fields = [("host", "host.docker.internal:4718"), ("content-type", "application/json")];
    assert_eq!(refused(&collector(), "POST", "/events", &fields), None);
    assert_eq!(refused(&collector(), "POST", "/events/oversize", &fields), None);
    assert_eq!(refused(&collector(), "GET", "/healthz", &fields), None);
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/events"),
        ("GET", "/sessions"),
        ("POST", "/sessions"),
        ("DELETE", "/sessions/x"),
        ("POST", "/auth/session"),
        ("GET", "/metrics"),
        ("POST", "/events/"),
    ] {
        assert_eq!(refused(&collector(), method, path, &fields), Some("not_found"), "{path}");
    }
    assert_eq!(refused(&collector(), "PUT", "/events", &fields), Some("method_not_allowed"));
    let elsewhere = [("host", "127.0.0.1:4717"), ("content-type", "application/json")];
    assert_eq!(refused(&collector(), "POST", "/events", &elsewhere), Some("host_not_allowed"));
}

#[test]
fn the_socket_refuses_what_a_browser_would_send() {
    for host in ["localhost", "cld", "127.0.0.1:80", "[::1]", "[::1]:1"] {
        assert_eq!(refused(&Door::Unix, "GET", "/queue", &[("host", host)]), None, "{host}");
    }
    assert!(refused(&Door::Unix, "GET", "/queue", &[("host", "evil.test")]).is_some());
    let fields = [("host", "localhost"), ("origin", "http://localhost")];
    assert!(refused(&Door::Unix, "GET", "/queue", &fields).is_some());
}

#[test]
fn what_holds_data_needs_a_token_of_its_scope() {
    for (method, path, expected) in [
        ("GET", "/healthz", Access::Public),
        ("GET", "/", Access::Public),
        ("HEAD", "/", Access::Public),
        ("POST", "/auth/session", Access::Public),
        ("DELETE", "/auth/session", Access::Token(Scope::Read)),
        ("POST", "/events", Access::Token(Scope::Collect)),
        ("POST", "/events/oversize", Access::Token(Scope::Collect)),
        ("GET", "/events", Access::Token(Scope::Read)),
        ("GET", "/openapi.json", Access::Token(Scope::Read)),
        ("GET", "/metrics", Access::Token(Scope::Read)),
        ("GET", "/sessions", Access::Token(Scope::Read)),
        ("GET", "/nonsense", Access::Token(Scope::Read)),
        ("POST", "/sessions", Access::Token(Scope::Control)),
        ("POST", "/sessions/x/message", Access::Token(Scope::Control)),
        ("POST", "/auth/tickets", Access::Token(Scope::Read)),
        ("DELETE", "/sessions/x", Access::Token(Scope::Control)),
        ("PUT", "/healthz", Access::Token(Scope::Control)),
    ] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        assert_eq!(access(&method, path), expected, "{method} {path}");
    }
}

#[test]
fn tokens_are_read_from_the_header_alone() {
    let token_of =
        |value: &str| token(&headers(&[("authorization", value)])).map(ToOwned::to_owned);
    assert_eq!(token_of("Bearer abc").as_deref(), Some("abc"));
    assert_eq!(token_of("bearer  abc ").as_deref(), Some("abc"));
    assert_eq!(token_of("Basic abc"), None);
    assert_eq!(token_of("abc"), None);
    assert_eq!(token(&HeaderMap::new()), None);
}
