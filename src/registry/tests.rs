use super::{Entry, Status, TmuxPlace, parse, pid_in_name, read};
use proptest::prelude::{any, prop, proptest};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const RECORDED: &str = include_str!("../../tests/fixtures/registry/3539.json");

struct Config {
    root: TempDir,
}

impl Config {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        fs::create_dir(root.path().join("sessions")).unwrap();
        Self { root }
    }

    fn path(&self) -> PathBuf {
        self.root.path().to_owned()
    }

    fn plant(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().join("sessions").join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn read(&self) -> Vec<Entry> {
        read(&[self.path()])
    }
}

fn entry(json: &str) -> Entry {
    parse(json.as_bytes(), 1, Path::new("/c")).unwrap()
}

#[test]
fn a_recorded_entry_is_read_in_full() {
    let entry = entry(RECORDED);
    assert_eq!(entry.pid, 3539);
    assert_eq!(entry.session_id, "c5a283fc-d3b7-4879-9c1e-7c0190deeb2d");
    assert_eq!(entry.cwd.as_deref(), Some("/home/u/proj"));
    assert_eq!(entry.proc_start.as_deref(), Some("313692"));
    assert_eq!(entry.version.as_deref(), Some("2.1.326"));
    assert_eq!(entry.entrypoint.as_deref(), Some("cli"));
    assert_eq!(entry.kind.as_deref(), Some("interactive"));
    assert_eq!(entry.name.as_deref(), Some("lab sample"));
    assert_eq!((entry.status, entry.waiting_for.as_deref()), (Status::Idle, None));
    let place =
        TmuxPlace { session: "lab".to_owned(), window: "@2".to_owned(), pane: "%2".to_owned() };
    assert_eq!(entry.tmux, Some(place));
    assert_eq!(entry.started_at, Some(1_794_964_287_516));
    assert_eq!(entry.updated_at, Some(1_794_964_316_083));
    assert_eq!(entry.status_updated_at, Some(1_794_964_316_083));
}

#[test]
fn fields_that_are_missing_or_of_another_kind_are_left_out() {
    let bare = entry(r#"{"sessionId":"s"}"#);
    assert_eq!((bare.pid, bare.status, bare.tmux), (1, Status::Unknown, None));
    let odd = entry(
        r#"{"sessionId":"s","pid":"7","cwd":{},"procStart":42,"status":"thinking","waitingFor":{"tool":"Bash"},
            "tmux":[],"updatedAt":"soon","new":[{}]}"#,
    );
    assert_eq!((odd.pid, odd.status, odd.updated_at), (1, Status::Unknown, None));
    assert_eq!((odd.cwd, odd.waiting_for), (None, None));
    assert_eq!(odd.proc_start.as_deref(), Some("42"));
}

