//! The task of a call: records the intent, runs the tool, retries, records the result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use toolwright_core::Part;
use toolwright_json::Object;

use super::cache::Flight;
use super::concurrency::Permit;
use super::execute::panicked;
use super::item::Item;
use super::nested::ActiveCall;
use super::{hidden, outcome, retry};
use crate::call::journal::record::{self, Record};
use crate::call::journal::{Begun, Intent, JournalError, SharedJournal};
use crate::error::{CallError, CallErrorKind, ToolError};
use crate::handle::{HandleStore, read_output, write_output};
use crate::ledger::ResultSource;
use crate::output::{Host, Output, Piece};
use crate::session::Scope;
use crate::settings::Effect;

/// A call that is about to run, with the resources that it holds.
pub(crate) struct Job {
    pub(crate) item: Arc<Item>,
    pub(crate) scope: Scope,
    pub(crate) unversioned_key: blake3::Hash,
    pub(crate) arguments: Object,
    /// The arguments as the model wrote them, if the output goes to a slot
    pub(crate) written: Object,
    pub(crate) journal: SharedJournal,
    pub(crate) handles: Option<Arc<dyn HandleStore>>,
    pub(crate) flight: Option<Flight>,
    /// The running call, shared with the caller, who may stop waiting, and with the tool's scope
    pub(crate) active: Arc<ActiveCall>,
    pub(crate) permits: [Permit; 2],
}

/// The result of running a tool.
#[derive(Debug)]
pub(crate) struct Execution {
    /// The content for the model; absent if the error text is the content
    pub(crate) content: Option<Vec<Part>>,
    /// The output with its places; absent if the call failed, or its output is not known any more
    pub(crate) output: Option<Arc<[Piece]>>,
    pub(crate) error: Option<CallError>,
    pub(crate) host: Option<Host>,
    pub(crate) attempts: u32,
    pub(crate) source: ResultSource,
    pub(crate) unrecorded: Option<JournalError>,
}

impl Execution {
    fn of(source: ResultSource, error: Option<CallError>) -> Execution {
        Execution {
            content: None,
            output: None,
            error,
            host: None,
            attempts: 0,
            source,
            unrecorded: None,
        }
    }

    /// The tool was not started.
    pub(crate) fn refused(error: CallError) -> Execution {
        Execution::of(ResultSource::Refused, Some(error))
    }

    /// The tool was started and failed.
    pub(crate) fn failed(error: CallError, attempts: u32) -> Execution {
        Execution { attempts, ..Execution::of(ResultSource::Executed, Some(error)) }
    }

    /// There is a result.
    pub(crate) fn succeeded(
        source: ResultSource,
        (content, output): (Vec<Part>, Vec<Piece>),
        host: Option<Host>,
    ) -> Execution {
        let output = Some(output.into());
        Execution { content: Some(content), output, host, ..Execution::of(source, None) }
    }
}

impl Job {
    /// Runs the job. A tool with effects is not started before its intent is recorded.
    pub(crate) async fn run(mut self) -> Execution {
        let journal = match self.item.handler.settings().effect {
            Effect::None => None,
            Effect::Keyed | Effect::Once => Some(self.journal.clone()),
        };
        let mut earlier = 0;
        if let Some(journal) = &journal {
            match self.begin(journal).await {
                Ok(attempts) => earlier = attempts,
                Err(execution) => return *execution,
            }
        }
        let ended = self.try_all(earlier).await;
        let mut execution = self.conclude(ended).await;
        execution.attempts = self.active.attempts();
        let settings = self.item.handler.settings();
        let was_stopped = settings.stops_on_cancel && self.scope.cancel.is_cancelled();
        // Whether a tool that was stopped has had its effect is unknown, so its intent stays.
        if let Some(journal) = &journal
            && !(was_stopped && execution.error.is_some())
        {
            execution.unrecorded = self.end(journal, &execution).await.err();
        }
        drop(self.permits);
        execution
    }

    /// Records the intent. Returns the number of earlier attempts, or the result to return instead.
    async fn begin(&self, journal: &SharedJournal) -> Result<u32, Box<Execution>> {
        let intent = Intent {
            key: self.scope.key.clone(),
            unversioned_key: self.unversioned_key.to_hex()[..].into(),
            run: self.scope.session.run.clone(),
            tool: self.scope.tool.clone(),
            call_id: self.scope.call_id.clone(),
        };
        let effect = self.item.handler.settings().effect;
        match (journal.begin(&intent).await, effect) {
            (Ok(Begun::New), _) => Ok(0),
            (Ok(Begun::Unfinished(times)), Effect::Keyed) => Ok(times),
            (Ok(Begun::Unfinished(_)), _) => {
                Err(Box::new(Execution::refused(uncertain(&self.scope.tool))))
            }
            (Ok(Begun::Finished(known)), effect) => Err(Box::new(match record::read(&known) {
                Ok(Record { error: Some(_), .. })
                    if effect == Effect::Keyed && self.active.is_retry() =>
                {
                    // Otherwise the result of the retry would be ignored.
                    match journal.reopen(&intent, &known).await {
                        Ok(()) => return Ok(1),
                        Err(_) => Execution::refused(unrecorded(&self.scope.tool)),
                    }
                }
                Ok(Record { content, output, error }) => {
                    let (owner, store) = (self.scope.session.owner(), self.handles.as_deref());
                    let output = read_output(&output, &content, &owner, store).await;
                    Execution {
                        content: Some(content),
                        output: output.map(Arc::from),
                        ..Execution::of(ResultSource::Journal, error)
                    }
                }
                // The effect happened, and its record is unreadable.
                Err(_) => Execution::refused(uncertain(&self.scope.tool)),
            })),
            (Ok(Begun::ToolChanged(known)), _) => match known.map(|known| record::read(&known)) {
                // The earlier version of the tool failed, so this one may be tried.
                Some(Ok(Record { error: Some(_), .. })) => Ok(0),
                known => {
                    let error = match known {
                        Some(Ok(_)) => superseded(&self.scope.tool),
                        _ => uncertain(&self.scope.tool),
                    };
                    // An intent that stays recorded makes the call uncertain, which is safe.
                    drop(journal.withdraw(&intent.key).await);
                    Err(Box::new(Execution::refused(error)))
                }
            },
            (Err(_), _) => Err(Box::new(Execution::refused(unrecorded(&self.scope.tool)))),
        }
    }

