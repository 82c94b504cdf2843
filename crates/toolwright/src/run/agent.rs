//! Who works: a name, instructions, tools and a model.

use std::sync::Arc;

use toolwright_core::request::Sampling;
use toolwright_core::{Call, Json, Message, Request, ToolChoice};

use super::error::RunError;
use super::save;
use super::start::Start;
use crate::model::Model;
use crate::toolbox::Toolbox;
use toolwright_core::document::DocumentError;

/// A model with instructions and tools. Clones share the tools; any number of runs may be under
/// way at once.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(super) name: Arc<str>,
    pub(super) toolbox: Toolbox,
    pub(super) model: Option<Model>,
    /// All of each request but the conversation
    pub(super) request: Request,
}

/// What a run begins with: words of the user, or a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input(pub Vec<Message>);

impl Agent {
    /// An agent without tools and still without a model.
    pub fn new(name: impl Into<Arc<str>>) -> Agent {
        Agent {
            name: name.into(),
            toolbox: Toolbox::default(),
            model: None,
            request: Request::default(),
        }
    }

    /// With instructions.
    #[must_use]
    pub fn with_instructions(mut self, text: impl Into<String>) -> Agent {
        self.request.instructions = Some(Message::system(text));
        self
    }

    /// With tools.
    #[must_use]
    pub fn with_tools(mut self, toolbox: Toolbox) -> Agent {
        self.toolbox = toolbox;
        self
    }

    /// With a model.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Agent {
        self.model = Some(model);
        self
    }

    /// With limits and sampling for each request.
    #[must_use]
    pub fn with_sampling(mut self, sampling: Sampling) -> Agent {
        self.request.sampling = sampling;
        self
    }

    /// With all that each request says besides the conversation: instructions, sampling, thinking,
    /// the form of the answer, extra fields. Its messages are not used.
    ///
    /// Its tools are somebody else's: the model is shown them beside those of the toolbox. Once it
    /// has called one, the calls of the toolbox's tools in that turn are made, and the run is done;
    /// whoever made the request has the others to answer. A choice that forces a call counts until
    /// a call was made, or the model would never be done.
    #[must_use]
    pub fn with_request(mut self, request: Request) -> Agent {
        self.request = Request { messages: Vec::new(), ..request };
        self
    }

    /// Whether a call is for whoever made the request.
    pub(super) fn hands_over(&self, call: &Call) -> bool {
        self.request.tools.iter().any(|tool| tool.name == call.name)
            && self.toolbox.handler(&call.name).is_none()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Begins a run.
    pub fn run(&self, input: impl Into<Input>) -> Start {
        Start::new(self.clone(), input.into().0)
    }

    /// Goes on with a run that was saved. The context is not saved and must be given anew.
    ///
    /// A call whose outcome was saved is not made again. One that was under way is made again under
    /// its old key, so that the journal of the toolbox decides whether it runs.
    pub fn resume(&self, saved: &Json) -> Result<Start, RunError> {
        let state = save::read(saved)?;
        if state.agent != self.name {
            let expected =
                format!("agent '{}', but the run belongs to '{}'", self.name, state.agent);
            return Err(RunError::Saved(DocumentError::new(expected).within("agent")));
        }
        Ok(Start::again(self.clone(), state))
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

/// A choice of tools that leaves it to the model whether to call one.
pub(super) fn unforced(choice: ToolChoice) -> ToolChoice {
    match choice {
        ToolChoice::Required | ToolChoice::Tool(_) => ToolChoice::Auto,
        ToolChoice::Allowed { names, .. } => ToolChoice::Allowed { names, required: false },
        choice => choice,
    }
}
