//! Places on the disk that cld or tmux leaves things in.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::text::shown;
use crate::tmux::sockets_in;

use super::check::Check;

/// Connecting to a server that hangs may hang too.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

const FIX: &str = "run `cld doctor --fix`";

/// cld's own directory holds what sessions are about, which is nobody else's business.
pub(super) fn state(dir: &Path, fix: bool) -> Vec<Check> {
    let name = shown(dir);
    let metadata = match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return vec![Check::ok("state", format!("{name} does not exist yet"))];
        }
        Err(error) => {
            let message = format!("{name} cannot be looked at: {error}");
            return vec![Check::error("state", message, "see who owns the directories above")];
        }
        Ok(metadata) => metadata,
    };
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        let message = format!("{name} is not a directory of yours, so nothing is logged");
        return vec![Check::error("state", message, "move it away")];
    }
    let open = others_may_read(dir);
    if open.is_empty() {
        return vec![Check::ok("state", format!("{name} is yours alone"))];
    }
    if !fix {
        let message = format!("{name} or files in it can be read by others");
        return vec![Check::warn("state", message, FIX)];
    }
    let closed = open
        .iter()
        .try_for_each(|(path, mode)| fs::set_permissions(path, Permissions::from_mode(*mode)));
    vec![match closed {
        Ok(()) => Check::fixed("state", format!("{name} is yours alone now")),
        Err(error) => {
            Check::error("state", format!("{name} cannot be closed: {error}"), "use chmod -R go=")
        }
    }]
}

/// The directory and what is in it that others may read, with the mode each should have.
fn others_may_read(dir: &Path) -> Vec<(PathBuf, u32)> {
    let mut open = Vec::new();
    let mut unseen = vec![dir.to_owned()];
    while let Some(path) = unseen.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_symlink() {
            continue;
        }
        if found.mode() & 0o077 != 0 {
            let mode = if found.is_dir() { 0o700 } else { 0o600 };
            open.push((path.clone(), mode));
        }
        if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten();
            unseen.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
    }
    open
}

/// Sockets that no tmux server listens on any more, as a crash leaves them.
pub(super) fn sockets(dir: &Path, fix: bool) -> Vec<Check> {
    let stale: Vec<PathBuf> = sockets_in(dir).into_iter().filter(|path| is_stale(path)).collect();
    let checks = stale.iter().map(|path| {
        let name = shown(path);
        if !fix {
            return Check::warn("sockets", format!("no server listens on {name}"), FIX);
        }
        match fs::remove_file(path) {
            Ok(()) => Check::fixed("sockets", format!("{name} removed, no server listened on it")),
            Err(error) => Check::warn("sockets", format!("{name} stays: {error}"), "remove it"),
        }
    });
    checks.collect()
}

fn is_stale(socket: &Path) -> bool {
    let (sender, answer) = mpsc::channel();
    let socket = socket.to_owned();
    let connect = move || sender.send(UnixStream::connect(socket).map(|_| ()));
    if thread::Builder::new().spawn(connect).is_err() {
        return false;
    }
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    matches!(answer.recv_timeout(CONNECT_LIMIT), Ok(Err(error)) if refused(&error))
}

#[cfg(test)]
mod tests {
    use super::super::check::Level;
    use super::*;
    use std::os::unix::net::UnixListener;

    fn levels(checks: &[Check]) -> Vec<Level> {
        checks.iter().map(|check| check.level).collect()
    }

    #[test]
    fn a_state_directory_others_can_read_is_told_and_closed() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("cld");
        assert_eq!(levels(&state(&dir, false)), [Level::Ok]);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("journal.jsonl"), "").unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(dir.join("journal.jsonl"), Permissions::from_mode(0o644)).unwrap();
        assert_eq!(levels(&state(&dir, false)), [Level::Warn]);
        assert_eq!(levels(&state(&dir, true)), [Level::Fixed]);
        assert_eq!(levels(&state(&dir, false)), [Level::Ok]);
        assert_eq!(fs::metadata(dir.join("journal.jsonl")).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_directory_in_it_can_still_be_entered_when_it_was_closed() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("cld");
        let hub = dir.join("hub");
        fs::create_dir_all(&hub).unwrap();
        fs::write(hub.join("tokens.json"), "").unwrap();
        for (path, mode) in [(&dir, 0o700), (&hub, 0o755), (&hub.join("tokens.json"), 0o640)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(levels(&state(&dir, true)), [Level::Fixed]);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&hub), mode(&hub.join("tokens.json"))), (0o700, 0o600));
    }

    #[test]
    fn something_else_in_the_place_of_the_state_directory_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("cld");
        std::os::unix::fs::symlink(home.path(), &dir).unwrap();
        assert_eq!(levels(&state(&dir, true)), [Level::Error]);
    }

    #[test]
    fn only_sockets_without_a_server_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let _alive = UnixListener::bind(dir.path().join("alive")).unwrap();
        drop(UnixListener::bind(dir.path().join("stale")).unwrap());
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(levels(&sockets(dir.path(), false)), [Level::Warn]);
        assert_eq!(levels(&sockets(dir.path(), true)), [Level::Fixed]);
        assert!(sockets(dir.path(), false).is_empty());
        assert!(dir.path().join("alive").exists() && dir.path().join("file").exists());
    }
}
