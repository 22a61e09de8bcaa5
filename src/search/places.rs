//! What stands where in a record: the places of Claude Code's JSON that say something. Pure.

/// What a text is in its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The content of a message that has no blocks, or the text of a block.
    Words,
    Thinking,
    Input,
    Result,
    /// What a command wrote, as kept beside its result.
    Output,
    Title,
    /// What a person wrote while Claude was busy.
    Queued,
    Attached,
    /// The content of a record that is no message.
    Notice,
}

/// Short values that decide what the texts of a record are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Type,
    Role,
    Uuid,
    Timestamp,
    Branch,
    PromptSource,
    AttachmentType,
    BlockType,
    ToolName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    Meta,
    CompactSummary,
    Sidechain,
    TranscriptOnly,
}

/// Where a container stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Record,
    Message,
    Blocks,
    Block,
    Input,
    Results,
    ResultPart,
    Attachment,
    Queue,
    Attached,
    CommandOutput,
    Elsewhere,
}

/// What is done with a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Skipped,
    Key,
    Field(Field),
    Text(Slot),
}

/// What a value means, whichever kind it turns out to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    pub(super) container: Place,
    pub(super) string: Use,
    pub(super) flag: Option<Flag>,
}

pub(super) const NOTHING: Meaning =
    Meaning { container: Place::Elsewhere, string: Use::Skipped, flag: None };

pub(super) fn value_of(place: Place, key: &str) -> Meaning {
    let to = |container| Meaning { container, ..NOTHING };
    let field = |field| Meaning { string: Use::Field(field), ..NOTHING };
    let text = |slot| Meaning { string: Use::Text(slot), ..NOTHING };
    let both = |container, slot| Meaning { container, string: Use::Text(slot), flag: None };
    let flag = |flag| Meaning { flag: Some(flag), ..NOTHING };
    match (place, key) {
        (Place::Record, "message") => to(Place::Message),
        (Place::Record, "attachment") => to(Place::Attachment),
        (Place::Record, "toolUseResult") => to(Place::CommandOutput),
        (Place::Record, "type") => field(Field::Type),
        (Place::Record, "uuid") => field(Field::Uuid),
        (Place::Record, "timestamp") => field(Field::Timestamp),
        (Place::Record, "gitBranch") => field(Field::Branch),
        (Place::Record, "promptSource") => field(Field::PromptSource),
        (Place::Record | Place::Attachment, "isMeta") => flag(Flag::Meta),
        (Place::Record, "isCompactSummary") => flag(Flag::CompactSummary),
        (Place::Record, "isSidechain") => flag(Flag::Sidechain),
        (Place::Record, "isVisibleInTranscriptOnly") => flag(Flag::TranscriptOnly),
        (Place::Record, "customTitle" | "aiTitle" | "summary") => text(Slot::Title),
        (Place::Record, "content") => text(Slot::Notice),
        (Place::Message, "role") => field(Field::Role),
        (Place::Message, "content") => both(Place::Blocks, Slot::Words),
        (Place::Block, "type") => field(Field::BlockType),
        (Place::Block, "name") => field(Field::ToolName),
        (Place::Block, "text") => text(Slot::Words),
        (Place::Block, "thinking") => text(Slot::Thinking),
        (Place::Block, "input") | (Place::Input, _) => both(Place::Input, Slot::Input),
        (Place::Block, "content") => both(Place::Results, Slot::Result),
        (Place::ResultPart, "text" | "title" | "url") => text(Slot::Result),
        (Place::CommandOutput, "stdout" | "stderr") => text(Slot::Output),
        (Place::Attachment, "type") => field(Field::AttachmentType),
        (Place::Attachment, "prompt") => both(Place::Queue, Slot::Queued),
        (Place::Queue, "text") => text(Slot::Queued),
        (Place::Attachment | Place::Attached, "base64" | "data") => NOTHING,
        (Place::Attachment | Place::Attached, _) => both(Place::Attached, Slot::Attached),
        _ => NOTHING,
    }
}

pub(super) fn element_of(place: Place) -> Meaning {
    let to = |container| Meaning { container, ..NOTHING };
    match place {
        Place::Blocks => to(Place::Block),
        Place::Results => to(Place::ResultPart),
        Place::Queue => to(Place::Queue),
        Place::Input => Meaning { string: Use::Text(Slot::Input), ..to(Place::Input) },
        Place::Attached => Meaning { string: Use::Text(Slot::Attached), ..to(Place::Attached) },
        _ => NOTHING,
    }
}
