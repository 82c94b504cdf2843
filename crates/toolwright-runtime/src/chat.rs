//! One request to a model, without a run, and messages and responses as plain JSON.
//!
//! ```text
//! model.chat(messages).with_tools(…).with_tool_choice(…).send() → Response → .message() → messages
//! ```
//!
//! [`message`] reads and writes the four kinds of message, [`response`] the response:
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
//! The `message` of a response can be appended to the list of messages. What this form has no field for
//! (signatures, media in a response) is only in [`Response::message`].

#[cfg(feature = "dialects")]
pub mod message;
pub mod response;

use toolwright_core::request::Sampling;
use toolwright_core::{Fault, Message, Request, Response, Tool, ToolChoice};

use crate::model::{EventStream, Model};

/// A request to a model.
#[derive(Debug, Clone)]
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct Chat<'a> {
    model: &'a Model,
    request: Request,
}

impl Model {
    /// Creates a request. A first system message becomes the instructions.
    pub fn chat(&self, messages: impl IntoIterator<Item = Message>) -> Chat<'_> {
        Chat { model: self, request: Request::new(messages) }
    }
}

impl Chat<'_> {
    /// Sets the tools that the model may call.
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.request = self.request.with_tools(tools);
        self
    }

    /// Sets which tools the model must or may call.
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request = self.request.with_tool_choice(choice);
        self
    }

    /// Sets limits and sampling.
    pub fn with_sampling(mut self, sampling: Sampling) -> Self {
        self.request = self.request.with_sampling(sampling);
        self
    }

    /// Sends the request and returns the complete response.
    pub async fn send(self) -> Result<Response, Fault> {
        self.model.respond(self.request).await
    }

    /// Sends the request and returns the response as a stream of events.
    pub async fn stream(self) -> Result<EventStream, Fault> {
        self.model.stream(self.request).await
    }
}
