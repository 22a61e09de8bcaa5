use super::*;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

#[track_caller]
fn check(project: &Project, directory: &str, expected: bool) {
    assert_eq!(project.holds(Some(Path::new(directory))), expected, "{project:?} {directory}");
    let bucket = slug::encode(Path::new(directory)).unwrap();
    assert!(!expected || project.may_hold(&bucket), "{project:?} {bucket}");
}

#[test]
fn a_project_is_a_directory_or_part_of_its_name() {
    let at = Project::At(Root::at(Path::new("/home/u/api")));
    check(&at, "/home/u/api", true);
    check(&at, "/home/u/api/sub", true);
    check(&at, "/home/u/api2", false);
    let named = |name: &str| Project::Named(name.to_owned());
    check(&named("api"), "/home/u/api", true);
    check(&named("API"), "/home/u/my-api.v2", true);
    check(&named("api"), "/home/u/Api", true);
    check(&named("api"), "/home/api/web", false);
    check(&named("my_api"), "/home/u/my_api", true);
    check(&named("café"), "/home/u/café", true);
    check(&named("deep"), &format!("/{}/deep", "a".repeat(300)), true);
    assert!(!named("api").holds(None));
}

#[test]
fn folders_of_other_projects_are_not_opened() {
    let at = Project::At(Root::at(Path::new("/home/u/api")));
    for (bucket, expected) in
        [("-home-u-api", true), ("-home-u-api-x", true), ("-home-u-web", false), ("shorty", true)]
    {
        assert_eq!(at.may_hold(bucket), expected, "{bucket}");
    }
    assert!(!Project::Named("api".to_owned()).may_hold("-home-u-web"));
}

#[test]
fn files_that_were_not_changed_since_are_not_opened() {
    let scope = Scope { since: Some(UNIX_EPOCH + Duration::from_secs(100)), ..Scope::default() };
    let file = |seconds| Session {
        id: "x".to_owned(),
        bucket: "-a".into(),
        config_dir: Path::new("").into(),
        path: PathBuf::new(),
        modified: UNIX_EPOCH + Duration::from_secs(seconds),
        size: 1,
    };
    assert!(scope.admits_file(&file(100)) && !scope.admits_file(&file(99)));
    assert!(Scope::default().admits_file(&file(0)));
}
