//! What is asked of a model.

use crate::json::{Json, Number, Path};
use crate::model::extra::Extra;
use crate::model::message::{Message, Role};
use crate::model::origin::Origin;
use crate::model::part::{Body, CacheMark, Part};
use crate::model::tool::{Tool, ToolChoice};

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
    /// Id of the end user, for the vendor's abuse detection
    pub user: Option<String>,
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

    /// With the place in this very request as the origin of each value, wherever it was read
    /// before: `/messages/2/parts/0`, `/tools/1`. So a loss names its place to whoever made it.
    #[must_use]
    pub fn placed(mut self) -> Request {
        if let Some(message) = &mut self.instructions {
            place_message(message, Path::ROOT.key("instructions"));
        }
        let messages = Path::ROOT.key("messages");
        for (at, message) in self.messages.iter_mut().enumerate() {
            place_message(message, messages.index(at));
        }
        let tools = Path::ROOT.key("tools");
        for (at, tool) in self.tools.iter_mut().enumerate() {
            tool.origin = Origin::at(&tools.index(at));
            tool.schema_origin = Origin::NONE;
            forget(tool.cache.as_mut());
        }
        self
    }
}

fn place_message(message: &mut Message, place: Path<'_>) {
    message.origin = Origin::at(&place);
    place_parts(&mut message.parts, place.key("parts"));
}

fn place_parts(parts: &mut [Part], place: Path<'_>) {
    for (at, part) in parts.iter_mut().enumerate() {
        let place = place.index(at);
        part.origin = Origin::at(&place);
        forget(part.cache.as_mut());
        if let Body::Outcome(outcome) = &mut part.body {
            place_parts(&mut outcome.content, place.key("content"));
        }
    }
}

/// A breakpoint stands within what it marks.
fn forget(mark: Option<&mut CacheMark>) {
    if let Some(mark) = mark {
        mark.origin = Origin::NONE;
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
    /// Penalty for tokens by how often they occurred
    pub frequency_penalty: Option<Number>,
    /// Penalty for tokens that occurred at all
    pub presence_penalty: Option<Number>,
    /// Number of answers to choose from
    pub answers: Option<Number>,
    /// Whether the answer shall have the log probabilities of its tokens
    pub logprobs: Option<bool>,
    /// Number of most likely tokens to list at each position
    pub top_logprobs: Option<Number>,
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
    /// Whether the reply shall show the thinking, where that is asked for separately
    pub show: Option<bool>,
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
