//! A project: a directory and all that is below it. `--here` is the one around the current directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::slug;

/// Slugs longer than this are cut, so nothing can be told from what comes after.
const SLUG_CUT: usize = 200;

#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    slug: String,
}

impl Project {
    /// The git repository around this directory, else the directory itself.
    pub fn of_this_directory() -> Result<Self> {
        let here = std::env::current_dir().context("the current directory is gone")?;
        let repository = here.ancestors().find(|dir| dir.join(".git").exists());
        Ok(Self::at(repository.unwrap_or(&here)))
    }

    pub fn at(root: &Path) -> Self {
        let mut slug = slug::encode(root).unwrap_or_default();
        slug.truncate(SLUG_CUT);
        Self { root: root.to_owned(), slug }
    }

    pub fn holds(&self, directory: Option<&Path>) -> bool {
        directory.is_some_and(|directory| directory.starts_with(&self.root))
    }

    /// Whether sessions of the project may have their transcripts in this folder. Saves reading
    /// those of all other projects.
    pub fn may_hold(&self, bucket: &str) -> bool {
        let is_named_freely = !bucket.starts_with('-');
        is_named_freely || bucket.starts_with(&self.slug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_holds_its_directory_and_what_is_below() {
        let project = Project::at(Path::new("/home/u/proj"));
        for (directory, expected) in [
            ("/home/u/proj", true),
            ("/home/u/proj/.claude/worktrees/x", true),
            ("/home/u/proj2", false),
            ("/home/u", false),
        ] {
            assert_eq!(project.holds(Some(Path::new(directory))), expected, "{directory}");
        }
        assert!(!project.holds(None));
    }

    #[test]
    fn no_folder_of_the_project_is_left_out() {
        let project = Project::at(Path::new("/home/u/proj"));
        for (bucket, expected) in [
            ("-home-u-proj", true),
            ("-home-u-proj-sub", true),
            ("shorty", true),
            ("-home-u-other", false),
        ] {
            assert_eq!(project.may_hold(bucket), expected, "{bucket}");
        }
        let long = format!("/{}", "a".repeat(300));
        let below = slug::encode(Path::new(&long).join("b").as_path()).unwrap();
        assert!(Project::at(Path::new(&long)).may_hold(&below));
    }
}
