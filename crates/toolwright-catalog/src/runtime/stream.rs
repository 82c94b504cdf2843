//! The events of a streaming function: `start`, `content`, `progress`, `done` and `error`.

use tokio::sync::mpsc;
use toolwright_core::Json;

use toolwright_runtime::ToolError;
use toolwright_runtime::redact::known::KnownSecrets;

/// The types of events that a function may write.
const TYPES: [&str; 5] = ["start", "content", "progress", "done", "error"];

/// Receives the events of a streaming function, if it is in the context of the call. Without it, only the
/// result is returned.
#[derive(Debug, Clone)]
pub struct EventSender(pub mpsc::Sender<Json>);

/// What a streaming function has written so far.
#[derive(Default)]
pub(crate) struct FunctionStream {
    content: Vec<Json>,
    result: Option<Json>,
    error: Option<String>,
}

/// Why a stream has no result.
#[derive(Debug)]
pub(crate) enum StreamError {
    /// The function reported an error
    Function(String),
    /// What it wrote is not a stream of events
    Malformed(&'static str),
}

impl StreamError {
    /// Returns the error of the call, without secrets.
    pub(crate) fn into_tool_error(
        self,
        known: &KnownSecrets,
        malformed: impl FnOnce(&str) -> ToolError,
    ) -> ToolError {
        match self {
            StreamError::Function(text) => {
                ToolError::new(known.text(&text)).with_kind("FunctionError")
            }
            StreamError::Malformed(problem) => malformed(problem),
        }
    }
}

impl FunctionStream {
    /// Reads the text of an event.
    pub(crate) fn add(&mut self, text: &[u8]) -> Result<Json, StreamError> {
        let event = std::str::from_utf8(text).ok().and_then(|text| Json::parse(text).ok());
        let kind = event.as_ref().and_then(|event| event.get("type")).and_then(Json::as_str);
        let (Some(event), Some(kind)) = (&event, kind.filter(|kind| TYPES.contains(kind))) else {
            return Err(StreamError::Malformed("it wrote what is not an event with a known type"));
        };
        if self.result.is_some() || self.error.is_some() {
            return Err(StreamError::Malformed("it wrote an event after the last one"));
        }
        let data = event.get("data").cloned().unwrap_or_default();
        match kind {
            "content" => self.content.push(data),
            "done" => self.result = Some(data),
            "error" => {
                let text = data.as_str().or_else(|| data.get("message")?.as_str());
                self.error = Some(text.map_or_else(|| data.compact(), str::to_owned));
            }
            _ => {}
        }
        Ok(event.clone())
    }

    /// Returns the result: the data of `done`, or else all content.
    pub(crate) fn finish(self) -> Result<Json, StreamError> {
        if let Some(error) = self.error {
            return Err(StreamError::Function(error));
        }
        match self.result {
            None => Err(StreamError::Malformed("it ended without the event `done`")),
            Some(Json::Null) => {
                let texts: Option<Vec<&str>> = self.content.iter().map(Json::as_str).collect();
                Ok(texts.map_or_else(
                    || Json::Array(self.content.clone()),
                    |texts| texts.concat().into(),
                ))
            }
            Some(result) => Ok(result),
        }
    }
}
