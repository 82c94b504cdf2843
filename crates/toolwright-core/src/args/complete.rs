//! Completion: what was not given is filled from the schema's defaults, and what has none is listed.
//!
//! - A given value stays, whatever the default is.
//! - Hidden parameters are skipped; they never come from the model or from a default.
//! - Defaults are added behind the given values, in the order of the schema.
//! - What has neither value nor default is missing, required and optional alike, in the order of
//!   the schema; a parameter that an edge of a plan feeds is not missing.
//!
//! Only the parameters themselves are completed. An object that was given is a given value: the
//! defaults within it are left to the tool, which knows what an absent member means to it.

use std::sync::Arc;

use super::parameters::Parameters;
use crate::json::Object;
use crate::object;

/// A parameter without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its name, shared with the parameter's
    pub name: Arc<str>,
    /// Whether the tool cannot run without it
    pub required: bool,
}

impl Missing {
    /// For reports: `{name, required}`.
    pub fn to_json(&self) -> Object {
        object! {"name": &*self.name, "required": self.required}
    }
}

/// What completion did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completed {
    /// The parameters that have neither value nor default
    pub missing: Vec<Missing>,
    /// The parameters that were given their default
    pub defaulted: Vec<Arc<str>>,
}

impl Parameters {
    /// Completes arguments. `fed` names the parameters whose values come from elsewhere.
    pub fn complete(&self, arguments: &mut Object, fed: &[&str]) -> Completed {
        self.complete_where(arguments, fed, |_, _| true)
    }

    /// As [`Parameters::complete`], for arguments that are accepted as they are: a default that
    /// would spoil them is left out, and its parameter is missing.
    pub(super) fn complete_accepted(&self, arguments: &mut Object) -> Completed {
        let given = self.has_interplay().then(|| arguments.clone());
        let completed = self.complete(arguments, &[]);
        match given {
            Some(given) if !completed.defaulted.is_empty() && !self.accepts(arguments) => {
                *arguments = given;
                self.complete_where(arguments, &[], Parameters::accepts)
            }
            _ => completed,
        }
    }

    fn complete_where(
        &self,
        arguments: &mut Object,
        fed: &[&str],
        keep: fn(&Parameters, &Object) -> bool,
    ) -> Completed {
        let mut completed = Completed::default();
        for parameter in self.iter() {
            let name = &parameter.name;
            if arguments.contains_key(name) || fed.contains(&&**name) {
                continue;
            }
            if let Some(default) = &parameter.default {
                arguments.push(crate::json::key(name), default.clone());
                if keep(self, arguments) {
                    completed.defaulted.push(Arc::clone(name));
                    continue;
                }
                arguments.remove(name);
            }
            completed
                .missing
                .push(Missing { name: Arc::clone(name), required: parameter.required });
        }
        completed
    }
}
