//! How a call ended, or the question that it waits for.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::args::Change;
use toolwright_core::{Json, Outcome};

use super::approval::Approval;
use super::journal::JournalError;
use crate::error::CallError;
use crate::handle::HandleId;
use crate::ledger::ResultSource;
use crate::output::{Content, Host, Piece, Place};

/// The state of a call.
#[derive(Debug, Clone)]
pub enum CallStatus {
    /// The call has its result
    Done(CallResult),
    /// The call waits for approval; the tool was not started
    Waiting(Approval),
}

/// The result of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallResult {
    /// The outcome for the model, within the budget of the tool; see [`output`](CallResult::output) for
    /// the complete output
    pub outcome: Outcome,
    /// Why the call failed
    pub error: Option<CallError>,
    /// The tool's output for the host; absent if the result comes from the journal
    pub host: Option<Host>,
    /// Changes made to the arguments
    pub changes: Vec<Change>,
    /// Number of attempts; 0 if the tool was not started
    pub attempts: u32,
    /// Where the result comes from
    pub source: ResultSource,
    /// How long the call took
    pub duration: Duration,
    /// Why the journal could not record the result. After a restart, the call will be uncertain.
    pub unrecorded: Option<JournalError>,
    /// The complete output with its places
    pub(crate) output: Option<Arc<[Piece]>>,
}

impl CallResult {
    /// Returns the complete output of the tool, piece by piece, before the budget limited it and without
    /// the envelope.
    ///
    /// `None` if there is no output: the call failed (the complete message is in `error`), or it comes
    /// from the journal, which records what the model received, and the handle store no longer has the
    /// rest.
    ///
    /// ```
    /// # extern crate toolwright_runtime as toolwright;
    /// # use toolwright::{Arguments, Call, Effect, Handler, Output, Session, Tool, Toolbox, object};
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let list = Handler::new(Tool::function("list", object! {"type": "object"}.into()), |_, _| async {
    ///     Ok(Output::json(object! {"rows": vec!["row"; 100_000]}))
    /// });
    /// let toolbox = Toolbox::new([list])?;
    /// let call = Call::new("call_1", "list", Arguments::from_text("{}"));
    /// let status = toolbox.call(&Session::new("run-1"), &call).await;
    ///
    /// let result = status.result().ok_or("the call waits for approval")?;
    /// let value = result.value().ok_or("no output")?;
    /// assert_eq!(value.pointer("/rows/99999").and_then(|row| row.as_str()), Some("row"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn output(&self) -> Option<&[Piece]> {
        self.output.as_deref()
    }

    /// Whether the outcome is not the complete output as it is: it has previews of values behind handles, or an
    /// envelope.
    pub fn is_shortened(&self) -> bool {
        let mut pieces = self.output().into_iter().flatten().enumerate();
        self.output.is_none() || !pieces.all(|(index, piece)| piece.place.is_part(index))
    }

    /// Whether a part of the output is for the host alone.
    pub fn is_hidden(&self) -> bool {
        self.output().into_iter().flatten().any(|piece| piece.about.is_some())
    }

    /// Returns the handles in the outcome, with the content that each stands for; none for an array of several pieces.
    pub fn handles(&self) -> Vec<(HandleId, Option<&Content>)> {
        let mut handles: Vec<(HandleId, Option<&Content>)> = Vec::new();
        for piece in self.output().into_iter().flatten() {
            if let Place::Handle(Some(id), pointer) = &piece.place
                && !handles.iter().any(|(known, _)| known == id)
            {
                handles.push((*id, pointer.is_empty().then_some(&piece.content)));
            }
        }
        handles
    }

    /// Returns the complete output as one JSON value: that of its only piece, or an array of all pieces.
    /// Text is a JSON string. `None` if there is no output, or if a piece is media or bytes.
    pub fn value(&self) -> Option<Cow<'_, Json>> {
        let pieces = self.output()?;
        if let [only] = pieces {
            return only.content.as_json().map(Cow::Borrowed);
        }
        let values = pieces.iter().map(|piece| piece.content.as_json().cloned());
        values.collect::<Option<Vec<Json>>>().map(|values| Cow::Owned(Json::Array(values)))
    }
}

impl CallStatus {
    /// The result, unless the call waits for approval.
    pub fn result(&self) -> Option<&CallResult> {
        match self {
            CallStatus::Done(result) => Some(result),
            CallStatus::Waiting(_) => None,
        }
    }

    /// The question to a person, if the call waits for one.
    pub fn approval(&self) -> Option<&Approval> {
        match self {
            CallStatus::Done(_) => None,
            CallStatus::Waiting(approval) => Some(approval),
        }
    }
}
