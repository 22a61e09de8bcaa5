//! The documentation of the hub is run, and says what is true.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::generated::{has, repository};
use crate::hub_world::{Hub, world};
use crate::world::{World, poll_until};

/// A shell or a program that finds this world's hub as `cld`.
fn in_world(world: &World, program: &str) -> Command {
    let mut command = world.cld(&[]);
    let variables: Vec<_> = command
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    command = Command::new(program);
    command.env_clear().current_dir(world.path("project"));
    for (name, value) in variables {
        command.env(name, value.unwrap_or_default());
    }
    command
}

/// A world whose `PATH` has cld too.
fn documented_world() -> World {
    let world = world();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cld"), world.path("bin/cld")).unwrap();
    world
}

#[test]
fn every_example_of_the_page_works() {
    if !has("curl") || !has("jq") {
        return;
    }
    let page = fs::read_to_string(repository().join("shell/hub.md")).unwrap();
    let world = documented_world();
    let hub = Hub::start(&world);
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 4);
    let mut said = Vec::new();
    for block in blocks {
        let output = in_world(&world, "sh").args(["-euc", block]).output().unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{block}\n{out}{err}\n{}", hub.log());
        said.push(out.into_owned());
    }
    assert!(said[0].contains("\"ok\":true"), "{said:?}");
    assert!(said[2].contains("\"state\":\"submitted\""), "{said:?}");
    assert!(said[2].contains("SessionStart\nUserPromptSubmit"), "{said:?}");
    assert!(said[2].contains("\"session_end_seen\":true"), "{said:?}");
}

#[test]
fn the_page_tells_of_every_route_and_the_description_too() {
    let page = fs::read_to_string(repository().join("shell/hub.md")).unwrap();
    let world = world();
    let hub = Hub::start(&world);
    let description = hub.get("/openapi.json").json;
    assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
    for (path, operations) in description["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let route = format!("{} {path}", method.to_uppercase());
            assert!(path.starts_with("/auth/") || page.contains(&format!("`{route}")), "{route}");
            // Every route that is described is there, and asks for a token unless it says otherwise.
            let body = (method == "post").then_some(&b"{}"[..]);
            let (name, at) = (method.to_uppercase(), path.replace("{id}", "x"));
            // A stream does not end.
            if route != "GET /events" {
                let answer = hub.send(&hub.token, &name, &at, body);
                let is_there = answer.status != 405 && answer.code() != "not_found";
                assert!(is_there || path == "/auth/session", "{route} {answer:?}");
            }
            let is_public = operations[method]["security"] == json!([]);
            let headers = [("Content-Type", "application/json")];
            let answer = hub.request(&name, &at, &headers, b"{}");
            assert_eq!(answer.code() == "unauthorized", !is_public, "{route}");
        }
    }
    let codes: BTreeSet<String> = all_codes(&description);
    for code in ["awaiting_user", "not_ready", "session_ended", "unconfirmed"] {
        assert!(codes.contains(code) && page.contains(code), "{code}");
    }
}

fn all_codes(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(members) => {
            let own =
                members.get("code").and_then(|code| code["enum"].as_array()).into_iter().flatten();
            let own = own.filter_map(|code| code.as_str().map(str::to_owned));
            own.chain(members.values().flat_map(all_codes)).collect()
        }
        Value::Array(values) => values.iter().flat_map(all_codes).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn the_example_readers_read_and_come_back() {
    for (program, example) in [("python3", "subscribe.py"), ("sh", "subscribe.sh")] {
        if !has(program) || !has("curl") {
            continue;
        }
        let world = documented_world();
        let hub = Hub::start(&world);
        let mut command = in_world(&world, program);
        command.arg(repository().join("shell/examples").join(example));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let next = |lines: &mut std::io::Lines<_>, wanted: &str| {
            let mut found = lines.by_ref().map(|line: std::io::Result<String>| line.unwrap());
            assert!(found.any(|line| line.contains(wanted)), "{example}: {wanted}");
        };
        poll_until("it reads", || hub.metric("streams") == 1);
        hub.post_event(&json!({ "hook_event_name": "First", "session_id": "s" }));
        next(&mut lines, "First");
        hub.kill();
        let hub = Hub::start(&world);
        hub.post_event(&json!({ "hook_event_name": "Second", "session_id": "s" }));
        next(&mut lines, "Second");
        let _ = child.kill();
        let _ = child.wait();
        hub.shut_down();
    }
}

#[test]
fn the_units_start_the_hub_and_give_it_time_to_end() {
    let unit = fs::read_to_string(repository().join("shell/cld-hub.service")).unwrap();
    assert!(
        unit.contains("ExecStart=%h/.local/bin/cld hub\n") && unit.contains("TimeoutStopSec=15")
    );
    assert!(unit.contains("KillMode=process"), "tmux is not systemd's to kill");
    if !has("systemd-analyze") {
        return;
    }
    let world = documented_world();
    // Where ./install.sh and a package put it; the latter is not here.
    let bin = world.home().join(".local/bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cld"), bin.join("cld")).unwrap();
    let packaged = fs::read_to_string(repository().join(".packaging/cld-hub.service")).unwrap();
    let packaged = packaged.replace("/usr/bin/cld", env!("CARGO_BIN_EXE_cld"));
    for (folder, unit) in [("shell", unit), ("packaging", packaged)] {
        let path = world.path(folder).join("cld-hub.service");
        fs::create_dir(world.path(folder)).unwrap();
        fs::write(&path, unit).unwrap();
        let mut verify = in_world(&world, "systemd-analyze");
        verify.args(["verify", "--user", "--man=no"]).arg(path);
        let output = verify.env("XDG_RUNTIME_DIR", world.path("")).output().unwrap();
        // What it does not understand it tells, and ends with 0.
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{folder}");
        assert!(output.status.success(), "{folder}");
    }
}

#[test]
fn launchd_is_given_the_hub_and_time_to_end_it() {
    if !has("python3") {
        return;
    }
    let read = "import json, plistlib, sys; print(json.dumps(plistlib.load(sys.stdin.buffer)))";
    let mut python = Command::new("python3");
    let plist = fs::File::open(repository().join("shell/cld-hub.plist")).unwrap();
    let output = python.args(["-c", read]).stdin(plist).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let plist: Value = serde_json::from_slice(&output.stdout).expect(&error);
    assert_eq!(plist["ProgramArguments"], json!(["/usr/local/bin/cld", "hub"]));
    assert_eq!(plist["ExitTimeOut"], 15);
    assert_eq!(plist["KeepAlive"], json!({ "SuccessfulExit": false }));
    assert_eq!((&plist["Label"], &plist["RunAtLoad"]), (&json!("cld-hub"), &json!(true)));
}
