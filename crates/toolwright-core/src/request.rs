//! What is asked of a model.

use crate::extra::Extra;
use crate::json::{Json, Number};
use crate::message::{Message, Role};
use crate::tool::{Tool, ToolChoice};

/// A request in nobody's dialect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The model, in its vendor's words
    pub model: Option<String>,
    /// Instructions that stand before the conversation: `system`, `instructions`,
    /// `systemInstruction`, or a first message with role `system`
    pub instructions: Option<Message>,
    /// The conversation
    pub messages: Vec<Message>,
    /// What may be called
    pub tools: Vec<Tool>,
    /// Which of the tools may or must be called; `None` leaves it to the vendor
    pub tool_choice: Option<ToolChoice>,
    /// Whether several calls may come in one turn
    pub parallel: Option<bool>,
    /// Limits and sampling
    pub sampling: Sampling,
    /// How the model shall think
    pub thinking: Option<Thinking>,
    /// The form of the answer
    pub format: Option<Format>,
    /// Whether the answer shall come as a stream; `None` leaves it to the dialect's default
    pub stream: Option<bool>,
    /// Fields without a canonical name
    pub extra: Extra,
}

impl Request {
    /// A conversation. A first message of the operator becomes the instructions.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Request {
        let mut messages = messages.into_iter().peekable();
        let instructions = messages.next_if(|first| first.role == Role::System);
        Request { instructions, messages: messages.collect(), ..Request::default() }
    }

    /// With instructions.
    #[must_use]
    pub fn with_instructions(mut self, text: impl Into<String>) -> Request {
        self.instructions = Some(Message::system(text));
        self
    }

    /// With what may be called.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Request {
        self.tools = tools.into_iter().collect();
        self
    }

    /// With a say on which tools are called.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Request {
        self.tool_choice = Some(choice);
        self
    }

    /// With a model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Request {
        self.model = Some(model.into());
        self
    }

    /// With limits and sampling.
    #[must_use]
    pub fn with_sampling(mut self, sampling: Sampling) -> Request {
        self.sampling = sampling;
        self
    }
}

/// Limits and sampling, each only if said. Numbers keep their digits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sampling {
    /// The most tokens to write
    pub max_tokens: Option<Number>,
    /// Temperature
    pub temperature: Option<Number>,
    /// Nucleus
    pub top_p: Option<Number>,
    /// Candidates a step
    pub top_k: Option<Number>,
    /// Texts at which to stop
    pub stop: Vec<String>,
    /// Seed
    pub seed: Option<Number>,
}

/// How the model shall think, as far as vendors agree. What only one vendor says is extra.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thinking {
    /// Whether it shall think at all
    pub enabled: Option<bool>,
    /// How hard (`low`, `medium`, `high`, …), in the vendor's word
    pub effort: Option<String>,
    /// The most tokens to think with
    pub budget: Option<Number>,
}

/// The form of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// Words, said explicitly
    Text,
    /// Any JSON object
    Json,
    /// JSON by a schema
    Schema(SchemaFormat),
}

/// An answer in JSON by a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFormat {
    /// A name for it, where the dialect asks for one
    pub name: Option<String>,
    /// What it is for
    pub description: Option<String>,
    /// The schema
    pub schema: Json,
    /// Whether the vendor shall hold the model to it
    pub strict: Option<bool>,
}
