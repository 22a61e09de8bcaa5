//! One id in two folders: a project was copied together with its transcripts, and perhaps one of
//! them went on.

use super::Session;
use super::pieces::{PIECE, Source};
use std::io;
use std::path::Path;

/// What several files of one session are to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copies {
    /// The others are this one, or what it was at an earlier time.
    OneHoldsAll(Session),
    /// Each has something that the others do not have.
    Differ,
}

/// Compares the files of one session. Of equal ones the first counts for which `is_at_home` holds.
pub fn compare(files: &[Session], is_at_home: impl Fn(&Session) -> bool) -> io::Result<Copies> {
    let longest = files.iter().map(|file| file.size).max();
    let equal: Vec<&Session> = files.iter().filter(|file| Some(file.size) == longest).collect();
    let Some(first) = equal.first() else { return Ok(Copies::Differ) };
    for file in files.iter().filter(|file| file.path != first.path) {
        if !is_beginning_of(&file.path, &first.path)? {
            return Ok(Copies::Differ);
        }
    }
    let home = equal.iter().find(|file| is_at_home(file)).unwrap_or(first);
    Ok(Copies::OneHoldsAll((*home).clone()))
}

/// Whether a file has grown out of another one. Both ends of the shorter file are compared, not
/// what is between: transcripts are only ever appended to, and no line occurs twice.
fn is_beginning_of(short: &Path, long: &Path) -> io::Result<bool> {
    let (short, long) = (Source::open(short)?, Source::open(long)?);
    let end = short.size.saturating_sub(PIECE as u64);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for offset in [0, end] {
        let length = usize::try_from(short.size - offset).unwrap_or(PIECE).min(PIECE);
        short.read(offset, length, &mut one)?;
        long.read(offset, length, &mut other)?;
        if one != other {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::UNIX_EPOCH;
    use tempfile::TempDir;

    fn plant(dir: &TempDir, contents: &[&str]) -> Vec<Session> {
        let plant = |(number, content): (usize, &&str)| {
            let path = dir.path().join(number.to_string());
            fs::write(&path, content).unwrap();
            Session {
                id: "23e30f82-0000-4000-8000-00000000000a".to_owned(),
                bucket: number.to_string().into(),
                config_dir: dir.path().into(),
                path,
                modified: UNIX_EPOCH,
                size: content.len() as u64,
            }
        };
        contents.iter().enumerate().map(plant).collect()
    }

    #[track_caller]
    fn check(contents: &[&str], at_home: &str, expected: Option<&str>) {
        let dir = TempDir::new().unwrap();
        let files = plant(&dir, contents);
        let found = match compare(&files, |file| &*file.bucket == at_home).unwrap() {
            Copies::OneHoldsAll(session) => Some(session.bucket),
            Copies::Differ => None,
        };
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn the_copy_that_went_on_counts() {
        check(&["a\n", "a\nb\n"], "", Some("1"));
        check(&["a\nb\n", "a\n"], "1", Some("0"));
        check(&["a\n", "a\nb\n", "a\nb\nc\n"], "", Some("2"));
    }

    #[test]
    fn of_equal_copies_the_one_that_is_at_home_counts() {
        check(&["a\n", "a\n"], "", Some("0"));
        check(&["a\n", "a\n"], "1", Some("1"));
        check(&["a\n", "a\nb\n", "a\nb\n"], "0", Some("1"));
    }

    #[test]
    fn copies_that_both_went_on_differ() {
        check(&["a\nb\n", "a\nc\n"], "", None);
        check(&["a\nb\n", "a\nc\nd\n"], "", None);
    }

    #[test]
    fn large_files_are_compared_at_both_ends() {
        let head = "x".repeat(3 * PIECE);
        let (one, grown) = (format!("{head}\nend\n"), format!("{head}\nend\nmore\n"));
        let other = format!("{head}\nEND\nmore\n");
        check(&[&one, &grown], "", Some("1"));
        check(&[&one, &other], "", None);
        let other = format!("y{}", &grown[1..]);
        check(&[&one, &other], "", None);
    }
}
