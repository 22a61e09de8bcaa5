//! Who may do what: tokens in files of the user, one for each launch, and those of open pages.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;

use crate::session::Moment;
use crate::text::shown;

use super::store::Key;

const TICKET_LIFE: Duration = Duration::from_secs(60);
const PAGE_LIFE: Duration = Duration::from_secs(12 * 3600);
/// More pages or tickets than this are not open at the same time; the oldest gives way.
const MOST: usize = 64;
const PAGES: &str = "pages";
/// No file of tokens is larger.
const LARGEST: u64 = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Post events.
    Collect,
    /// See everything, change nothing.
    Read,
    /// Everything.
    Control,
}

impl Scope {
    pub(super) const ALL: [Self; 3] = [Self::Control, Self::Read, Self::Collect];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Read => "read",
            Self::Control => "control",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }

    fn file(self) -> &'static str {
        match self {
            Self::Control => "token",
            Self::Read => "token.read",
            Self::Collect => "token.collect",
        }
    }

    pub(super) fn allows(self, wanted: Self) -> bool {
        self == Self::Control || self == wanted
    }
}

/// What a request was let in with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) scope: Scope,
    /// Events may be posted for this launch only.
    pub(super) launch: Option<Key>,
}

impl Grant {
    pub(super) fn everything() -> Self {
        Self { scope: Scope::Control, launch: None }
    }
}

#[derive(Debug)]
pub(super) struct Keys {
    dir: PathBuf,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    files: Vec<(Scope, String)>,
    launches: HashMap<Key, String>,
    tickets: Vec<(String, Scope, Moment)>,
    /// Good for one reader of the stream at this path.
    stream_tickets: Vec<(String, String, Moment)>,
    pages: Vec<(String, Scope, Moment)>,
}

impl Keys {
    /// Reads the token files, and makes those that are missing.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let files = Scope::ALL.map(|scope| Ok((scope, read_or_make(dir, scope)?)));
        let files = files.into_iter().collect::<Result<_>>()?;
        let pages = read_pages(dir);
        let held = Held {
            files,
            launches: HashMap::new(),
            tickets: Vec::new(),
            stream_tickets: Vec::new(),
            pages,
        };
        Ok(Self { dir: dir.to_owned(), held: Mutex::new(held) })
    }

    pub(super) fn grant(&self, token: &str, now: Moment) -> Option<Grant> {
        let held = self.lock();
        // All are compared, so that the time tells nothing about which one was nearly right.
        let mut found = None;
        let mut look = |known: &str, scope, launch: Option<&Key>| {
            if is_same(known, token) {
                found = Some(Grant { scope, launch: launch.cloned() });
            }
        };
        for (scope, known) in &held.files {
            look(known, *scope, None);
        }
        for (launch, known) in &held.launches {
            look(known, Scope::Collect, Some(launch));
        }
        for (known, scope, until) in &held.pages {
            if *until > now {
                look(known, *scope, None);
            }
        }
        found
    }

    /// A token that lets a launch post its own events.
    pub(super) fn for_launch(&self, launch: &Key) -> String {
        let token = random();
        self.lock().launches.insert(launch.clone(), token.clone());
        token
    }

    /// Ends the token of a launch.
    pub(super) fn forget(&self, launch: &Key) {
        self.lock().launches.remove(launch);
    }

    /// What a browser is opened with: good for one exchange within a minute.
    pub(super) fn ticket(&self, scope: Scope, now: Moment) -> String {
        let ticket = random();
        let until = now.plus_seconds(TICKET_LIFE.as_secs());
        remember(&mut self.lock().tickets, (ticket.clone(), scope, until));
        ticket
    }

    /// Takes a ticket and gives a token for the page, with its life in seconds.
    pub(super) fn exchange(&self, ticket: &str, now: Moment) -> Option<(String, Scope, u64)> {
        let mut held = self.lock();
        held.tickets.retain(|(_, _, until)| *until > now);
        let at = held.tickets.iter().position(|(known, _, _)| is_same(known, ticket))?;
        let (_, scope, _) = held.tickets.swap_remove(at);
        let token = random();
        let until = now.plus_seconds(PAGE_LIFE.as_secs());
        remember(&mut held.pages, (token.clone(), scope, until));
        write_pages(&self.dir, &held.pages);
        Some((token, scope, PAGE_LIFE.as_secs()))
    }

    /// For readers that cannot send a header: opens the stream at `path` once, within a minute.
    pub(super) fn stream_ticket(&self, path: &str, now: Moment) -> String {
        let ticket = random();
        let until = now.plus_seconds(TICKET_LIFE.as_secs());
        remember(&mut self.lock().stream_tickets, (ticket.clone(), path.to_owned(), until));
        ticket
    }

    /// Takes a ticket for a stream; at another path it is good for nothing, but not lost either.
    pub(super) fn open_stream(&self, ticket: &str, path: &str, now: Moment) -> bool {
        let mut held = self.lock();
        held.stream_tickets.retain(|(_, _, until)| *until > now);
        let fits = |(known, at, _): &(String, String, Moment)| is_same(known, ticket) && at == path;
        let found = held.stream_tickets.iter().position(fits);
        found.map(|at| held.stream_tickets.swap_remove(at)).is_some()
    }

    /// Ends the token of a page.
    pub(super) fn revoke(&self, token: &str) -> bool {
        let mut held = self.lock();
        let before = held.pages.len();
        held.pages.retain(|(known, _, _)| !is_same(known, token));
        write_pages(&self.dir, &held.pages);
        held.pages.len() < before
    }

    /// Replaces a token; the old one ends at once. Open pages end with the token for everything.
    pub(super) fn rotate(&self, scope: Scope) -> Result<String> {
        let token = write_new(&self.dir, scope)?;
        let mut held = self.lock();
        for (known, value) in &mut held.files {
            if *known == scope {
                value.clone_from(&token);
            }
        }
        if scope != Scope::Collect {
            held.stream_tickets.clear();
        }
        if scope == Scope::Control {
            held.pages.clear();
            held.tickets.clear();
            write_pages(&self.dir, &held.pages);
        }
        Ok(token)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remember<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= MOST {
        list.remove(0);
    }
    list.push(item);
}

