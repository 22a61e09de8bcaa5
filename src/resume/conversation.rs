//! The transcript that is resumed: which file it is, and what it says of itself.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::error::Stop;
use crate::roster::past::slug_of;
use crate::shell::quoted;
use crate::text::shown;
use crate::transcript::{self, Copies, Origin, Reader, Session};
use crate::{slug, terminal};

use super::report::short;

#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) session: Session,
    pub(super) origin: Origin,
    /// Whether other folders hold a file with the same id.
    pub(super) is_double: bool,
}

impl Conversation {
    /// `files` are all files of one session. `may_ask` is whether the person can be asked which
    /// one is meant.
    pub(super) fn read(id: &str, files: &[Session], may_ask: bool) -> Result<Self> {
        let session = match files {
            [] => bail!("session {} has no transcript, so there is nothing to resume", short(id)),
            [only] => only.clone(),
            several => choose(several, may_ask)?,
        };
        let origin = origin(&session)?;
        if origin.is_sidechain || origin.is_teammate {
            bail!("{} is the conversation of a subagent, which cannot be resumed", short(id));
        }
        if !origin.has_turn {
            bail!(
                "nobody said anything in session {}, so there is nothing to resume ({})",
                short(id),
                shown(&session.path)
            );
        }
        Ok(Self { session, origin, is_double: files.len() > 1 })
    }

    /// What Claude Code takes to find this session from `dir`: the id where the session is at home
    /// there, else the file, which it takes from anywhere.
    pub(super) fn argument(&self, dir: Option<&Path>) -> OsString {
        let is_at_home =
            dir.and_then(slug::encode).is_some_and(|slug| *slug == *self.session.bucket);
        if is_at_home && !self.is_double {
            return OsString::from(&self.session.id);
        }
        let path = std::path::absolute(&self.session.path);
        path.unwrap_or_else(|_| self.session.path.clone()).into_os_string()
    }
}

fn origin(session: &Session) -> Result<Origin> {
    let origin = Reader::new().origin(&session.path, &session.bucket, slug_of);
    origin.with_context(|| format!("{} cannot be read", shown(&session.path)))
}

fn choose(files: &[Session], may_ask: bool) -> Result<Session> {
    let is_at_home = |file: &Session| origin(file).is_ok_and(|origin| origin.bucket_cwd.is_some());
    let id = short(&files[0].id);
    let compared = transcript::compare(files, is_at_home)
        .with_context(|| format!("the transcripts of session {id} cannot be compared"))?;
    let rows: Vec<String> = files.iter().map(|file| shown(&file.path)).collect();
    match compared {
        Copies::OneHoldsAll(session) => {
            terminal::note(&format!(
                "cld: session {id} has several transcripts:\n  {}\nGoing on with the one that holds all: {}",
                rows.join("\n  "),
                shown(&session.path)
            ));
            Ok(session)
        }
        Copies::Differ if may_ask => {
            terminal::note(&format!("Session {id} has several transcripts that differ:"));
            Ok(files[terminal::choose("Which one?", &rows)?].clone())
        }
        Copies::Differ => {
            let command =
                |file: &Session| format!("\n  cld resume {}", quoted(file.path.as_os_str()));
            let commands: String = files.iter().map(command).collect();
            Err(Stop::Usage(format!(
                "session {id} has several transcripts that differ\nTry one of:{commands}"
            ))
            .into())
        }
    }
}
