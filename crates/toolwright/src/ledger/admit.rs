//! What a ledger lets into itself, whatever it is given: no data, or data without secrets.

use toolwright_core::Json;

use super::Entry;
use super::redact::Redactor;

/// Whether a ledger takes arguments and outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    Off,
    On,
}

impl Data {
    /// The entry with no more in it than the ledger may have.
    pub(super) fn admit(self, mut entry: Entry) -> Entry {
        match self {
            Data::Off => {
                entry.data = None;
                for change in &mut entry.changes {
                    (change.from, change.to) = (None, None);
                }
            }
            Data::On => {
                let redactor = Redactor::new(&Json::Bool(true));
                entry.data = entry.data.map(|data| redactor.json(&data));
                for change in &mut entry.changes {
                    *change = redactor.change(change);
                }
            }
        }
        entry
    }
}