/// The token in a file, which is made where it is missing.
pub(super) fn read_or_make(dir: &Path, scope: Scope) -> Result<String> {
    let path = dir.join(scope.file());
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => write_new(dir, scope),
        read => {
            let token =
                read.with_context(|| format!("the token in {} is refused", shown(&path)))?;
            let is_token = token.len() >= 43 && token.bytes().all(|byte| byte.is_ascii_graphic());
            match is_token {
                true => Ok(token),
                false => bail!(
                    "{} holds no token\nTry: cld hub token --rotate --scope {}",
                    shown(&path),
                    scope.word()
                ),
            }
        }
    }
}

/// Writes a new token beside the old one and puts it in its place.
pub(super) fn write_new(dir: &Path, scope: Scope) -> Result<String> {
    let (token, path) = (random(), dir.join(scope.file()));
    let written = replace(&path, &format!("{token}\n"));
    written.with_context(|| format!("{} cannot be written", shown(&path)))?;
    Ok(token)
}

/// Writes a private file beside the old one and puts it in its place. Whatever lies there already,
/// a link too, is replaced and not written through.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = path.to_owned().into_os_string();
    new.push(format!(".new.{}", std::process::id()));
    // A hub that was killed in between, and whose number is used again, may have left one.
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, path))
}

/// Open pages stay logged in when the hub is started again.
fn read_pages(dir: &Path) -> Vec<(String, Scope, Moment)> {
    let text = read(&dir.join(PAGES)).unwrap_or_default();
    let page = |line: &str| {
        let [token, scope, until] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        Some((token.to_owned(), Scope::parse(scope)?, Moment::from_micros(until.parse().ok()?)))
    };
    text.lines().filter_map(page).collect()
}

/// Pages that cannot be written down are logged out by the next start, and nothing worse.
fn write_pages(dir: &Path, pages: &[(String, Scope, Moment)]) {
    let line = |(token, scope, until): &(String, Scope, Moment)| {
        format!("{token} {} {}\n", scope.word(), until.micros())
    };
    let text: String = pages.iter().map(line).collect();
    let _ = replace(&dir.join(PAGES), &text);
}

/// Only a plain file that nobody else may read is believed.
fn read(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?);
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it is not a file of this user"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(io::Error::other("others may read it; make a new one with --rotate"));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

/// 256 random bits in the alphabet of URLs.
pub(super) fn random() -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = [0; 43];
    // Without randomness there is no security, and nothing to go on with.
    getrandom::fill(&mut bytes).unwrap_or_else(|_| std::process::abort());
    // 43 letters of six bits each.
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 64)])).collect()
}

