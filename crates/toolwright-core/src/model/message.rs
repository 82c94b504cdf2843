//! Messages of a conversation.

use toolwright_json::Text;

use crate::model::call::Call;
use crate::model::extra::Extra;
use crate::model::origin::Origin;
use crate::model::outcome::Outcome;
use crate::model::part::Part;

/// A message. Its parts are in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The role of the author
    pub role: Role,
    /// The content
    pub parts: Vec<Part>,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Position in the source document
    pub origin: Origin,
}

/// The role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions of the operator
    System,
    /// Instructions of the operator, in newer models of `OpenAI`
    Developer,
    /// The user; in some dialects also outcomes
    User,
    /// The model
    Assistant,
    /// Outcomes of calls
    Tool,
}

impl Message {
    /// Creates a message.
    pub fn new(role: Role, parts: Vec<Part>) -> Message {
        Message { role, parts, extra: Extra::NONE, origin: Origin::NONE }
    }

    /// Creates a system message.
    pub fn system(text: impl Into<Text>) -> Message {
        Message::new(Role::System, vec![Part::text(text)])
    }

    /// Creates a user message.
    pub fn user(text: impl Into<Text>) -> Message {
        Message::new(Role::User, vec![Part::text(text)])
    }

    /// Creates an assistant message.
    pub fn assistant(text: impl Into<Text>) -> Message {
        Message::new(Role::Assistant, vec![Part::text(text)])
    }

    /// Creates a message with the outcome of a call.
    pub fn tool(outcome: Outcome) -> Message {
        Message::new(Role::Tool, vec![Part::outcome(outcome)])
    }
    /// Returns all text parts, joined.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Returns the calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(Part::as_call)
    }

    /// Returns the outcomes, in order.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.parts.iter().filter_map(Part::as_outcome)
    }
}
