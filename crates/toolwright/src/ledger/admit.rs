//! What a ledger lets into itself, whatever it is given: no data, or data without secrets.

use toolwright_core::Json;

use super::{CallEntry, Entry};
use crate::redact::Redactor;

/// Nothing is known of the values.
const ANY: &Json = &Json::Bool(true);

/// Whether a ledger takes arguments and outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    Off,
    On,
}

impl Data {
    /// The entry with no more in it than the ledger may have.
    pub(super) fn admit(self, mut entry: Entry) -> Entry {
        match &mut entry {
            Entry::Call(call) => self.call(call),
            Entry::Exchange(exchange) => self.data(&mut exchange.data),
        }
        entry
    }

    fn call(self, call: &mut CallEntry) {
        self.data(&mut call.data);
        for change in &mut call.changes {
            match self {
                Data::Off => (change.from, change.to) = (None, None),
                Data::On => *change = Redactor::new(ANY).change(change),
            }
        }
    }

    fn data(self, data: &mut Option<Json>) {
        *data = match self {
            Data::Off => None,
            Data::On => data.take().map(|data| Redactor::new(ANY).json(&data)),
        };
    }
}