/// Takes as long for a near miss as for a far one.
fn is_same(known: &str, given: &str) -> bool {
    let (known, given) = (known.as_bytes(), given.as_bytes());
    if known.len() != given.len() {
        return false;
    }
    let differences = known.iter().zip(given).fold(0, |found, (a, b)| found | (a ^ b));
    std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn now() -> Moment {
        Moment::from_seconds(1_794_964_287)
    }

    fn keys() -> (tempfile::TempDir, Keys) {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::open(dir.path()).unwrap();
        (dir, keys)
    }

    fn token(dir: &Path, scope: Scope) -> String {
        fs::read_to_string(dir.join(scope.file())).unwrap().trim().to_owned()
    }

    #[test]
    fn the_files_are_private_and_their_tokens_grant_their_scope() {
        let (dir, keys) = keys();
        for scope in Scope::ALL {
            let path = dir.path().join(scope.file());
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            let grant = keys.grant(&token(dir.path(), scope), now());
            assert_eq!(grant, Some(Grant { scope, launch: None }));
        }
        assert_eq!(Keys::open(dir.path()).unwrap().grant("", now()), None);
        let known = token(dir.path(), Scope::Read);
        assert_eq!(token(dir.path(), Scope::Read), known);
        assert_eq!(keys.grant(&known[..42], now()), None);
        assert_eq!(keys.grant(&format!("{known}x"), now()), None);
    }

    #[test]
    fn a_token_that_others_may_read_or_that_is_a_link_is_refused() {
        let (dir, _) = keys();
        let path = dir.path().join("token");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Keys::open(dir.path()).is_err());
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(Keys::open(dir.path()).is_err());
    }

    #[test]
    fn a_ticket_is_good_once_and_not_for_long() {
        let (_dir, keys) = keys();
        let ticket = keys.ticket(Scope::Control, now());
        assert_eq!(keys.exchange("other", now()), None);
        let (page, scope, _) = keys.exchange(&ticket, now()).unwrap();
        assert_eq!(scope, Scope::Control);
        assert_eq!(keys.exchange(&ticket, now()), None);
        assert!(keys.grant(&page, now()).is_some());
        assert_eq!(keys.grant(&page, now().plus_seconds(13 * 3600)), None);
        assert!(keys.revoke(&page) && keys.grant(&page, now()).is_none());
        let late = keys.ticket(Scope::Control, now());
        assert_eq!(keys.exchange(&late, now().plus_seconds(61)), None);
    }

    #[test]
    fn a_ticket_for_a_stream_opens_that_stream_once_and_not_for_long() {
        let (_dir, keys) = keys();
        let ticket = keys.stream_ticket("/events", now());
        assert_eq!((ticket.len(), keys.grant(&ticket, now())), (43, None), "it is no token");
        assert_eq!(keys.exchange(&ticket, now()), None, "and opens no page");
        assert!(!keys.open_stream(&ticket, "/sessions/s/events", now()));
        assert!(!keys.open_stream(&keys.ticket(Scope::Read, now()), "/events", now()));
        assert!(keys.open_stream(&ticket, "/events", now()));
        assert!(!keys.open_stream(&ticket, "/events", now()));
        let late = keys.stream_ticket("/events", now());
        assert!(!keys.open_stream(&late, "/events", now().plus_seconds(61)));
        for (scope, ends) in [(Scope::Collect, false), (Scope::Read, true), (Scope::Control, true)]
        {
            let ticket = keys.stream_ticket("/events", now());
            keys.rotate(scope).unwrap();
            assert_eq!(keys.open_stream(&ticket, "/events", now()), !ends, "{scope:?}");
        }
    }

    #[test]
    fn a_new_token_ends_the_old_one_and_the_pages() {
        let (dir, keys) = keys();
        let old = token(dir.path(), Scope::Control);
        let ticket = keys.ticket(Scope::Control, now());
        let (page, ..) = keys.exchange(&ticket, now()).unwrap();
        let new = keys.rotate(Scope::Control).unwrap();
        assert_eq!(token(dir.path(), Scope::Control), new);
        assert!(keys.grant(&new, now()).is_some());
        assert_eq!((keys.grant(&old, now()), keys.grant(&page, now())), (None, None));
    }

    #[test]
    fn a_launch_may_only_post_its_own_events() {
        let (_dir, keys) = keys();
        let launch = Key::new("l1");
        let token = keys.for_launch(&launch);
        let grant = keys.grant(&token, now()).unwrap();
        assert_eq!(grant, Grant { scope: Scope::Collect, launch: Some(launch.clone()) });
        assert!(!grant.scope.allows(Scope::Read) && !grant.scope.allows(Scope::Control));
        keys.forget(&launch);
        assert_eq!(keys.grant(&token, now()), None);
    }
}
