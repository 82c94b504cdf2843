//! What the calls of a run share, at every depth: its journal, and the answers to its questions.
//!
//! A plan that is called as a function by a step is driven within the call of the step. What happens to its calls is
//! recorded in the journal of the run under the path of the call, as `outer/inner`, so that an interrupted run repeats
//! none of them. The scope is also the journal of the run's toolbox, which records an effect before it happens: the
//! intent of a step's call goes into the journal of the run, the calls that tools make themselves into that of the
//! toolbox.
//!
//! The drive of the run makes all writes, in its own future: when it is dropped, a call that goes on for a while cannot
//! change the run, which another drive may continue.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use toolwright_core::Json;
use toolwright_runtime::call::journal::{Begun, Intent, Journal, JournalError, SharedJournal};
use toolwright_runtime::call::key;
use toolwright_runtime::session::{Scope, Session};

use super::drive::Message;
use super::journal::{Entry, EntryEvent, PlanJournalError, PlanJournalFuture, StepAnswer};
use super::replay::{NestedEntries, NestedQuestion, has_answer, nested_questions, remove_within};
use super::start::now_ms;

/// The beginning of the idempotency key of a call that the journal of a run records; other keys are hexadecimal.
const PREFIX: &str = "plan-";

/// Separates a step from the item in the id of a call. No id of a step contains it.
const ITEM: char = '#';

/// Separates the call of a plan from its steps in a path. No id of a step contains it.
const WITHIN: char = '/';

/// Returns the id of a step's call.
pub(crate) fn call_id(step: &str, item: Option<usize>) -> String {
    match item {
        Some(item) => format!("{step}{ITEM}{item}"),
        None => step.to_owned(),
    }
}

fn parse_call_id(id: &str) -> (&str, Option<usize>) {
    match id.split_once(ITEM) {
        Some((step, item)) => (step, item.parse().ok()),
        None => (id, None),
    }
}

/// Returns the path of a step, or of its call, of the plan that runs within a call; of the run itself if that is empty.
pub(crate) fn join(call: &str, step: &str) -> String {
    if call.is_empty() { step.to_owned() } else { format!("{call}{WITHIN}{step}") }
}

/// Splits a path into the call of the plan, which is empty for the run itself, and the step.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once(WITHIN).unwrap_or(("", path))
}

/// Whether a path is that of a call, or of something within it.
pub(crate) fn is_within(path: &str, call: &str) -> bool {
    path.strip_prefix(call).is_some_and(|rest| rest.is_empty() || rest.starts_with(WITHIN))
}

/// Returns the step of the run that a path is within, and its item.
pub(crate) fn outermost(path: &str) -> (&str, Option<usize>) {
    parse_call_id(path.split(WITHIN).next().unwrap_or_default())
}

/// Returns the idempotency key of a step's call: the same for every attempt, also after a restart, whatever its
/// arguments are. The texts identify the call: by its run, or by the call of a plan that it is within. The key has the
/// prefix only if the journal of the run records the call; the journal of the toolbox records others.
pub(crate) fn step_key(texts: &[&str], is_in_run: bool) -> Arc<str> {
    let prefix = if is_in_run { PREFIX } else { "" };
    format!("{prefix}{}", key::digest(texts).to_hex()).into()
}

/// What happened in a run, as its calls see it.
pub(crate) trait RunLog: Send + Sync {
    /// Appends an entry. It is durable when the future is ready.
    fn append(&self, entry: Entry) -> PlanJournalFuture<'_, ()>;

    /// Returns what happened within the calls of the run.
    fn load_nested(&self) -> PlanJournalFuture<'_, NestedEntries>;
}

/// The scope of a run.
pub(crate) struct RunScope {
    log: Arc<dyn RunLog>,
    /// Whether the log is loaded
    loaded: OnceCell<()>,
    /// Whether the engine knows which calls of steps have started, so that their intents need not be recorded
    pub(crate) knows_starts: bool,
    writes: mpsc::UnboundedSender<Write>,
    /// The journal of the toolbox
    calls: SharedJournal,
    /// Cancelled when the process ends: no further call starts
    pub(crate) stop: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What happened within calls, by their paths
    entries: NestedEntries,
    /// The plans that are being driven, by the paths of their calls
    drivers: HashMap<String, mpsc::UnboundedSender<Message>>,
    /// The calls that wait for an answer to a call within them, by their paths
    waiting: HashSet<String>,
    /// The calls that may not be repeated, by their keys: path of the step, and item
    once: HashMap<Arc<str>, (String, Option<usize>)>,
}

