//! A conversation in plain JSON and plain words: one request to a model, without a run around it.
//!
//! ```text
//! model.chat(messages).tools(…).tool_choice(…).send() → Response → .message() → messages
//! ```
//!
//! [`message`] reads and writes the four kinds of message, [`response`] the answer:
//!
//! ```json
//! {"message": {"content": {"text": "22 degrees", "reasoning": null},
//!              "tool_desc": [{"id": "call_1", "type": "function", "name": "get_weather",
//!                             "arguments": "{\"location\": \"Beijing\"}"}],
//!              "finish_reason": "tool_calls"},
//!  "model": "gpt-4o",
//!  "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}
//! ```
//!
//! The `message` of an answer can be put into the list of messages as it is. What this form has no
//! field for (signatures, media in an answer) is only in [`Response::message`].

pub mod message;
pub mod response;

use toolwright_core::request::Sampling;
use toolwright_core::{Fault, Message, Request, Response, Tool, ToolChoice};

use crate::model::{EventStream, Model};

/// One request to a model, as it is put together.
#[derive(Debug, Clone)]
#[must_use = "nothing is asked before `send` or `stream`"]
pub struct Chat<'a> {
    model: &'a Model,
    request: Request,
}

impl Model {
    /// Begins a request. A first system message becomes the instructions.
    pub fn chat(&self, messages: impl IntoIterator<Item = Message>) -> Chat<'_> {
        Chat { model: self, request: Request::new(messages) }
    }
}

impl Chat<'_> {
    /// With what may be called.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.request = self.request.with_tools(tools);
        self
    }

    /// With a say on which tools are called.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request = self.request.with_tool_choice(choice);
        self
    }

    /// With limits and sampling.
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.request = self.request.with_sampling(sampling);
        self
    }

    /// The whole answer.
    pub async fn send(self) -> Result<Response, Fault> {
        self.model.respond(self.request).await
    }

    /// The answer as it arrives.
    pub async fn stream(self) -> Result<EventStream, Fault> {
        self.model.stream(self.request).await
    }
}
