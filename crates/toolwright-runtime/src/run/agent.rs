//! An agent: a name, instructions, tools and a model.

use std::sync::Arc;

use toolwright_core::document::DocumentError;
use toolwright_core::request::Sampling;
use toolwright_core::{Call, Json, Message, Request, ToolChoice};
use toolwright_json::Text;

use super::builder::RunBuilder;
use super::error::RunError;
use super::save;
use crate::model::Model;
use crate::toolbox::Toolbox;

/// A model with instructions and tools. Clones share the tools; an agent may have any number of concurrent
/// runs.
#[must_use]
#[derive(Debug, Clone)]
pub struct Agent {
    pub(super) name: Arc<str>,
    pub(super) toolbox: Toolbox,
    pub(super) model: Option<Model>,
    /// Each request, without the conversation
    pub(super) request: Request,
}

/// The input of a run: text of the user, or a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input(pub Vec<Message>);

impl Agent {
    /// Creates an agent without tools and model.
    pub fn new(name: impl Into<Arc<str>>) -> Agent {
        Agent {
            name: name.into(),
            toolbox: Toolbox::default(),
            model: None,
            request: Request::default(),
        }
    }

    /// Sets the instructions (the system message).
    pub fn with_instructions(mut self, text: impl Into<Text>) -> Agent {
        self.request.instructions = Some(Message::system(text));
        self
    }

    /// Sets the tools.
    pub fn with_tools(mut self, toolbox: Toolbox) -> Agent {
        self.toolbox = toolbox;
        self
    }

    /// Sets the model.
    pub fn with_model(mut self, model: Model) -> Agent {
        self.model = Some(model);
        self
    }

    /// Sets limits and sampling for each request.
    pub fn with_sampling(mut self, sampling: Sampling) -> Agent {
        self.request.sampling = sampling;
        self
    }

    /// Sets all of each request but the conversation: instructions, sampling, thinking, the response
    /// format, extra fields. Its messages are ignored.
    ///
    /// Its tools are the client's: the model sees them beside those of the toolbox. When the model calls
    /// one, the calls of the toolbox's tools in that turn run, and the run finishes; the client answers the
    /// others. A tool choice that forces a call applies until a call was made, or the run would not end.
    pub fn with_request(mut self, request: Request) -> Agent {
        self.request = Request { messages: Vec::new(), ..request };
        self
    }

    /// Whether a call is for a tool of the client.
    pub(super) fn is_for_client(&self, call: &Call) -> bool {
        self.request.tools.iter().any(|tool| tool.name == call.name)
            && !self.toolbox.contains(&call.name)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates a run.
    pub fn run(&self, input: impl Into<Input>) -> RunBuilder {
        RunBuilder::new(self.clone(), input.into().0)
    }

    /// Continues a saved run. Set its context again, since that is not saved.
    ///
    /// A call whose outcome was saved does not run again. A call that was running is repeated under its old
    /// key, so that the journal of the toolbox decides whether it runs.
    pub fn resume(&self, saved: &Json) -> Result<RunBuilder, RunError> {
        let state = save::read(saved)?;
        if state.agent != self.name {
            let expected =
                format!("agent '{}', but the run belongs to '{}'", self.name, state.agent);
            return Err(RunError::Saved(DocumentError::new(expected).within("agent")));
        }
        Ok(RunBuilder::resume(self.clone(), state))
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Input {
        Input(vec![Message::user(text)])
    }
}

impl From<String> for Input {
    fn from(text: String) -> Input {
        Input(vec![Message::user(text)])
    }
}

impl From<Message> for Input {
    fn from(message: Message) -> Input {
        Input(vec![message])
    }
}

impl From<Vec<Message>> for Input {
    fn from(messages: Vec<Message>) -> Input {
        Input(messages)
    }
}

/// A tool choice without the obligation to call a tool.
pub(super) fn relaxed(choice: ToolChoice) -> ToolChoice {
    match choice {
        ToolChoice::Required | ToolChoice::Tool(_) => ToolChoice::Auto,
        ToolChoice::Allowed { names, .. } => ToolChoice::Allowed { names, required: false },
        choice => choice,
    }
}
