//! Removes from an entry what a ledger must not record: data, or the secrets in it.

use toolwright_core::Json;

use super::{CallEntry, Entry};
use crate::redact::Redactor;

/// The type of the values is unknown.
const ANY: &Json = &Json::Bool(true);

/// Whether a ledger records arguments and outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    Off,
    On,
}

impl Data {
    /// Returns the entry without data that the ledger must not record.
    pub(super) fn admit(self, mut entry: Entry) -> Entry {
        match &mut entry {
            Entry::Call(call) => self.call(call),
            Entry::Exchange(exchange) => self.data(&mut exchange.data),
            Entry::Approval(_) => {}
        }
        entry
    }

    fn call(self, call: &mut CallEntry) {
        self.data(&mut call.data);
        if let (Some(Json::Object(data)), [_, ..]) = (&mut call.data, &*call.changes) {
            let changes = call.changes.iter().map(|own| Redactor::new(ANY).change(own).to_json());
            data.insert("changes", changes.collect::<Vec<_>>());
        }
        for change in &mut call.changes {
            (change.from, change.to) = (None, None);
        }
    }

    fn data(self, data: &mut Option<Json>) {
        *data = match self {
            Data::Off => None,
            Data::On => data.take().map(|data| Redactor::new(ANY).json(&data)),
        };
    }
}
