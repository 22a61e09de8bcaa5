//! The tmux servers of this user, each asked at the same time.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::list::{Listing, ask_for_panes};

/// The sockets in tmux's folder, by name. A server that crashed leaves its socket behind.
pub fn sockets_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map_while(Result::ok);
    let is_socket = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_socket());
    let mut sockets: Vec<PathBuf> = entries.filter(is_socket).map(|entry| entry.path()).collect();
    sockets.sort();
    sockets
}

/// The panes of each server, in the order of the sockets. A thread whose server does not answer is
/// left behind at the deadline: even connecting can hang, and nothing else ends the wait for it.
pub fn list_each(program: &Path, sockets: &[PathBuf], deadline: Instant) -> Vec<Listing> {
    let (sender, receiver) = mpsc::channel();
    for (position, socket) in sockets.iter().enumerate() {
        let (sender, socket, program) = (sender.clone(), socket.clone(), program.to_owned());
        let ask = move || {
            // Nobody listens any more when the deadline has passed.
            let _ = sender.send((position, list(&program, &socket, deadline)));
        };
        if thread::Builder::new().spawn(ask).is_err() {
            break;
        }
    }
    drop(sender);
    let mut listings: Vec<Listing> = sockets.iter().map(|_| Listing::Silent).collect();
    let left = || deadline.saturating_duration_since(Instant::now());
    while let Ok((position, listing)) = receiver.recv_timeout(left()) {
        listings[position] = listing;
    }
    listings
}

fn list(program: &Path, socket: &Path, deadline: Instant) -> Listing {
    // A stale socket refuses at once, which is cheaper than starting tmux to find out.
    match UnixStream::connect(socket) {
        Ok(_) => ask_for_panes(program, socket, deadline).finish(),
        Err(_) => Listing::NoServer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    #[test]
    fn only_sockets_are_servers() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        let _b = UnixListener::bind(dir.path().join("b")).unwrap();
        let _a = UnixListener::bind(dir.path().join("a")).unwrap();
        assert_eq!(sockets_in(dir.path()), ["a", "b"].map(|name| dir.path().join(name)));
        assert!(sockets_in(&dir.path().join("missing")).is_empty());
    }

    #[test]
    fn a_stale_socket_has_no_server() {
        let dir = tempfile::tempdir().unwrap();
        let stale = dir.path().join("stale");
        drop(UnixListener::bind(&stale).unwrap());
        let listings = list_each(
            Path::new("/nonexistent/tmux"),
            &[stale, dir.path().join("missing")],
            Instant::now() + Duration::from_secs(20),
        );
        assert_eq!(listings, [Listing::NoServer, Listing::NoServer]);
    }
}
