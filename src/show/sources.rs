//! What each source says about a session, put into words. Pure.

use std::path::{Path, PathBuf};

use crate::ls::table::{icon, reason};
use crate::pane::Kept;
use crate::registry::{Entry, Liveness};
use crate::roster::{Listed, Teller, past};
use crate::session::{Moment, Status};
use crate::text::{from_home, shown};
use crate::transcript::{Facts, Session, TitleSource};

use super::{Known, Report, registry_word};

pub(super) fn report(known: &Known) -> Report {
    let (report, home) = (Report::new(known.now), known.home.as_deref());
    let mut say = Speaker { report, home, gone: &known.gone };
    say.report.say("session", Some(known.candidate.id.as_str()), "id", None);
    let alive = known.candidate.listed.iter().filter(|listed| listed.is_alive()).count();
    if alive > 1 {
        let warning = format!("open {alive} times: all of them write to one transcript");
        say.report.say("warning", Some(warning), "processes", None);
    }
    for listed in &known.candidate.listed {
        say.titles(listed);
    }
    for (file, facts) in known.files() {
        say.title_in(file, facts);
    }
    for listed in &known.candidate.listed {
        say.place(listed, known.now);
    }
    if known.candidate.listed.is_empty() {
        let active = known.files().next().map(|(file, facts)| active(file, facts));
        let changed = known.candidate.files.first().map(changed);
        say.report.say("state", Some("[■] ended"), "transcript", active.or(changed));
    }
    for listed in &known.candidate.listed {
        say.directories(listed);
    }
    for (file, facts) in known.files() {
        say.directories_in(file, facts);
    }
    for (file, facts) in known.files() {
        say.transcript(file, facts);
    }
    if let Some(days) = known.days_left {
        let file = known.candidate.files.first().map(changed);
        let note = format!("Claude Code deletes the transcript in {days} days");
        say.report.say("warning", Some(note), "settings, last change", file);
    }
    say.report
}

impl Known {
    fn files(&self) -> impl Iterator<Item = (&Session, &Facts)> {
        let told = self.candidate.files.iter().zip(&self.told);
        told.filter_map(|(file, facts)| Some((file, facts.as_ref()?)))
    }
}

fn changed(file: &Session) -> Moment {
    past::moment(file.modified)
}

/// When somebody last said something: opening a session again changes its file, too.
fn active(file: &Session, facts: &Facts) -> Moment {
    facts.summary.last_active.map_or_else(|| changed(file), past::moment)
}

/// Every directory that one of the sources names.
pub(super) fn directories<'a>(
    listed: &'a [Listed],
    told: impl Iterator<Item = &'a Facts>,
) -> Vec<&'a Path> {
    let live = listed.iter().flat_map(|listed| [in_pane(listed), in_registry(listed)]).flatten();
    let told = told.flat_map(|facts| in_transcript(facts).map(|(dir, _)| dir)).flatten();
    live.chain(told).collect()
}

fn in_pane(listed: &Listed) -> Option<&Path> {
    kept(listed)?.directory.as_deref()
}

fn in_registry(listed: &Listed) -> Option<&Path> {
    listed.entry.as_ref()?.cwd.as_deref().map(Path::new)
}

fn in_transcript(facts: &Facts) -> [(Option<&Path>, &'static str); 4] {
    let worktree = facts.worktree.as_ref().and_then(|worktree| worktree.path.as_ref());
    [
        (facts.summary.bucket_cwd.as_ref(), "transcript, the last that fits its folder"),
        (facts.relocated_cwd.as_ref(), "transcript, moved there by /cd"),
        (worktree, "transcript, its worktree"),
        (facts.summary.last_cwd.as_ref(), "transcript, the last of all"),
    ]
    .map(|(dir, source)| (dir.map(Path::new), source))
}

struct Speaker<'a> {
    report: Report,
    home: Option<&'a Path>,
    gone: &'a [PathBuf],
}

