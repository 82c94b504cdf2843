//! The values of references in a running plan: arguments, items, conditions, outputs.

use super::Interpreter;
use crate::json::pointer::Path;
use crate::json::{Json, Object, key};
use crate::plan::condition::Condition;
use crate::plan::document::Step;
use crate::plan::state::{StepError, StepResult};
use crate::plan::stored::{drop_parts, lookup, lookup_stored, put_parts, stored_items};
use crate::plan::template::{Reference, Source, Template};

/// Maximum memory, in bytes, of the values that the references of a call, an `each`, a condition or the outputs have
/// together. Each reference copies its value, so a small plan could multiply a large one.
const MAX_BYTES: usize = 256 << 20;

/// Why a reference has no value.
pub(super) enum Absent {
    /// Its step was skipped
    Skipped(String),
    /// There is nothing at its pointer, or it is too large
    Failed(StepError),
}

/// The item of a step's `each`, and its position.
type Item<'i> = Option<(&'i Json, usize)>;

impl Interpreter {
    /// Returns the outputs of the plan. What has no value is null, or the default of its reference. It is an error if the
    /// outputs are too large together.
    pub fn outputs(&self) -> Result<Object, StepError> {
        let mut left = MAX_BYTES;
        let mut get = |reference: &Reference| take(&mut left, self.or_null(reference, None));
        let outputs = self.plan.outputs.iter();
        outputs.map(|(name, template)| Ok((key(name), template.fill(&mut get)?))).collect()
    }

    /// Returns the value of a step's `each`.
    pub(super) fn items_of(&self, each: &Template) -> Result<Json, Absent> {
        let mut left = MAX_BYTES;
        let items = self.fill(each, None, &mut left)?;
        Ok(if self.has_handles { stored_items(items) } else { items })
    }

    /// Whether a condition holds. It is an error if its values are too large, or if the engine does not know one of them.
    pub(super) fn holds(&self, when: &Condition, item: Item<'_>) -> Result<bool, StepError> {
        let mut left = MAX_BYTES;
        when.holds(&mut |reference| {
            let mut value = self.or_null(reference, item);
            if self.has_handles && !put_parts(&mut value) {
                let message = format!(
                    "the condition reads '{reference}', which is stored behind a handle, and the run does not know it: \
                     start the run again"
                );
                return Err(StepError::new("missing_value", message));
            }
            take(&mut left, value)
        })
    }

    /// Returns the arguments of a call, and which of them to pass by handle; none if the condition leaves the
    /// item out.
    #[allow(clippy::type_complexity, reason = "a pair that one caller takes apart at once")]
    pub(super) fn prepare(
        &self,
        step: &Step,
        item: Option<&Json>,
        at: usize,
    ) -> Result<Option<(Object, Vec<String>)>, Absent> {
        let scope = item.map(|item| (item, at));
        if let (Some(when), Some(_)) = (step.when.as_ref().filter(|_| step.filters_items()), scope)
            && !self.holds(when, scope).map_err(Absent::Failed)?
        {
            return Ok(None);
        }
        let mut left = MAX_BYTES;
        let mut arguments = Object::with_capacity(step.args.len());
        let mut as_handle = Vec::new();
        for (name, template) in &step.args {
            let mut value = self.fill(template, scope, &mut left)?;
            if self.has_handles {
                drop_parts(&mut value);
            }
            let handles = template.handles();
            let name_path = Path::ROOT.key(name).pointer();
            as_handle.extend(handles.into_iter().map(|path| format!("{name_path}{path}")));
            arguments.push(key(name), value);
        }
        Ok(Some((arguments, as_handle)))
    }

    /// Replaces each reference by its value, with at most `left` bytes.
    fn fill(&self, template: &Template, item: Item<'_>, left: &mut usize) -> Result<Json, Absent> {
        template
            .fill(&mut |reference| take(left, self.value(reference, item)?).map_err(Absent::Failed))
    }

    /// Returns the value of a reference.
    fn value(&self, reference: &Reference, item: Item<'_>) -> Result<Json, Absent> {
        let found = match &reference.source {
            Source::Inputs => self.lookup(&self.inputs, reference),
            Source::Item => item.and_then(|(item, _)| self.lookup(item, reference)),
            Source::Index => item.map(|(_, at)| Json::from(at)),
            Source::Step(id) => match self.positions.get(id).and_then(|&at| self.result(at)) {
                Some(StepResult::Succeeded(output)) => self.lookup(output, reference),
                Some(StepResult::Failed { continued: true, .. }) => {
                    return Ok(reference.default.clone().unwrap_or_default());
                }
                Some(StepResult::Skipped { .. }) if reference.default.is_none() => {
                    return Err(Absent::Skipped(format!("the step '{id}' was skipped")));
                }
                _ => None,
            },
        };
        found.or_else(|| reference.default.clone()).ok_or_else(|| {
            let message = format!("there is no value at '{reference}', and no '$default'");
            Absent::Failed(StepError::new("missing_value", message))
        })
    }

    fn lookup(&self, value: &Json, reference: &Reference) -> Option<Json> {
        if self.has_handles {
            lookup_stored(value, reference)
        } else {
            lookup(value, &reference.pointer)
        }
    }

    /// Returns the value of a reference; null if it has no value.
    fn or_null(&self, reference: &Reference, item: Item<'_>) -> Json {
        // A value behind a handle may lack the part.
        let default = reference.default.clone().or(Some(Json::Null));
        self.value(&Reference { default, ..reference.clone() }, item).unwrap_or_default()
    }
}

/// Subtracts the memory of a value from what is left.
fn take(left: &mut usize, value: Json) -> Result<Json, StepError> {
    *left = left.checked_sub(value.weight()).ok_or_else(|| {
        let message = format!(
            "the values of the references need more than {} MiB of memory together; refer to smaller parts of \
             them, or refer to them less often",
            MAX_BYTES >> 20
        );
        StepError::new("limit", message)
    })?;
    Ok(value)
}
