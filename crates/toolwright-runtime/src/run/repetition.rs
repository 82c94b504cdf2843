//! Counts repeated failures of the same call: the model is warned, then the run ends (case 28).

use std::collections::BTreeMap;

use toolwright_core::{Arguments, Call, Json, Outcome, Part};

use crate::call::canonical;
use crate::error::{CallError, CallErrorKind};

/// Number of failures of each call since it last succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Failures(pub(crate) BTreeMap<String, u32>);

/// A call that reached the limit of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepeatedFailure {
    /// The tool
    pub(crate) tool: String,
    /// Number of failures
    pub(crate) times: u32,
}

impl Failures {
    /// Counts an outcome. From the second failure on, the outcome warns the model that repeating
    /// the call does not help.
    pub(crate) fn count(
        &mut self,
        call: &Call,
        outcome: &mut Outcome,
        error: Option<&CallError>,
        most: u32,
    ) -> Result<(), RepeatedFailure> {
        if !outcome.is_error() {
            // Usually nothing has failed, and no key is needed.
            if !self.0.is_empty() {
                self.0.remove(&key(call, None));
            }
            return Ok(());
        }
        let times = self.0.entry(key(call, error)).or_default();
        *times += 1;
        if *times > 1 {
            outcome.content.push(Part::text(format!(
                "This call has now failed {times} times in the same way. Do not send it again as \
                 it is: change it, use another tool, or answer without it."
            )));
        }
        if *times >= most {
            return Err(RepeatedFailure { tool: call.name.clone(), times: *times });
        }
        Ok(())
    }

    /// Counts a response whose call the vendor could not parse.
    pub(crate) fn count_malformed(&mut self, most: u32) -> Result<(), RepeatedFailure> {
        let times = self.0.entry(String::new()).or_default();
        *times += 1;
        if *times >= most {
            return Err(RepeatedFailure { tool: "?".to_owned(), times: *times });
        }
        Ok(())
    }
}

/// Identifies equal failing calls: by tool and arguments, or by the tool alone if the arguments are
/// irrelevant or incomplete.
fn key(call: &Call, error: Option<&CallError>) -> String {
    let arguments = match (error.map(|error| error.kind), &call.arguments) {
        (Some(CallErrorKind::UnknownTool | CallErrorKind::Truncated), _) => String::new(),
        (_, Arguments::Json(json)) => match json.to_json() {
            Json::Object(object) => canonical(&object),
            value => value.compact(),
        },
        (_, Arguments::Malformed(text) | Arguments::Free(text)) => text.clone(),
    };
    // Hashed, so that a saved run does not contain the arguments twice.
    blake3::hash(format!("{}\n{arguments}", call.name).as_bytes()).to_hex()[..32].to_owned()
}
