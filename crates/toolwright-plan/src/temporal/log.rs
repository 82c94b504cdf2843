//! The log of a run for the calls of a worker: what happens to the calls of plans within them is recorded by the
//! workflow.

use std::sync::Arc;

use temporalio_client::{Client, WorkflowSignalOptions};
use toolwright_runtime::handle::Owner;

use crate::plan::stored::Needs;

use super::engine::query;
use super::state::write_entry;
use super::values::{INLINE_BYTES, Values};
use super::workflow::PlanWorkflow;
use crate::run::journal::{Entry, EntryEvent, PlanJournalError, PlanJournalFuture};
use crate::run::replay::{NestedEntries, split_entries};
use crate::run::scope::RunLog;

/// The workflow of a run.
pub(super) struct WorkflowLog {
    pub(super) client: Client,
    pub(super) run: String,
    pub(super) owner: Owner,
    pub(super) values: Values,
}

impl RunLog for WorkflowLog {
    fn append(&self, mut entry: Entry) -> PlanJournalFuture<'_, ()> {
        Box::pin(async move {
            if let EntryEvent::Succeeded { output, .. } = &mut entry.event {
                let needs = Needs::default();
                let value = (**output).clone();
                let stored = self.values.put(&self.owner, value, &needs, INLINE_BYTES).await;
                *output = Arc::new(stored.map_err(|error| failed(&error))?);
            }
            let handle = self.client.get_workflow_handle::<PlanWorkflow>(&self.run);
            let (entry, options) = (write_entry(&entry).into(), WorkflowSignalOptions::default());
            let sent = handle.signal(PlanWorkflow::record, entry, options).await;
            sent.map_err(|error| failed(&error))
        })
    }

    fn load_nested(&self) -> PlanJournalFuture<'_, NestedEntries> {
        Box::pin(async move {
            let handle = self.client.get_workflow_handle::<PlanWorkflow>(&self.run);
            let loaded = query(&handle, &self.run, None).await.map_err(|error| failed(&error))?;
            let (_, mut nested) = split_entries(loaded.state.entries);
            for entry in nested.values_mut().flatten() {
                let EntryEvent::Succeeded { output, .. } = &mut entry.event else { continue };
                let mut value = (**output).clone();
                let found = self.values.get(&self.owner, &mut value).await;
                found.map_err(|error| failed(&error))?;
                *output = Arc::new(value);
            }
            Ok(nested)
        })
    }
}

fn failed(error: &dyn std::fmt::Display) -> PlanJournalError {
    PlanJournalError::Failed(error.to_string())
}