impl Speaker<'_> {
    fn titles(&mut self, listed: &Listed) {
        if let Some(entry) = &listed.entry {
            self.report.say("title", entry.name.as_deref(), "registry", updated(entry));
        }
        if let Some(kept) = kept(listed) {
            self.report.say("title", kept.title.as_deref(), "hooks", kept.latest_time);
        }
    }

    fn title_in(&mut self, file: &Session, facts: &Facts) {
        let Some(title) = &facts.summary.title else { return };
        let source = match title.source {
            TitleSource::Custom => "transcript, given by hand",
            TitleSource::Ai => "transcript, written by Claude",
            TitleSource::Prompt => "transcript, the first prompt",
            TitleSource::Command => "transcript, the first command",
        };
        self.report.say("title", Some(&title.text), source, Some(changed(file)));
    }

    /// Where a session lives, and what it is doing there.
    fn place(&mut self, listed: &Listed, now: Moment) {
        let health = &listed.health;
        let told_by = match health.told_by {
            Teller::Hooks => "hooks",
            Teller::Registry => "registry",
            Teller::Process => "process",
            Teller::Transcript => "transcript",
        };
        let state = format!("{} {}", icon(health.state), reason(listed, None));
        self.report.say("state", Some(state), told_by, health.since);
        for wait in &health.waits {
            let context = format!("{}: {}", wait.kind.word(), wait.context);
            self.report.say("waits for", Some(context), told_by, Some(wait.since));
        }
        if let Some(kept) = kept(listed) {
            self.hooks(kept);
        }
        if let Some(entry) = &listed.entry {
            self.registry(entry);
        }
        if let Some(pid) = listed.pid {
            let does = match listed.liveness {
                Liveness::Alive => "runs",
                Liveness::Dead => "is gone",
                Liveness::Unknown => "cannot be told from another one",
            };
            self.report.say("process", Some(format!("{pid} {does}")), "system", Some(now));
        }
        if let Some(pane) = &listed.pane {
            let place = format!("{} {} on {}", pane.id, pane.address(), shown(&pane.socket));
            self.report.say("pane", Some(place), "tmux", Some(now));
        }
    }

    fn hooks(&mut self, kept: &Kept) {
        let status = kept.status.map_or("no status", Status::word);
        let event = kept.latest_event.as_deref().unwrap_or("no event");
        self.report.say("hooks say", Some(format!("{status}, {event}")), "hooks", kept.latest_time);
        let set_on = format!("id set on {}", kept.set_on);
        self.report.say("hooks say", Some(set_on), "hooks", None);
        if kept.background > 0 {
            let tasks =
                format!("{} in the background at the end of the last turn", kept.background);
            self.report.say("tasks", Some(tasks), "hooks", kept.latest_time);
        }
    }

    fn registry(&mut self, entry: &Entry) {
        let mut says = registry_word(entry.status).to_owned();
        if let Some(waiting_for) = &entry.waiting_for {
            says.push_str(&format!(", for {waiting_for}"));
        }
        let since = entry.status_updated_at.map(Moment::from_millis).or_else(|| updated(entry));
        self.report.say("registry says", Some(says), "registry", since);
        let started = entry.started_at.map(Moment::from_millis);
        let kind = [&entry.kind, &entry.entrypoint, &entry.version].map(|part| part.as_deref());
        let kind: Vec<&str> = kind.into_iter().flatten().collect();
        self.report.say("started as", Some(kind.join(", ")), "registry", started);
    }

    fn directories(&mut self, listed: &Listed) {
        self.directory(in_pane(listed), "pane, where it was started", None);
        let updated = listed.entry.as_ref().and_then(updated);
        self.directory(in_registry(listed), "registry", updated);
    }

    fn directories_in(&mut self, file: &Session, facts: &Facts) {
        for (directory, source) in in_transcript(facts) {
            self.directory(directory, source, Some(changed(file)));
        }
    }

    fn directory(&mut self, dir: Option<&Path>, source: &'static str, since: Option<Moment>) {
        let gone =
            |dir: &Path| if self.gone.iter().any(|gone| gone == dir) { ", gone" } else { "" };
        let words = dir.map(|dir| format!("{}{}", self.path(dir), gone(dir)));
        self.report.say("directory", words, source, since);
    }

    fn transcript(&mut self, file: &Session, facts: &Facts) {
        let changed = Some(changed(file));
        let active = Some(active(file, facts));
        let place = format!("{}, {} kB", self.path(&file.path), file.size.div_ceil(1024));
        self.report.say("transcript", Some(place), "disk", changed);
        self.report.say("config", Some(self.path(&file.config_dir)), "disk", None);
        self.report.say("branch", facts.summary.branch.as_deref(), "transcript", active);
        self.report.say("entrypoint", facts.summary.entrypoint.as_deref(), "transcript", active);
        self.report.say("forked from", facts.forked_from.as_deref(), "transcript", None);
        if !facts.summary.is_session() {
            let why = match () {
                () if facts.summary.is_sidechain => "only a subagent speaks in it",
                () if facts.summary.is_teammate => "a member of an agent team speaks in it",
                () => "nobody has said anything in it yet",
            };
            self.report.say(
                "warning",
                Some(format!("nothing to resume: {why}")),
                "transcript",
                changed,
            );
        }
        let exchange = &facts.last_exchange;
        self.report.say("first prompt", facts.first_prompt.as_deref(), "transcript", None);
        self.report.say("last prompt", exchange.prompt.as_deref(), "transcript", active);
        self.report.say("last reply", exchange.reply.as_deref(), "transcript", active);
        if facts.is_interrupted {
            self.report.say("last turn", Some("interrupted"), "transcript", active);
        }
    }

    fn path(&self, path: &Path) -> String {
        shown(&from_home(path, self.home))
    }
}

/// What the pane keeps, where it is about this session and not about one before.
fn kept(listed: &Listed) -> Option<&Kept> {
    let kept = listed.pane.as_ref()?.kept.as_ref()?;
    (kept.session == listed.id).then_some(kept)
}

fn updated(entry: &Entry) -> Option<Moment> {
    entry.updated_at.map(Moment::from_millis)
}
