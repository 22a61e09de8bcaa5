//! Claude Code's own list of the directories it was started in: `projects` in `.claude.json`.
//!
//! The keys are exact paths, so encoding each one and comparing tells which directory a project
//! folder belongs to, without a look at the disk. All text is as another program wrote it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::slug;

/// The file holds caches and histories and reaches some megabytes; what is larger is not one.
const LARGEST: u64 = 64 * 1024 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Projects {
    dirs: Vec<PathBuf>,
    /// Where the checkouts of a repository are, by its name on the git host.
    repositories: BTreeMap<String, Vec<PathBuf>>,
}

impl Projects {
    /// What all these files say together; one that is missing or unreadable says nothing.
    pub fn read(files: &[PathBuf]) -> Self {
        let mut all = Self::default();
        for file in files {
            let Some(found) = content(file).and_then(|content| Self::parse(&content)) else {
                continue;
            };
            all.dirs.extend(found.dirs);
            all.repositories.extend(found.repositories);
        }
        all
    }

    fn parse(content: &[u8]) -> Option<Self> {
        let file: File<'_> = serde_json::from_slice(content).ok()?;
        let projects: BTreeMap<String, &RawValue> = inner(file.projects);
        let repositories: BTreeMap<String, &RawValue> = inner(file.github_repo_paths);
        Some(Self {
            dirs: projects.into_keys().map(PathBuf::from).collect(),
            repositories: repositories
                .into_iter()
                .map(|(name, dirs)| (name, inner(Some(dirs))))
                .collect(),
        })
    }

    /// The directories whose project folder is `slug`.
    pub fn with_slug(&self, slug: &str) -> Vec<PathBuf> {
        slug::matching_hints(slug, &self.dirs)
    }

    /// Other directories whose last component is that of `dir`.
    pub fn of_the_same_name(&self, dir: &Path) -> impl Iterator<Item = &Path> {
        let name = dir.file_name();
        let same = move |other: &&Path| name.is_some() && other.file_name() == name;
        self.dirs.iter().map(PathBuf::as_path).filter(same).filter(move |other| *other != dir)
    }

    /// Other checkouts of the repository `dir` is a checkout of, with the repository's name.
    pub fn of_the_same_repository(&self, dir: &Path) -> impl Iterator<Item = (&str, &Path)> {
        let holds = move |dirs: &[PathBuf]| dirs.iter().any(|other| other == dir);
        let own = self.repositories.iter().filter(move |(_, dirs)| holds(dirs));
        let all =
            own.flat_map(|(name, dirs)| dirs.iter().map(|dir| (name.as_str(), dir.as_path())));
        all.filter(move |(_, other)| *other != dir)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(borrow)]
    projects: Option<&'a RawValue>,
    #[serde(borrow)]
    github_repo_paths: Option<&'a RawValue>,
}

fn content(file: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(file).ok()?;
    (found.is_file() && found.len() <= LARGEST).then(|| fs::read(file).ok()).flatten()
}

/// A value of another shape than expected counts as an empty one.
fn inner<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
        "numStartups": 7,
        "projects": {
            "/home/u/foo_bar": {"lastSessionId": "x"},
            "/home/u/foo-bar": {},
            "/mnt/old/app": 3,
            "/home/u/app": {},
            "/home/u/caf\u00e9": {}
        },
        "githubRepoPaths": {"me/app": ["/mnt/old/app", "/home/u/clone"], "me/odd": "/x"}
    }"#;

    fn projects() -> Projects {
        Projects::parse(FILE.as_bytes()).unwrap()
    }

    #[test]
    fn a_folder_name_finds_every_directory_that_has_it() {
        let found = |slug| projects().with_slug(slug);
        assert_eq!(
            found("-home-u-foo-bar"),
            ["/home/u/foo-bar", "/home/u/foo_bar"].map(PathBuf::from)
        );
        assert_eq!(found("-home-u-caf-"), [PathBuf::from("/home/u/café")]);
        assert_eq!(found("-home-u"), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_moved_project_is_known_by_its_name_or_its_repository() {
        let projects = projects();
        let gone = Path::new("/mnt/old/app");
        assert_eq!(projects.of_the_same_name(gone).collect::<Vec<_>>(), [Path::new("/home/u/app")]);
        assert_eq!(
            projects.of_the_same_repository(gone).collect::<Vec<_>>(),
            [("me/app", Path::new("/home/u/clone"))]
        );
        assert_eq!(projects.of_the_same_name(Path::new("/")).count(), 0);
        assert_eq!(projects.of_the_same_repository(Path::new("/x")).count(), 0);
    }

    #[test]
    fn other_shapes_are_no_projects() {
        for content in
            ["", "[]", "{}", r#"{"projects":[1]}"#, r#"{"projects":null}"#, "{\"projects\":{"]
        {
            assert_eq!(
                Projects::parse(content.as_bytes()).unwrap_or_default(),
                Projects::default()
            );
        }
        assert_eq!(Projects::read(&["/nowhere/.claude.json".into()]), Projects::default());
    }
}
