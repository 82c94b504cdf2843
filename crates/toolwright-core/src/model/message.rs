//! A turn of a conversation.

use crate::model::call::Call;
use crate::model::extra::Extra;
use crate::model::origin::Origin;
use crate::model::outcome::Outcome;
use crate::model::part::Part;

/// One message. Parts keep the order in which they were said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks
    pub role: Role,
    /// What is said
    pub parts: Vec<Part>,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Where it was read
    pub origin: Origin,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The operator's instructions
    System,
    /// The operator's instructions, in the newer `OpenAI` word
    Developer,
    /// The user; in some dialects also the bearer of outcomes
    User,
    /// The model
    Assistant,
    /// Outcomes of calls
    Tool,
}

impl Message {
    /// A message of parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Message {
        Message { role, parts, extra: Extra::NONE, origin: Origin::NONE }
    }

    /// Instructions.
    pub fn system(text: impl Into<String>) -> Message {
        Message::new(Role::System, vec![Part::text(text)])
    }

    /// Words of the user.
    pub fn user(text: impl Into<String>) -> Message {
        Message::new(Role::User, vec![Part::text(text)])
    }

    /// Words of the model.
    pub fn assistant(text: impl Into<String>) -> Message {
        Message::new(Role::Assistant, vec![Part::text(text)])
    }

    /// The outcome of a call.
    pub fn tool(outcome: Outcome) -> Message {
        Message::new(Role::Tool, vec![Part::outcome(outcome)])
    }
    /// The words, all text parts in one.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(Part::as_call)
    }

    /// The outcomes, in order.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.parts.iter().filter_map(Part::as_outcome)
    }
}
