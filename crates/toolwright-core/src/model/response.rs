//! What a model answered.

use crate::json::Json;
use crate::model::call::Call;
use crate::model::dialect::Dialect;
use crate::model::extra::Extra;
use crate::model::message::{Message, Role};
use crate::model::part::{Body, Part};
use crate::model::usage::Usage;
use crate::note::note;

/// An answer in nobody's dialect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// The vendor's id for it
    pub id: Option<String>,
    /// The model that answered
    pub model: Option<String>,
    /// What it said, in order
    pub parts: Vec<Part>,
    /// Why it stopped
    pub stop: Stop,
    /// What it cost
    pub usage: Option<Usage>,
    /// Fields without a canonical name
    pub extra: Extra,
}

impl Response {
    /// An answer of parts; why it stopped follows from what was said.
    pub fn new(parts: Vec<Part>) -> Response {
        let stop = Stop::default().settled(&parts);
        Response { parts, stop, ..Response::default() }
    }

    /// The words, all text parts in one.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The thinking, as far as the vendor shows it.
    pub fn reasoning(&self) -> Option<String> {
        let thoughts = self.parts.iter().filter_map(|part| match &part.body {
            Body::Reasoning(reasoning) => Some(reasoning.joined()),
            _ => None,
        });
        let shown: Vec<String> = thoughts.filter(|text| !text.is_empty()).collect();
        (!shown.is_empty()).then(|| shown.join("\n\n"))
    }

    /// Why the model would not answer, in its words.
    pub fn refusal(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match &part.body {
            Body::Refusal(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(Part::as_call)
    }

    /// The answer as a message of the conversation, with every part and its signature.
    pub fn message(&self) -> Message {
        Message::new(Role::Assistant, self.parts.clone())
    }
}

/// Why a model stopped, with what the vendor adds to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stop {
    /// The reason
    pub reason: StopReason,
    /// The stop text that was met, where the vendor tells
    pub sequence: Option<String>,
    /// The vendor's own word where several share a reason, and its details
    pub extra: Extra,
    /// Details of a refusal
    pub details: Option<Json>,
}

/// The reasons, one for each row of the stop-reason table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StopReason {
    /// The model was done
    #[default]
    End,
    /// It waits for the outcome of calls
    ToolUse,
    /// The limit on tokens was met
    MaxTokens,
    /// The context window was full
    ContextWindow,
    /// A stop text was met
    StopSequence,
    /// The model refused
    Refusal,
    /// A filter cut the answer
    Filtered,
    /// The model wrote a call that the vendor could not read
    MalformedCall,
    /// The vendor paused; send the conversation again to go on
    Pause,
    /// The vendor failed
    Failed,
}

impl StopReason {
    /// All of them.
    pub const ALL: &[StopReason] = &[
        StopReason::End,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::ContextWindow,
        StopReason::StopSequence,
        StopReason::Refusal,
        StopReason::Filtered,
        StopReason::MalformedCall,
        StopReason::Pause,
        StopReason::Failed,
    ];
}

/// The note of a stop whose reason the vendor did not say in a field of its own.
const UNSAID: &str = note!("unsaid");

/// The note of a stop whose reason the vendor did not explain in a further field.
const UNEXPLAINED: &str = note!("unexplained");

impl Stop {
    /// Notes that the reason was not explained where it is usually explained.
    #[must_use]
    pub fn unexplained(mut self, dialect: Dialect) -> Stop {
        self.extra.insert(dialect, UNEXPLAINED, true);
        self
    }

    /// Whether the reason was explained in a further field, in a dialect that has one.
    pub fn is_explained(&self) -> bool {
        self.extra.fields().is_none_or(|fields| !fields.contains_key(UNEXPLAINED))
    }

    /// Notes that the reason was not said where it is usually said.
    #[must_use]
    pub fn unsaid(mut self, dialect: Dialect) -> Stop {
        self.extra.insert(dialect, UNSAID, true);
        self
    }

    /// Whether the reason was said in a field of its own.
    pub fn is_said(&self) -> bool {
        self.extra.fields().is_none_or(|fields| !fields.contains_key(UNSAID))
    }

    /// A reason with nothing added.
    pub fn new(reason: StopReason) -> Stop {
        Stop { reason, ..Stop::default() }
    }

    /// What was said decides, not the word (case 17): a plain end is `ToolUse` if there are calls
    /// and `Refusal` if the model refused, and `ToolUse` without calls is a plain end.
    #[must_use]
    pub fn settled(mut self, parts: &[Part]) -> Stop {
        let calls = parts.iter().any(|part| matches!(part.body, Body::Call(_)));
        let refused = parts.iter().any(|part| matches!(part.body, Body::Refusal(_)));
        self.reason = self.reason.settled(calls, refused);
        self
    }
}

impl StopReason {
    /// The reason by what was said.
    pub(crate) fn settled(self, calls: bool, refused: bool) -> StopReason {
        match self {
            StopReason::End | StopReason::ToolUse if calls => StopReason::ToolUse,
            StopReason::End | StopReason::ToolUse if refused => StopReason::Refusal,
            StopReason::ToolUse => StopReason::End,
            reason => reason,
        }
    }
}
