//! The values of references in a running plan: arguments, items, conditions, outputs.

use std::borrow::Cow;

use toolwright_core::wire_json::key;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

use super::{Interpreter, Items, OpenStep, Progress};
use crate::plan::condition::Condition;
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
    /// Returns the outputs of the plan. What has no value is null, or the default of its reference. It is an error if
    /// the outputs are too large together.
    pub fn outputs(&self) -> Result<Object, StepError> {
        let mut left = MAX_BYTES;
        let mut get = |reference| take(&mut left, self.or_null(reference, None));
        let outputs = self.plan.outputs.iter();
        let outputs =
            outputs.map(|(name, template)| Ok((key(name), template.fill(&mut get)?.into_owned())));
        outputs.collect()
    }

    /// Returns how much memory the outputs take.
    pub fn outputs_weight(&self) -> usize {
        self.plan.outputs.iter().map(|(_, template)| self.weigh(template, None)).sum()
    }

    /// Returns the arguments of a step without `each` whose call was taken, with excerpts of the values.
    pub fn excerpt(&self, step: usize, excerpt: &mut dyn FnMut(&Json) -> Json) -> Option<Object> {
        let planned = &self.plan.steps[step];
        let is_taken = match &self.steps[step] {
            Progress::Open(open) => open.taken > 0,
            Progress::Settled(result) => {
                matches!(result, StepResult::Succeeded(_) | StepResult::Failed { .. })
            }
            Progress::Waiting(_) => false,
        };
        if planned.each.is_some() || !is_taken {
            return None;
        }
        let argument = |(name, template): &(String, Template)| {
            let value = match template {
                Template::Literal(value) => excerpt(value),
                template => {
                    let mut get =
                        |reference| Ok(Cow::Owned(excerpt(self.value(reference, None)?.as_ref())));
                    template.fill::<Absent>(&mut get).ok()?.into_owned()
                }
            };
            Some((key(name), value))
        };
        planned.args.iter().map(argument).collect()
    }

    /// Returns how much memory a filled template takes.
    fn weigh(&self, template: &Template, item: Item<'_>) -> usize {
        let mut weight = template.weight();
        template.visit(&Path::ROOT, &mut |_, reference| {
            weight += self.value(reference, item).map_or(0, |value| value.weight());
        });
        weight
    }

    /// Returns the items of a step's `each`.
    pub(super) fn items_of(&self, each: &Template) -> Result<Items, Absent> {
        let mut left = MAX_BYTES;
        if self.has_handles {
            return owned_items(stored_items(self.fill(each, None, &mut left)?.into_owned()));
        }
        match each {
            Template::Literal(Json::Array(items)) => Ok(Items::Shared(items.len())),
            Template::Array(items) => {
                let mut absent = None;
                each.visit(&Path::ROOT, &mut |_, reference| {
                    if absent.is_none() {
                        absent = self.value(reference, None).err();
                    }
                });
                absent.map_or(Ok(Items::Shared(items.len())), Err)
            }
            Template::Reference(reference) => match self.value(reference, None)? {
                Cow::Borrowed(Json::Array(items)) => Ok(Items::Shared(items.len())),
                Cow::Borrowed(other) => Err(not_array(other)),
                Cow::Owned(items) => owned_items(items),
            },
            Template::Literal(other) => Err(not_array(other)),
            Template::Object(_) => Err(not_array(&Json::Object(Object::new()))),
        }
    }

    /// Returns an item of a step's `each`.
    fn item<'i>(
        &'i self,
        step: usize,
        items: &'i Items,
        at: usize,
    ) -> Result<Cow<'i, Json>, Absent> {
        let each = match items {
            Items::Owned(items) => return Ok(Cow::Borrowed(&items[at])),
            Items::Shared(_) => self.plan.steps[step].each.as_ref(),
        };
        let array = match each {
            Some(Template::Array(items)) => {
                let mut left = MAX_BYTES;
                return self.fill(&items[at], None, &mut left);
            }
            Some(Template::Literal(array)) => Cow::Borrowed(array),
            Some(Template::Reference(reference)) => self.value(reference, None)?,
            _ => Cow::Owned(Json::Null),
        };
        match array {
            Cow::Borrowed(Json::Array(items)) if at < items.len() => Ok(Cow::Borrowed(&items[at])),
            _ => Err(Absent::Failed(StepError::new("missing_value", "the item is missing"))),
        }
    }

    /// Whether a condition holds. It is an error if its values are too large, or if the engine does not know one of
    /// them.
    pub(super) fn holds(&self, when: &Condition, item: Item<'_>) -> Result<bool, StepError> {
        let mut left = MAX_BYTES;
        when.holds(&mut |reference| {
            let mut value = self.or_null(reference, item);
            if self.has_handles && !put_parts(value.to_mut()) {
                let message = format!(
                    "the condition reads '{reference}', which is stored behind a handle, and the run does not know it: \
                     start the run again"
                );
                return Err(StepError::new("missing_value", message));
            }
            take(&mut left, value)
        })
    }

    /// Returns how much memory the arguments of the next call of a step take; none if the condition leaves the item
    /// out.
    pub(super) fn examine(&self, step: usize, open: &OpenStep) -> Result<Option<usize>, Absent> {
        let item = open.items.as_ref().map(|items| self.item(step, items, open.taken));
        let item = item.transpose()?;
        let (step, item) = (&self.plan.steps[step], item.as_deref().map(|item| (item, open.taken)));
        if let (Some(when), Some(_)) = (step.when.as_ref().filter(|_| step.filters_items()), item)
            && !self.holds(when, item).map_err(Absent::Failed)?
        {
            return Ok(None);
        }
        let (mut left, mut absent) = (MAX_BYTES, None);
        for (_, template) in &step.args {
            template.visit(&Path::ROOT, &mut |_, reference| {
                if absent.is_none() {
                    let value = self.value(reference, item);
                    let taken =
                        value.and_then(|value| take(&mut left, value).map_err(Absent::Failed));
                    absent = taken.err();
                }
            });
        }
        let literals: usize = step.args.iter().map(|(_, template)| template.weight()).sum();
        absent.map_or(Ok(Some(MAX_BYTES - left + literals)), Err)
    }

    /// Returns the arguments of the next call of a step, which was [examined](Self::examine), and JSON Pointers to
    /// those to pass by handle.
    pub(super) fn arguments(&self, step: usize, open: &OpenStep) -> (Object, Vec<String>) {
        let item = open.items.as_ref().and_then(|items| self.item(step, items, open.taken).ok());
        let (step, item) = (&self.plan.steps[step], item.as_deref().map(|item| (item, open.taken)));
        let mut arguments = Object::with_capacity(step.args.len());
        let mut as_handle = Vec::new();
        for (name, template) in &step.args {
            let value = template.fill(&mut |reference| self.value(reference, item));
            let mut value = value.unwrap_or_default().into_owned();
            if self.has_handles {
                drop_parts(&mut value);
            }
            let handles = template.handles();
            let name_path = Path::ROOT.key(name).pointer();
            as_handle.extend(handles.into_iter().map(|path| format!("{name_path}{path}")));
            arguments.push(key(name), value);
        }
        (arguments, as_handle)
    }

    /// Replaces each reference by its value, with at most `left` bytes.
    fn fill<'i>(
        &'i self,
        template: &'i Template,
        item: Item<'i>,
        left: &mut usize,
    ) -> Result<Cow<'i, Json>, Absent> {
        template
            .fill(&mut |reference| take(left, self.value(reference, item)?).map_err(Absent::Failed))
    }

    /// Returns the value of a reference.
    fn value<'i>(
        &'i self,
        reference: &'i Reference,
        item: Item<'i>,
    ) -> Result<Cow<'i, Json>, Absent> {
        let default = || reference.default.as_ref().map(Cow::Borrowed);
        let found = match &reference.source {
            Source::Inputs => self.lookup(&self.inputs, reference),
            Source::Item => item.and_then(|(item, _)| self.lookup(item, reference)),
            Source::Index => item.map(|(_, at)| Cow::Owned(Json::from(at))),
            Source::Step(id) => match self.positions.get(id).and_then(|&at| self.result(at)) {
                Some(StepResult::Succeeded(output)) => self.lookup(output, reference),
                Some(StepResult::Failed { continued: true, .. }) => {
                    return Ok(default().unwrap_or_default());
                }
                Some(StepResult::Skipped { .. }) if reference.default.is_none() => {
                    return Err(Absent::Skipped(format!("the step '{id}' was skipped")));
                }
                _ => None,
            },
        };
        found.or_else(default).ok_or_else(|| {
            let message = format!("there is no value at '{reference}', and no '$default'");
            Absent::Failed(StepError::new("missing_value", message))
        })
    }

    fn lookup<'v>(&self, value: &'v Json, reference: &Reference) -> Option<Cow<'v, Json>> {
        if self.has_handles {
            lookup_stored(value, reference)
        } else {
            lookup(value, &reference.pointer)
        }
    }

    /// Returns the value of a reference; null if it has no value.
    fn or_null<'i>(&'i self, reference: &'i Reference, item: Item<'i>) -> Cow<'i, Json> {
        if !self.has_handles {
            return self.value(reference, item).unwrap_or_default();
        }
        // A value behind a handle may lack the part.
        let default = reference.default.clone().or(Some(Json::Null));
        let reference = Reference { default, ..reference.clone() };
        Cow::Owned(self.value(&reference, item).unwrap_or_default().into_owned())
    }
}

fn owned_items(items: Json) -> Result<Items, Absent> {
    match items {
        Json::Array(items) => Ok(Items::Owned(items)),
        other => Err(not_array(&other)),
    }
}

fn not_array(value: &Json) -> Absent {
    let message = format!("'each' must be an array, and its value is {}", value.kind());
    Absent::Failed(StepError::new("invalid_each", message))
}

/// Subtracts the memory of a value from what is left, before the value is copied.
fn take<'v>(left: &mut usize, value: Cow<'v, Json>) -> Result<Cow<'v, Json>, StepError> {
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
