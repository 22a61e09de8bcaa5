//! Any bytes can be read as a transcript; a list and a full look agree.

use std::io::Write;
use std::path::Path;

use cld::slug::encode;
use cld::transcript::Reader;
use tempfile::NamedTempFile;

pub(crate) fn holds(data: &[u8]) {
    let mut file = NamedTempFile::new().expect("a temporary directory");
    file.write_all(data).expect("the file is writable");
    let path = file.path();
    let slug_of = |dir: &str| encode(Path::new(dir)).unwrap_or_default();
    let mut reader = Reader::new();
    let summary = reader.summary(path, "-home-u-proj", slug_of).expect("the file is there");
    let facts = reader.facts(path, "-home-u-proj", slug_of).expect("the file is there");
    let again = Reader::new().facts(path, "-home-u-proj", slug_of).expect("the file is there");
    assert_eq!(facts, again, "what was read before does not matter");
    assert_eq!(facts.summary.title, summary.title);
    assert_eq!(facts.summary.bucket_cwd, summary.bucket_cwd);
    if let Some(cwd) = &summary.bucket_cwd {
        assert_eq!(slug_of(cwd), "-home-u-proj");
    }
}
