//! The report of a translation.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolwright_core::loss::{Loss, Severity};
use toolwright_core::response::LOSSES;
use toolwright_core::{Dialect, Extra, Request};
use toolwright_json::{Json, Object, object};

use crate::fit::restore::Restorer;
use crate::fit::{Addition, Aliases, Fitted};
use crate::reasoning_cache::CachedReasoning;

/// Losses by their path in the source document, additions and aliases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// The losses: major before minor before notes, in the order of the source document
    pub losses: Vec<Entry>,
    /// Values that were added because the target requires them
    pub additions: Vec<Addition>,
    /// Renamed names and ids, and what restoring the reply must undo
    pub aliases: Aliases,
    /// The model, if the target's body has no field for it
    pub model: Option<String>,
    /// The path of the request: some targets encode model and stream flag there
    pub path: Option<String>,
    /// Reasoning of the reply that the client's dialect will not return and the vendor expects back
    pub cached_reasoning: Option<Arc<CachedReasoning>>,
}

/// A loss with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The JSON Pointer in the source document
    pub path: String,
    /// The loss
    pub loss: Loss,
}

impl Report {
    /// Creates the report of a fitted request, and returns the request.
    pub(super) fn of_request(fitted: Fitted, field_paths: &[(&str, &str)]) -> (Request, Report) {
        let Fitted { request, aliases, losses, additions, .. } = fitted;
        (request, Report { additions, aliases, ..Report::of_losses(losses, field_paths) })
    }

    /// Creates the report of a restored reply.
    pub(super) fn of_answer(restorer: &mut Restorer, field_paths: &[(&str, &str)]) -> Report {
        let cached_reasoning = restorer.take_cached_reasoning().map(Arc::new);
        let aliases = restorer.take_aliases();
        Report {
            aliases,
            cached_reasoning,
            ..Report::of_losses(restorer.take_losses(), field_paths)
        }
    }

    pub(super) fn of_losses(losses: Vec<Loss>, field_paths: &[(&str, &str)]) -> Report {
        let known = losses.into_iter().filter(|loss| loss.site.exists(field_paths));
        let mut losses: Vec<Entry> =
            known.map(|loss| Entry { path: loss.site.pointer(field_paths), loss }).collect();
        // A stream may have the same loss many times; it is reported once.
        let mut told = BTreeSet::new();
        let entries =
            losses.iter().map(|Entry { path, loss }| (path, &loss.what, &loss.why, loss.severity));
        let news: Vec<bool> = entries.map(|entry| told.insert(entry)).collect();
        let mut news = news.into_iter();
        losses.retain(|_| news.next() == Some(true));
        sort(&mut losses);
        Report { losses, ..Report::default() }
    }

    /// Number of losses of a severity.
    pub fn count_of(&self, severity: Severity) -> usize {
        self.losses.iter().filter(|entry| entry.loss.severity == severity).count()
    }

    /// Whether a strict translation must be refused. Notes do not count.
    pub fn is_refused(&self) -> bool {
        self.losses.iter().any(|entry| entry.loss.severity > Severity::Note)
    }

    /// Describes the number of losses that make a strict translation fail.
    pub fn count(&self) -> String {
        match self.losses.len() - self.count_of(Severity::Note) {
            1 => "one thing".to_owned(),
            count => format!("{count} things"),
        }
    }

    /// Describes the most severe loss.
    pub fn first(&self) -> String {
        self.losses.first().map(Entry::to_string).unwrap_or_default()
    }

    /// Adds the losses and the cached reasoning of another report of the same exchange.
    pub fn append(&mut self, other: Report) {
        self.losses.extend(other.losses);
        sort(&mut self.losses);
        self.cached_reasoning = other.cached_reasoning.or(self.cached_reasoning.take());
    }

    /// Attaches the losses to the extra fields of a value, if there are any, see
    /// [`Response::losses`](toolwright_core::Response::losses).
    pub fn attach_to(&self, dialect: Dialect, extra: &mut Extra) {
        if !self.losses.is_empty() {
            let losses: Vec<Object> = self.losses.iter().map(Entry::to_json).collect();
            extra.insert(dialect, LOSSES, losses);
        }
    }

    /// Returns the JSON form.
    pub fn to_json(&self) -> Json {
        let losses = self.losses.iter().map(Entry::to_json);
        let additions = self.additions.iter();
        let additions = additions.map(|own| object! {"field": own.field, "what": own.what});
        let mut object = object! {
            "losses": losses.collect::<Vec<Object>>(),
            "additions": additions.collect::<Vec<Object>>(),
            "aliases": self.aliases.to_json(),
        };
        object.insert_some("model", self.model.as_deref());
        object.insert_some("path", self.path.as_deref());
        Json::Object(object)
    }
}

/// Sorts the losses by severity, then by position in the document. Members of the document keep the
/// order in which `fit` visited them.
fn sort(losses: &mut [Entry]) {
    let member = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    let mut members: BTreeMap<String, usize> = BTreeMap::new();
    for entry in losses.iter() {
        let next = members.len();
        members.entry(member(&entry.path)).or_insert(next);
    }
    losses.sort_by_cached_key(|Entry { path, loss }| {
        let member = members.get(&member(path)).copied();
        // Indices are compared as numbers, and precede keys.
        let step = |step: &str| (step.parse().unwrap_or(usize::MAX), step.to_owned());
        let steps: Vec<(usize, String)> = path.split('/').skip(2).map(step).collect();
        (Reverse(loss.severity), member, steps)
    });
}

impl Entry {
    /// Returns the JSON form: path, what, why, severity.
    pub fn to_json(&self) -> Object {
        object! {
            "path": self.path.as_str(),
            "what": self.loss.what.as_ref(),
            "why": self.loss.why.as_ref(),
            "severity": self.loss.severity.word(),
        }
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        write!(formatter, "{path}: {} ({})", self.loss.what, self.loss.why)
    }
}
