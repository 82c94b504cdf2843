//! Completion: absent parameters are filled from the defaults of the schema, and those without a
//! default are listed.
//!
//! - A given value is not changed.
//! - Hidden parameters are skipped; they come neither from the model nor from a default.
//! - Defaults are added after the given values, in the order of the schema.
//! - A parameter with neither value nor default is missing, whether required or optional, in the
//!   order of the schema; a parameter that an edge of a plan feeds is not missing.
//!
//! Only top-level parameters are completed: the tool applies the defaults within a given object
//! itself.

use std::sync::Arc;

use toolwright_json::{Object, object};

use super::parameters::Parameters;
use crate::wire_json;

/// A parameter without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its name, shared with the parameter's
    pub name: Arc<str>,
    /// Whether it is required
    pub required: bool,
}

impl Missing {
    /// Returns the JSON form: `{name, required}`.
    pub fn to_json(&self) -> Object {
        object! {"name": &*self.name, "required": self.required}
    }
}

/// The result of completion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Completed {
    /// The parameters that have neither value nor default
    pub missing: Vec<Missing>,
    /// The parameters that were set to their default
    pub defaulted: Vec<Arc<str>>,
}

impl Parameters {
    /// Completes arguments. `fed` names the parameters whose values come from elsewhere.
    pub fn complete(&self, arguments: &mut Object, fed: &[&str]) -> Completed {
        self.complete_where(arguments, fed, |_, _| true)
    }

    /// Like [`Parameters::complete`], for valid arguments: a default that would make them invalid
    /// is left out, and its parameter is missing.
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
                arguments.push(wire_json::key(name), default.clone());
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
