//! Requests to a model.

use toolwright_json::{Json, Number, Path, Text};

use crate::model::extra::Extra;
use crate::model::message::{Message, Role};
use crate::model::origin::Origin;
use crate::model::part::{Body, CacheMark, Part};
use crate::model::tool::{Tool, ToolChoice};

/// A canonical request.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The model, by the vendor's name
    pub model: Option<String>,
    /// Instructions before the conversation: `system`, `instructions`, `systemInstruction`, or a
    /// first message with role `system`
    pub instructions: Option<Message>,
    /// The conversation
    pub messages: Vec<Message>,
    /// The tools that the model may call
    pub tools: Vec<Tool>,
    /// Which tools may or must be called; `None` is the vendor's default
    pub tool_choice: Option<ToolChoice>,
    /// Whether one turn may contain several calls
    pub parallel: Option<bool>,
    /// Limits and sampling
    pub sampling: Sampling,
    /// Reasoning settings
    pub thinking: Option<Thinking>,
    /// The response format
    pub format: Option<Format>,
    /// Id of the end user, for the vendor's abuse detection
    pub user: Option<String>,
    /// Whether the reply is streamed; `None` is the dialect's default
    pub stream: Option<bool>,
    /// Fields without a canonical name
    pub extra: Extra,
}

impl Request {
    /// Creates a request. A first system message becomes the instructions.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Request {
        let mut messages = messages.into_iter().peekable();
        let instructions = messages.next_if(|first| first.role == Role::System);
        Request { instructions, messages: messages.collect(), ..Request::default() }
    }

    /// Sets the instructions.
    pub fn with_instructions(mut self, text: impl Into<Text>) -> Request {
        self.instructions = Some(Message::system(text));
        self
    }

    /// Sets the tools.
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Request {
        self.tools = tools.into_iter().collect();
        self
    }

    /// Sets the tool choice.
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Request {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets the model.
    pub fn with_model(mut self, model: impl Into<String>) -> Request {
        self.model = Some(model.into());
        self
    }

    /// Sets limits and sampling.
    pub fn with_sampling(mut self, sampling: Sampling) -> Request {
        self.sampling = sampling;
        self
    }

    /// Sets the origin of each value to its position in this request: `/messages/2/parts/0`,
    /// `/tools/1`, so that losses refer to this request.
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

/// A cache breakpoint is within the marked value.
fn forget(mark: Option<&mut CacheMark>) {
    if let Some(mark) = mark {
        mark.origin = Origin::NONE;
    }
}

/// Limits and sampling. Numbers keep their digits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sampling {
    /// Maximum number of output tokens
    pub max_tokens: Option<Number>,
    /// Temperature
    pub temperature: Option<Number>,
    /// Nucleus sampling
    pub top_p: Option<Number>,
    /// Number of candidate tokens
    pub top_k: Option<Number>,
    /// Stop sequences
    pub stop: Vec<String>,
    /// Seed
    pub seed: Option<Number>,
    /// Penalty for tokens by how often they occurred
    pub frequency_penalty: Option<Number>,
    /// Penalty for tokens that occurred at all
    pub presence_penalty: Option<Number>,
    /// Number of responses to generate
    pub answers: Option<Number>,
    /// Whether to return the log probabilities of tokens
    pub logprobs: Option<bool>,
    /// Number of most likely tokens to list at each position
    pub top_logprobs: Option<Number>,
}

/// Reasoning settings that several vendors have. Others are extra fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thinking {
    /// Whether the model thinks
    pub enabled: Option<bool>,
    /// The effort (`low`, `medium`, `high`, …), in the vendor's word
    pub effort: Option<String>,
    /// Maximum number of thinking tokens
    pub budget: Option<Number>,
    /// Whether the reply shows the thinking, if that is a separate setting
    pub show: Option<bool>,
}

/// The response format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// Text, explicitly
    Text,
    /// Any JSON object
    Json,
    /// JSON that matches a schema
    Schema(SchemaFormat),
}

/// A JSON response format with a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFormat {
    /// A name, if the dialect requires one
    pub name: Option<String>,
    /// A description
    pub description: Option<String>,
    /// The schema
    pub schema: Json,
    /// Whether the vendor enforces the schema
    pub strict: Option<bool>,
}
