//! The nouns every part of cld shares. Plain data, no I/O.

use std::fmt;

/// The id of a Claude Code session: a uuid today, but only the characters are relied upon.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Refuses everything that is not `[0-9A-Za-z-]{1,64}`, because ids become part of tmux formats.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=64).contains(&text.len());
        let safe = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (fits && safe).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part that people see and type.
    pub fn short(&self) -> &str {
        &self.0[..self.0.len().min(8)]
    }
}

/// A tmux pane by its server-wide number, written `%5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PaneId(pub u32);

impl PaneId {
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('%')?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse().ok().map(Self) } else { None }
    }
}

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A moment in microseconds since 1970, always written with sixteen digits so that tmux can
/// compare two of them as strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    const LARGEST: u64 = 9_999_999_999_999_999;

    pub const fn from_micros(micros: u64) -> Self {
        Self(if micros < Self::LARGEST { micros } else { Self::LARGEST })
    }

    pub fn from_millis(millis: u64) -> Self {
        Self::from_micros(millis.saturating_mul(1000))
    }

    pub fn from_seconds(seconds: u64) -> Self {
        Self::from_micros(seconds.saturating_mul(1_000_000))
    }

    pub fn micros(self) -> u64 {
        self.0
    }

    pub fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }

    #[must_use]
    pub fn plus_millis(self, millis: u64) -> Self {
        Self::from_micros(self.0.saturating_add(millis.saturating_mul(1000)))
    }

    /// How long after `earlier` this is; nothing when it is not after it at all.
    pub fn seconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / 1_000_000
    }

    #[must_use]
    pub fn plus_seconds(self, seconds: u64) -> Self {
        Self::from_micros(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016}", self.0)
    }
}

/// Who inside a session acts: the main thread, or a subagent known by a hash of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    Main,
    Sub(u32),
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Sub(hash) => write!(f, "{hash:08x}"),
        }
    }
}

/// One tool call, known by a hash of its name and input: permission requests carry no call id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    Named(u64),
    /// The dialog was only announced by a Notification, which does not say what it is about.
    Unnamed,
}

impl Call {
    /// Keeps the 48 bits that are written.
    pub fn named(hash: u64) -> Self {
        Self::Named(hash & 0xffff_ffff_ffff)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(hash) => write!(f, "{hash:012x}"),
            Self::Unnamed => f.write_str("none"),
        }
    }
}

/// What a dialog wants from the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DialogKind {
    Permission,
    Question,
    Plan,
    Input,
}

impl DialogKind {
    pub fn letter(self) -> char {
        match self {
            Self::Permission => 'p',
            Self::Question => 'q',
            Self::Plan => 'l',
            Self::Input => 'i',
        }
    }
}

/// How a turn came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnEnd {
    Done,
    Error,
}

impl TurnEnd {
    pub fn letter(self) -> char {
        match self {
            Self::Done => 'd',
            Self::Error => 'e',
        }
    }
}

/// What an open wait is about: a dialog, or a turn that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitKind {
    Dialog(DialogKind),
    Turn(TurnEnd),
}

impl WaitKind {
    pub const ALL: [Self; 6] = [
        Self::Dialog(DialogKind::Permission),
        Self::Dialog(DialogKind::Question),
        Self::Dialog(DialogKind::Plan),
        Self::Dialog(DialogKind::Input),
        Self::Turn(TurnEnd::Done),
        Self::Turn(TurnEnd::Error),
    ];

    pub fn from_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.letter() == letter)
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    pub fn letter(self) -> char {
        match self {
            Self::Dialog(dialog) => dialog.letter(),
            Self::Turn(end) => end.letter(),
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Dialog(DialogKind::Permission) => "permission",
            Self::Dialog(DialogKind::Question) => "question",
            Self::Dialog(DialogKind::Plan) => "plan",
            Self::Dialog(DialogKind::Input) => "input",
            Self::Turn(TurnEnd::Done) => "done",
            Self::Turn(TurnEnd::Error) => "error",
        }
    }
}

/// Something that waits for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub kind: WaitKind,
    pub since: Moment,
    /// One line; foreign text.
    pub context: String,
}

/// `@meta.claude.status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    Stopped,
    /// The session ended and the option is taken away.
    Removed,
}

impl Status {
    /// Every word has seven letters: batches cut the word off the end of `MOMENT WORD`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Removed => "removed",
        }
    }

    /// The value of the option as it was read back.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Running, Self::Stopped].into_iter().find(|status| status.word() == word)
    }
}

/// What the pane shows on its tab while nothing waits for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Running,
    Idle,
}

impl Activity {
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
        }
    }

    /// The value of the option as it was read back.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Running, Self::Idle].into_iter().find(|activity| activity.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_letters_digits_and_dashes_only() {
        let longest = "a".repeat(64);
        for good in ["a", "23e30f82-aaaa-4bbb-8ccc-dddddddddddd", "A-1", longest.as_str()] {
            assert!(SessionId::parse(good).is_some(), "{good:?} is an id");
        }
        let too_long = "a".repeat(65);
        for bad in ["", "a b", "a;b", "#(touch x)", "é", "a\n", "a_b", "../x", too_long.as_str()] {
            assert!(SessionId::parse(bad).is_none(), "{bad:?} is no id");
        }
    }

    #[test]
    fn pane_ids_are_a_percent_sign_and_digits() {
        assert_eq!(PaneId::parse("%0"), Some(PaneId(0)));
        assert_eq!(PaneId::parse("%4294967295"), Some(PaneId(u32::MAX)));
        for bad in ["", "%", "5", "%5a", "%-1", "%+1", "%4294967296", "% 5", "%5;"] {
            assert_eq!(PaneId::parse(bad), None, "{bad:?} is no pane");
        }
    }

    #[test]
    fn moments_sort_as_strings_in_the_order_of_time() {
        let moments = [0, 9, 10, 1_794_964_287_516_000, u64::MAX].map(Moment::from_micros);
        let written = moments.map(|moment| moment.to_string());
        assert!(written.iter().all(|text| text.len() == 16));
        assert!(written.is_sorted());
    }
}