impl RunScope {
    /// Creates the scope of a run, and what the drive of the run has to write.
    pub(crate) fn new(
        log: Arc<dyn RunLog>,
        knows_starts: bool,
        calls: SharedJournal,
        stop: CancellationToken,
    ) -> (RunScope, Writes) {
        let (writes, written) = mpsc::unbounded_channel();
        let (loaded, state) = (OnceCell::new(), Mutex::default());
        let written = Writes { written, log: Arc::clone(&log) };
        (RunScope { log, loaded, knows_starts, writes, calls, stop, state }, written)
    }

    /// Sets what was recorded within the calls of the run.
    pub(crate) fn set_entries(&self, entries: NestedEntries) {
        self.state().entries = entries;
        drop(self.loaded.set(()));
    }

    /// Returns the scope of the run that a session belongs to, if it does.
    pub(crate) async fn of(session: &Session) -> Option<Arc<RunScope>> {
        session.context.read::<Arc<RunScope>>().await.ok().map(|scope| Arc::clone(&scope))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Begins to drive the plan of a call. Returns the messages to it, and what ends it.
    pub(crate) fn enter<'s>(
        &'s self,
        call: &'s str,
    ) -> (mpsc::UnboundedReceiver<Message>, DriverGuard<'s>) {
        let (sender, messages) = mpsc::unbounded_channel();
        self.state().drivers.insert(call.to_owned(), sender);
        (messages, DriverGuard { scope: self, call })
    }

    /// Returns what happened within a call so far.
    pub(crate) async fn entries(&self, call: &str) -> Result<Vec<Entry>, PlanJournalError> {
        let load = || async {
            let nested = self.log.load_nested().await?;
            self.state().entries = nested;
            Ok::<(), PlanJournalError>(())
        };
        self.loaded.get_or_try_init(load).await?;
        Ok(self.state().entries.get(call).cloned().unwrap_or_default())
    }

    /// Ends to drive the plan of a call. Returns the message that came in the meantime, if there is one.
    pub(crate) fn leave(
        &self,
        call: &str,
        messages: &mut mpsc::UnboundedReceiver<Message>,
    ) -> Option<Message> {
        let mut state = self.state();
        let message = messages.try_recv().ok();
        if message.is_none() {
            state.drivers.remove(call);
        }
        message
    }

    /// Whether nobody drives the plan of a call.
    pub(crate) fn has_left(&self, call: &str) -> bool {
        !self.state().drivers.contains_key(call)
    }

    /// Notes that a call waits for an answer within it.
    pub(crate) fn wait_within(&self, call: &str) {
        self.state().waiting.insert(call.to_owned());
    }

    /// Returns whether a call has ended because it waits for an answer within it, and if so whether there is one
    /// already.
    pub(crate) fn waits_within(&self, call: &str) -> Option<bool> {
        let mut state = self.state();
        if !state.waiting.remove(call) {
            return None;
        }
        let mut within = state.entries.iter().filter(|(own, _)| is_within(own, call));
        Some(within.any(|(_, entries)| has_answer(entries)))
    }

    /// Returns the questions within calls.
    pub(crate) fn questions(&self) -> Vec<NestedQuestion> {
        nested_questions(&self.state().entries, true)
    }

    /// Removes what happened within a call that has its result.
    pub(crate) fn forget(&self, call: &str) {
        remove_within(&mut self.state().entries, call);
    }

    /// Records what happened to a call of the plan within a call.
    pub(crate) async fn record(&self, call: &str, entry: Entry) -> Result<(), PlanJournalError> {
        let (done, is_done) = oneshot::channel();
        let step = join(call, &entry.step);
        let is_sent = self.writes.send(Write { entry: Entry { step, ..entry.clone() }, done });
        let ended = || PlanJournalError::Failed("the drive of the run has ended".to_owned());
        is_sent.map_err(|_| ended())?;
        is_done.await.map_err(|_| ended())??;
        if !call.is_empty() {
            let mut state = self.state();
            state.entries.entry(call.to_owned()).or_default().push(entry);
        }
        Ok(())
    }

