//! The journal that the toolbox of a run uses: the intent of a step's call goes into the journal of plans, and only if
//! the call may not be repeated. Calls that a tool makes itself go into the journal of the toolbox.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_core::Json;

use super::journal::{Entry, EntryEvent, PlanJournal};
use super::start::now_ms;
use crate::call::journal::{Begun, Intent, Journal, JournalError, SharedJournal};
use crate::call::key;

/// The beginning of a step's idempotency key; other keys are hexadecimal.
const PREFIX: &str = "plan-";

/// Separates a step from the item in the id of a call. No id of a step contains it.
const ITEM: char = '#';

/// Returns the id of a call.
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

/// Returns the idempotency key of a call: the same for every attempt, also after a restart.
pub(crate) fn call_key(tenant: &str, run: &str, call_id: &str) -> Arc<str> {
    format!("{PREFIX}{}", key::digest(&[tenant, run, call_id]).to_hex()).into()
}

/// The journal of the toolbox of a run.
pub(crate) struct IntentJournal {
    pub(crate) run: Arc<str>,
    pub(crate) tenant: Arc<str>,
    pub(crate) journal: Arc<dyn PlanJournal>,
    /// The journal of the toolbox
    pub(crate) nested: SharedJournal,
    /// The ids of the steps whose calls may not be repeated
    pub(crate) once: HashSet<String>,
    /// The calls in progress that may not be repeated, by their keys
    pub(crate) begun: Mutex<HashMap<Arc<str>, String>>,
    /// Whether the drive has ended: a call of it that goes on must not touch the run, which another drive may continue
    pub(crate) is_closed: Arc<AtomicBool>,
}

impl IntentJournal {
    async fn append(&self, call_id: &str, event: EntryEvent) -> Result<(), JournalError> {
        let (step, item) = parse_call_id(call_id);
        let entry = Entry { step: step.to_owned(), item, time_ms: now_ms(), event };
        Ok(self.journal.append(&self.run, entry).await?)
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<Arc<str>, String>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_open(&self) -> Result<(), JournalError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(JournalError("the drive of the run has ended".to_owned()));
        }
        Ok(())
    }
}

impl Journal for IntentJournal {
    async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        if *call_key(&self.tenant, &self.run, &intent.call_id) != *intent.key {
            return self.nested.begin(intent).await;
        }
        if self.once.contains(parse_call_id(&intent.call_id).0) {
            self.check_open()?;
            self.append(&intent.call_id, EntryEvent::Intent).await?;
            // Another drive may have read the journal in the meantime.
            self.check_open()?;
            self.begun().insert(intent.key.clone(), intent.call_id.to_string());
        }
        Ok(Begun::New)
    }

    /// The engine records the result of a step itself, with its complete output.
    async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        if key.starts_with(PREFIX) { Ok(()) } else { self.nested.finish(key, record).await }
    }

    async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        if !key.starts_with(PREFIX) {
            return self.nested.withdraw(key).await;
        }
        self.check_open()?;
        let call_id = self.begun().remove(key);
        match call_id {
            Some(call_id) => self.append(&call_id, EntryEvent::Withdrawn).await,
            None => Ok(()),
        }
    }

    /// The call of a step has no record here.
    async fn reopen(&self, intent: &Intent, record: &Json) -> Result<(), JournalError> {
        self.nested.reopen(intent, record).await
    }
}

#[cfg(test)]
mod tests {
    use toolwright_core::{Arguments, Call};

    use super::*;
    use crate::call::key::CallPosition;
    use crate::session::Session;

    #[test]
    fn the_id_of_a_steps_call_is_never_hashed() {
        let id = call_id(&"𠮷".repeat(64), Some(usize::MAX));
        let call = Call::new(id.as_str(), "t", Arguments::from_text("{}"));
        assert_eq!(*CallPosition::default().id(&Session::new("run"), &call), *id);
        assert_eq!(parse_call_id(&id), ("𠮷".repeat(64).as_str(), Some(usize::MAX)));
    }
}
