//! What of all that was said is looked at. Pure.

use std::path::Path;
use std::time::SystemTime;

use super::record::{Hit, Who};
use crate::ls::project::Project as Root;
use crate::roster::Listed;
use crate::slug;
use crate::transcript::Session;

/// Slugs longer than this are cut, so nothing can be told from what comes after.
const SLUG_CUT: usize = 200;
const USUAL_HITS: usize = 3;

#[derive(Debug, Clone)]
pub struct Scope {
    /// Whose words; everybody's where it is empty.
    pub who: Vec<Who>,
    pub project: Option<Project>,
    /// Only what was said on this git branch.
    pub branch: Option<String>,
    /// Only what was said since then.
    pub since: Option<SystemTime>,
    /// How many sessions are told.
    pub limit: Option<usize>,
    /// How many hits of each session are told.
    pub hits_each: usize,
    /// Whether titles and prompts are worth more than what tools said.
    pub by_score: bool,
    /// Whether copies of a conversation are told as well.
    pub with_forks: bool,
    /// Whether sessions are told that scripts drive.
    pub with_scripted: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            who: Vec::new(),
            project: None,
            branch: None,
            since: None,
            limit: None,
            hits_each: USUAL_HITS,
            by_score: false,
            with_forks: false,
            with_scripted: false,
        }
    }
}

/// The project a session belongs to.
#[derive(Debug, Clone)]
pub enum Project {
    /// A directory and what is below it.
    At(Root),
    /// Part of the name of the directory.
    Named(String),
}

impl Scope {
    /// Whether a file is worth opening, as far as can be told from outside.
    pub fn admits_file(&self, file: &Session) -> bool {
        self.since.is_none_or(|since| file.modified >= since)
            && self.project.as_ref().is_none_or(|project| project.may_hold(&file.bucket))
    }

    pub(super) fn admits(&self, hit: &Hit) -> bool {
        (self.who.is_empty() || self.who.contains(&hit.who))
            // Titles are not dated, and belong to no branch.
            && self.since.is_none_or(|since| hit.said_at.is_none_or(|said_at| said_at >= since))
            && self.branch.as_ref().is_none_or(|branch| hit.branch.as_ref() == Some(branch))
    }

    pub(super) fn admits_session(&self, session: &Listed) -> bool {
        self.project.as_ref().is_none_or(|project| project.holds(session.directory.as_deref()))
    }
}

impl Project {
    fn holds(&self, directory: Option<&Path>) -> bool {
        match self {
            Self::At(root) => root.holds(directory),
            Self::Named(name) => directory.and_then(Path::file_name).is_some_and(|last| {
                last.to_string_lossy().to_lowercase().contains(&name.to_lowercase())
            }),
        }
    }

    /// Whether sessions of the project may have their transcripts in this folder. Folders with a
    /// name of their own, and names that are cut, tell nothing.
    fn may_hold(&self, bucket: &str) -> bool {
        match self {
            Self::At(root) => root.may_hold(bucket),
            Self::Named(name) => {
                let slug = slug::encode(Path::new(name)).unwrap_or_default().to_lowercase();
                !bucket.starts_with('-')
                    || bucket.len() >= SLUG_CUT
                    || !name.is_ascii()
                    || bucket.to_lowercase().contains(&slug)
            }
        }
    }
}

#[cfg(test)]
mod tests;
