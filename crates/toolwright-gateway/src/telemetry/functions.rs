//! Counts the calls of prefabs' functions: a ledger that passes every entry on.

use std::sync::Arc;

use toolwright_runtime::CallErrorKind;
use toolwright_runtime::ledger::{Backpressure, Entry, Ledger};

use super::Telemetry;

/// A ledger that also counts calls of functions, whose names as tools contain a slash.
pub(super) struct CountingLedger {
    pub(super) inner: Arc<dyn Ledger>,
    pub(super) telemetry: Telemetry,
}

impl Ledger for CountingLedger {
    fn record(&self, entry: Entry) {
        if let Entry::Call(call) = &entry
            && call.source.is_some()
            // The name of a tool that does not exist is not ours.
            && call.error != Some(CallErrorKind::UnknownTool)
            && call.tool.contains('/')
        {
            self.telemetry.metrics().count_function(&call.tool, call.error, call.duration);
        }
        self.inner.record(entry);
    }

    fn wants_data(&self) -> bool {
        self.inner.wants_data()
    }

    fn backpressure(&self) -> Option<Backpressure> {
        self.inner.backpressure()
    }
}
