//! What the task of a call does: record the intent, try, try again, record the end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::FutureExt;
use toolwright_core::json::Object;
use toolwright_core::part::Part;

use super::cache::Flight;
use super::concurrency::Permit;
use super::execute::panicked;
use super::item::Item;
use super::{outcome, retry};
use crate::call::journal::{Begun, Intent, JournalError, SharedJournal, record};
use crate::error::{CallError, CallErrorKind, ToolError};
use crate::handle::HandleStore;
use crate::ledger::ResultSource;
use crate::output::{Host, Output};
use crate::session::Scope;
use crate::settings::Effect;

/// A call that is about to run, with all that it holds while it does.
pub(crate) struct Job {
    pub(crate) item: Arc<Item>,
    pub(crate) scope: Scope,
    pub(crate) arguments: Object,
    pub(crate) journal: SharedJournal,
    pub(crate) handles: Option<Arc<dyn HandleStore>>,
    pub(crate) flight: Option<Flight>,
    /// How often the tool was started, for whoever stops waiting
    pub(crate) attempts: Arc<AtomicU32>,
    pub(crate) permits: [Permit; 2],
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Ran {
    /// What the model sees; none if that is the error's own text
    pub(crate) content: Option<Vec<Part>>,
    pub(crate) error: Option<CallError>,
    pub(crate) host: Option<Host>,
    pub(crate) attempts: u32,
    pub(crate) source: ResultSource,
    pub(crate) unrecorded: Option<JournalError>,
}

impl Ran {
    fn of(source: ResultSource, error: Option<CallError>) -> Ran {
        Ran { content: None, error, host: None, attempts: 0, source, unrecorded: None }
    }

    /// It did not begin.
    pub(crate) fn refused(error: CallError) -> Ran {
        Ran::of(ResultSource::Refused, Some(error))
    }

    /// It began and did not succeed.
    pub(crate) fn failed(error: CallError, attempts: &AtomicU32) -> Ran {
        let attempts = attempts.load(Ordering::Relaxed);
        Ran { attempts, ..Ran::of(ResultSource::Executed, Some(error)) }
    }

    /// It succeeded.
    pub(crate) fn succeeded(source: ResultSource, content: Vec<Part>, host: Option<Host>) -> Ran {
        Ran { content: Some(content), host, ..Ran::of(source, None) }
    }
}

impl Job {
    /// The whole of it. Nothing is run that was not recorded before.
    pub(crate) async fn run(mut self) -> Ran {
        // What has no effect needs no journal.
        let journal = match self.item.handler.settings().effect {
            Effect::None => None,
            Effect::Keyed | Effect::Once => Some(self.journal.clone()),
        };
        let mut earlier = 0;
        if let Some(journal) = &journal {
            match self.begin(journal).await {
                Ok(attempts) => earlier = attempts,
                Err(ran) => return *ran,
            }
        }
        let ended = self.try_all(earlier).await;
        let mut ran = self.conclude(ended);
        ran.attempts = self.attempts.load(Ordering::Relaxed);
        if let Some(journal) = &journal {
            ran.unrecorded = self.end(journal, &ran).await.err();
        }
        drop(self.permits);
        ran
    }

    /// Records the intent. How often it was begun before, or what there is to say instead.
    async fn begin(&self, journal: &SharedJournal) -> Result<u32, Box<Ran>> {
        let intent = Intent {
            key: self.scope.key.clone(),
            run: self.scope.session.run.clone(),
            tool: self.scope.tool.clone(),
            call_id: self.scope.call_id.clone(),
        };
        let effect = self.item.handler.settings().effect;
        match (journal.begin(&intent).await, effect) {
            (Ok(Begun::New), _) => Ok(0),
            (Ok(Begun::Unfinished(times)), Effect::Keyed) => Ok(times),
            (Ok(Begun::Unfinished(_)), _) => {
                Err(Box::new(Ran::refused(uncertain(&self.scope.tool))))
            }
            (Ok(Begun::Finished(known)), _) => Err(Box::new(match record::read(&known) {
                Ok((content, error)) => {
                    Ran { content: Some(content), ..Ran::of(ResultSource::Journal, error) }
                }
                // It was done, and what came of it cannot be read.
                Err(_) => Ran::refused(uncertain(&self.scope.tool)),
            })),
            (Err(_), _) => Err(Box::new(Ran::refused(unrecorded(&self.scope.tool)))),
        }
    }

    /// Tries, and tries again what is retryable, as often as the tool's settings say.
    async fn try_all(&mut self, earlier: u32) -> Result<Output, Fall> {
        let handler = &self.item.handler;
        let retry = handler.settings().retry;
        let most = retry.map_or(0, |retry| retry.max);
        let mut attempt = 0;
        loop {
            attempt += 1;
            // What was given up while it waited has not begun.
            if self.scope.cancel.is_cancelled() {
                let error = ToolError::new("given up before it began").retryable();
                return Err(Fall::Failed(error));
            }
            self.attempts.store(attempt, Ordering::Relaxed);
            let mut scope = self.scope.clone();
            scope.attempt = earlier.saturating_add(attempt);
            let arguments = if attempt > most {
                std::mem::take(&mut self.arguments)
            } else {
                self.arguments.clone()
            };
            let running = AssertUnwindSafe(Box::pin(handler.run(scope, arguments)));
            let error = match running.catch_unwind().await {
                Ok(Ok(output)) => return Ok(output),
                Ok(Err(error)) => error,
                Err(_) => return Err(Fall::Panicked),
            };
            let again = match retry {
                Some(retry) if error.retryable && attempt <= most => {
                    retry::wait(&retry, attempt, &self.scope).await
                }
                _ => false,
            };
            if !again {
                return Err(Fall::Failed(error));
            }
        }
    }

    /// Makes of the tool's end what the model will see.
    fn conclude(&self, ended: Result<Output, Fall>) -> Ran {
        let handler = &self.item.handler;
        let error = match ended {
            Ok(output) => {
                // What is kept is what the tool said: handles would belong to this run.
                if let Some(flight) = &self.flight {
                    flight.keep(Arc::new(output.clone()));
                }
                let owner = self.scope.session.owner();
                let store = self.handles.as_deref();
                let content = outcome::success(handler, output.content, &owner, store);
                return Ran::succeeded(ResultSource::Executed, content, output.host);
            }
            Err(Fall::Failed(error)) => retry::failed(handler, &error),
            Err(Fall::Panicked) => panicked(&self.scope.tool, handler.settings().effect),
        };
        Ran::of(ResultSource::Executed, Some(error))
    }

    /// Records the end: what was done, or that nothing was.
    async fn end(&self, journal: &SharedJournal, ran: &Ran) -> Result<(), JournalError> {
        let key = &self.scope.key;
        match &ran.error {
            Some(error) if error.retryable => journal.withdraw(key).await,
            error => {
                let failure =
                    || error.as_ref().map(|error| outcome::failure(&self.item.handler, error));
                let content = ran.content.clone().or_else(failure).unwrap_or_default();
                journal.finish(key, &record::write(&content, error.as_ref())).await
            }
        }
    }
}

/// Why a tool has no output.
enum Fall {
    Failed(ToolError),
    Panicked,
}

fn uncertain(tool: &str) -> CallError {
    let text = format!(
        "This call of {tool} was begun before and interrupted, and nobody knows whether it had its \
         effect. It was not repeated. Find out whether it happened; make a new call only if it did \
         not."
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