#[test]
fn every_status_is_known() {
    for (text, expected) in [
        ("busy", Status::Busy),
        ("idle", Status::Idle),
        ("waiting", Status::Waiting),
        ("shell", Status::Shell),
        ("", Status::Unknown),
    ] {
        let json =
            format!(r#"{{"sessionId":"s","status":"{text}","waitingFor":"permission prompt"}}"#);
        assert_eq!(entry(&json).status, expected, "{text}");
        assert_eq!(entry(&json).waiting_for.as_deref(), Some("permission prompt"));
    }
}

#[track_caller]
fn check_place(text: &str, expected: Option<(&str, &str, &str)>) {
    let place = TmuxPlace::parse(text);
    let parts = place.as_ref().map(|p| (p.session.as_str(), p.window.as_str(), p.pane.as_str()));
    assert_eq!(parts, expected, "{text}");
}

#[test]
fn tmux_places_are_read_from_the_right() {
    check_place("lab:@2.%13", Some(("lab", "@2", "%13")));
    check_place("odd:@1.%2 name:@3.%4", Some(("odd:@1.%2 name", "@3", "%4")));
    check_place("a b\t#{x};é:@0.%0", Some(("a b\t#{x};é", "@0", "%0")));
    check_place(":@1.%2", Some(("", "@1", "%2")));
    check_place("lab:2.1", None);
    check_place("lab:@2.%", None);
    check_place("lab:@.%2", None);
    check_place("lab:@2.%2;", None);
    check_place("", None);
}

#[test]
fn only_names_of_digits_and_json_are_entries() {
    for (name, expected) in [
        ("3539.json", Some(3539)),
        ("0.json", Some(0)),
        (".json", None),
        ("3539.9f2c.key", None),
        ("3539.9f2c.json", None),
        ("3539.json.tmp", None),
        ("3539.JSON", None),
        ("-1.json", None),
        ("+1.json", None),
        ("１.json", None),
        ("99999999999999999999.json", None),
    ] {
        assert_eq!(pid_in_name(OsStr::new(name)), expected, "{name}");
    }
}

#[test]
fn other_files_in_the_folder_are_never_opened() {
    let config = Config::new();
    let secret = config.plant("3539.9f2c.key", r#"{"sessionId":"secret"}"#);
    config.plant("3539.json.tmp", r#"{"sessionId":"other"}"#);
    symlink(&secret, config.root.path().join("sessions/77.json")).unwrap();
    fs::create_dir(config.root.path().join("sessions/78.json")).unwrap();
    assert_eq!(config.read(), []);
}

#[test]
fn what_is_no_entry_is_left_out() {
    let config = Config::new();
    config.plant("1.json", "");
    config.plant("2.json", "{\"sessionId\":\"torn");
    config.plant("3.json", "[\"sessionId\"]");
    config.plant("4.json", "{\"pid\":4}");
    config.plant("5.json", b"{\"sessionId\":\"\xff\"}");
    config.plant("6.json", format!("{{\"sessionId\":\"s\",\"x\":\"{}\"}}", "x".repeat(100_000)));
    assert_eq!(config.read(), []);
    assert_eq!(read(&[config.path().join("missing")]), []);
}

#[test]
fn several_config_dirs_are_read_in_the_order_of_process_ids() {
    let (one, two) = (Config::new(), Config::new());
    one.plant("30.json", r#"{"pid":30,"sessionId":"c"}"#);
    one.plant("4.json", r#"{"pid":4,"sessionId":"a"}"#);
    two.plant("5.json", r#"{"pid":5,"sessionId":"b"}"#);
    let entries = read(&[one.path(), two.path()]);
    assert_eq!(
        entries.iter().map(|entry| entry.session_id.as_str()).collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert_eq!(entries[1].config_dir, two.path());
}

#[cfg(target_os = "linux")]
#[test]
fn a_running_process_is_alive_and_a_stale_or_reused_id_is_dead() {
    use super::Liveness;
    // Above the largest process id a system gives out.
    const NO_SUCH_PID: u32 = 2_000_000_000;
    let own = std::process::id();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let own_start = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    for (pid, proc_start, expected) in [
        (own, own_start, Liveness::Alive),
        (own, "1", Liveness::Dead),
        (own, "", Liveness::Unknown),
        (NO_SUCH_PID, own_start, Liveness::Dead),
    ] {
        let config = Config::new();
        let json = format!(r#"{{"pid":{pid},"sessionId":"s","procStart":"{proc_start}"}}"#);
        config.plant(&format!("{pid}.json"), json);
        assert_eq!(config.read()[0].liveness, expected, "{pid} {proc_start}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&bytes, 1, Path::new("/c"));
    }

    #[test]
    fn no_cut_of_an_entry_is_an_entry(cut in 0..RECORDED.trim_end().len()) {
        assert_eq!(parse(&RECORDED.as_bytes()[..cut], 1, Path::new("/c")), None);
    }

    #[test]
    fn any_name_and_ids_come_back_from_a_place(
        session in "[^\\x00]{0,20}",
        window in any::<u16>(),
        pane in any::<u16>(),
    ) {
        let place = TmuxPlace::parse(&format!("{session}:@{window}.%{pane}")).unwrap();
        let (window, pane) = (format!("@{window}"), format!("%{pane}"));
        assert_eq!(place, TmuxPlace { session, window, pane });
    }
}