    /// Passes a recorded answer on to the driver that waits for it. Returns whether a driver continues with it.
    pub(crate) fn deliver(&self, path: &str, item: Option<usize>, answer: &StepAnswer) -> bool {
        let mut state = self.state();
        let (mut call, step) = split(path);
        if !call.is_empty() {
            let event = EntryEvent::Answered { answer: answer.clone(), by: None };
            let entry = Entry::new(step, item, now_ms(), event);
            state.entries.entry(call.to_owned()).or_default().push(entry);
        }
        let (step, answer) = (step.to_owned(), Some(answer.clone()));
        let mut message = Message::Answer { step, item, answer };
        loop {
            if let Some(driver) = state.drivers.get(call) {
                return driver.send(message).is_ok();
            }
            if call.is_empty() {
                return false;
            }
            let (outer, id) = split(call);
            let (step, item) = parse_call_id(id);
            message = Message::Answer { step: step.to_owned(), item, answer: None };
            call = outer;
        }
    }

    /// Lets the intent of a call that may not be repeated be recorded when it starts.
    pub(crate) fn expect_intent(&self, key: &Arc<str>, path: String, item: Option<usize>) {
        self.state().once.insert(Arc::clone(key), (path, item));
    }

    /// Records what happened to the call with a key, if it may not be repeated.
    async fn append(&self, key: &str, event: EntryEvent) -> Result<(), JournalError> {
        let Some((path, item)) = self.state().once.get(key).cloned() else { return Ok(()) };
        let (call, step) = split(&path);
        Ok(self.record(call, Entry::new(step, item, now_ms(), event)).await?)
    }
}

/// An entry to write.
struct Write {
    entry: Entry,
    done: oneshot::Sender<Result<(), PlanJournalError>>,
}

/// What the drive of a run has to write.
pub(crate) struct Writes {
    written: mpsc::UnboundedReceiver<Write>,
    log: Arc<dyn RunLog>,
}

impl Writes {
    /// Drives a run, and writes what happens in it.
    pub(crate) async fn during<T>(self, drive: impl Future<Output = T>) -> T {
        let Writes { written, log } = self;
        let writes =
            stream::unfold(written, |mut written| async { Some((written.recv().await?, written)) });
        let written = writes.for_each_concurrent(None, |Write { entry, done }| async {
            // A call that does not wait any more does nothing with the result.
            drop(done.send(log.append(entry).await));
        });
        tokio::select! {
            ended = drive => ended,
            ended = async { written.await; std::future::pending().await } => ended,
        }
    }
}

/// A plan that is being driven, until this is dropped.
pub(crate) struct DriverGuard<'s> {
    scope: &'s RunScope,
    call: &'s str,
}

impl Drop for DriverGuard<'_> {
    fn drop(&mut self) {
        self.scope.state().drivers.remove(self.call);
    }
}

/// Whether a call is that of a step, recorded in the journal of a run.
pub(crate) fn is_step(scope: &Scope) -> bool {
    scope.key.starts_with(PREFIX)
}

impl Journal for RunScope {
    async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        if !intent.key.starts_with(PREFIX) {
            return self.calls.begin(intent).await;
        }
        self.append(&intent.key, EntryEvent::Intent).await?;
        Ok(Begun::New)
    }

    /// The driver records the result of a step itself, with its complete output.
    async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        if key.starts_with(PREFIX) { Ok(()) } else { self.calls.finish(key, record).await }
    }

    async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        if key.starts_with(PREFIX) {
            self.append(key, EntryEvent::Withdrawn).await
        } else {
            self.calls.withdraw(key).await
        }
    }

    /// The call of a step has no record here.
    async fn reopen(&self, intent: &Intent, record: &Json) -> Result<(), JournalError> {
        self.calls.reopen(intent, record).await
    }
}

impl From<PlanJournalError> for JournalError {
    fn from(error: PlanJournalError) -> JournalError {
        JournalError(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use toolwright_core::{Arguments, Call};

    use super::*;
    use toolwright_runtime::call::key::CallPosition;

    #[test]
    fn the_id_of_a_steps_call_is_never_hashed() {
        let id = call_id(&"𠮷".repeat(64), Some(usize::MAX));
        let id = (0..8).fold(String::new(), |call, _| join(&call, &id));
        let call = Call::new(id.as_str(), "t", Arguments::from_text("{}"));
        assert_eq!(*CallPosition::default().id(&Session::new("run"), &call), *id);
    }

    #[test]
    fn the_path_of_a_step_is_split_into_its_call_and_itself() {
        assert_eq!(split("a"), ("", "a"));
        assert_eq!(split(&join(&join("", &call_id("a", Some(3))), "b")), ("a#3", "b"));
        assert_eq!(parse_call_id("a#3"), ("a", Some(3)));
    }
}