    /// Runs the tool, and retries retryable errors as the settings allow.
    async fn try_all(&mut self, earlier: u32) -> Result<Output, Failure> {
        let handler = &self.item.handler;
        let retry = handler.settings().retry;
        let retries = retry.map_or(0, |retry| retry.max);
        let mut attempt = 0;
        loop {
            attempt += 1;
            // The call was cancelled before this attempt.
            if self.scope.cancel.is_cancelled() {
                let error = ToolError::new("the call was cancelled before it started").retryable();
                return Err(Failure::Failed(error));
            }
            self.active.start_attempt(attempt);
            let mut scope = self.scope.clone();
            scope.attempt = earlier.saturating_add(attempt);
            let arguments = if attempt > retries {
                std::mem::take(&mut self.arguments)
            } else {
                self.arguments.clone()
            };
            let running = AssertUnwindSafe(Box::pin(handler.run(scope, arguments)));
            let error = match running.catch_unwind().await {
                Ok(Ok(output)) => return Ok(output),
                Ok(Err(error)) => error,
                Err(_) => return Err(Failure::Panicked),
            };
            let again = match retry {
                Some(retry) if error.retryable && attempt <= retries => {
                    retry::wait(&retry, attempt, &self.scope).await
                }
                _ => false,
            };
            if !again {
                return Err(Failure::Failed(error));
            }
        }
    }

    /// Builds the content for the model.
    async fn conclude(&self, ended: Result<Output, Failure>) -> Execution {
        let handler = &self.item.handler;
        let error = match ended {
            Ok(output) => {
                // The cache stores the output itself, since handles belong to one conversation.
                if let Some(flight) = &self.flight {
                    flight.store(Arc::new(output.clone()));
                }
                let owner = self.scope.session.owner();
                let store = self.handles.as_deref();
                let Output { pieces, host } = output;
                match outcome::success(handler, pieces, &self.written, &owner, store).await {
                    Ok(content) => {
                        return Execution::succeeded(ResultSource::Executed, content, host);
                    }
                    Err(error) => error,
                }
            }
            Err(Failure::Failed(error)) => {
                let (fills, owner) = (&handler.settings().fills, self.scope.session.owner());
                let (secrets, store) = (&self.scope.secrets, self.handles.as_deref());
                retry::failed(handler, &hidden::conceal(error, fills, secrets, &owner, store).await)
            }
            Err(Failure::Panicked) => panicked(&self.scope.tool, handler.settings().effect),
        };
        Execution::of(ResultSource::Executed, Some(error))
    }

    /// Records the result, or withdraws the intent if nothing was done.
    async fn end(
        &self,
        journal: &SharedJournal,
        execution: &Execution,
    ) -> Result<(), JournalError> {
        let key = &self.scope.key;
        match &execution.error {
            Some(error) if error.retryable => journal.withdraw(key).await,
            error => {
                let failure =
                    || error.as_ref().map(|error| outcome::failure(&self.item.handler, error));
                let content = execution.content.clone().or_else(failure).unwrap_or_default();
                let output = write_output(execution.output.as_deref());
                journal.finish(key, &record::write(&content, output, error.as_ref())).await
            }
        }
    }
}

/// Why the tool returned no output.
enum Failure {
    Failed(ToolError),
    Panicked,
}

fn uncertain(tool: &str) -> CallError {
    let text = format!(
        "This call of {tool} was started before and interrupted, and it is unknown whether it had \
         its effect. It was not repeated. Find out whether it happened; make a new call only if it \
         did not."
    );
    CallError::new(CallErrorKind::Uncertain, text)
}

fn superseded(tool: &str) -> CallError {
    let text = format!(
        "This call of {tool} already ran, and {tool} has changed since then, so its earlier result is \
         not repeated. It was not run again, because it changes things. Find out what it did; make a \
         new call if it is still needed."
    );
    CallError::new(CallErrorKind::Uncertain, text)
}

fn unrecorded(tool: &str) -> CallError {
    let text = format!(
        "{tool} was not run: it changes things, and what it would do could not be recorded first. \
         Nothing was done. Try again later, or tell the user."
    );
    CallError::new(CallErrorKind::Unrecorded, text).retryable()
}
