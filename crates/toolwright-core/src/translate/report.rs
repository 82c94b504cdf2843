//! What a translation has to say about itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fit::restore::Restorer;
use crate::fit::{Addition, Aliases, Fitted};
use crate::json::{Json, Object};
use crate::loss::{Loss, Severity};
use crate::model::dialect::Dialect;
use crate::model::extra::Extra;
use crate::model::request::Request;
use crate::model::response::Response;
use crate::note::note;
use crate::object;
use crate::reasoning_cache::CachedReasoning;

/// The note of a value on whose way something was lost.
const LOSSES: &str = note!("losses");

/// Losses by their place in the source document, additions and aliases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// What is lost: major before minor before notes, and in the order of the source document
    pub losses: Vec<Entry>,
    /// What was added because the target requires it
    pub additions: Vec<Addition>,
    /// What was renamed, and what must be undone on the way back
    pub aliases: Aliases,
    /// The model, where the target's body has no place for it
    pub model: Option<String>,
    /// The path of the request: some targets say the model and the stream there
    pub path: Option<String>,
    /// Reasoning of the reply that the client's dialect will not return and the vendor expects back
    pub cached_reasoning: Option<Arc<CachedReasoning>>,
}

/// A loss with its place spelled out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The JSON Pointer in the source document
    pub path: String,
    /// The loss
    pub loss: Loss,
}

impl Report {
    /// Of a fitted request, which is given back.
    pub(super) fn of_request(fitted: Fitted, field_paths: &[(&str, &str)]) -> (Request, Report) {
        let Fitted { request, aliases, losses, additions, .. } = fitted;
        (request, Report { additions, aliases, ..Report::of_losses(losses, field_paths) })
    }

    /// Of an answer that was restored.
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
        // A stream may lose the same thing many times; once is enough to say.
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

    /// Whether a strict translation must be refused. Notes never refuse.
    pub fn is_refused(&self) -> bool {
        self.losses.iter().any(|entry| entry.loss.severity > Severity::Note)
    }

    /// Number of losses that make a strict translation fail, in words.
    pub fn count(&self) -> String {
        match self.losses.len() - self.count_of(Severity::Note) {
            1 => "one thing".to_owned(),
            count => format!("{count} things"),
        }
    }

    /// The gravest loss, in words.
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
    /// [`Response::losses`](crate::Response::losses).
    pub fn attach_to(&self, dialect: Dialect, extra: &mut Extra) {
        if !self.losses.is_empty() {
            let losses: Vec<Object> = self.losses.iter().map(Entry::to_json).collect();
            extra.insert(dialect, LOSSES, losses);
        }
    }

    /// As JSON.
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

impl Response {
    /// What was lost on the way to the model and back, where an upstream was asked in canonical
    /// words: `{"path", "what", "why", "severity"}` each, the path one of the canonical request.
    pub fn losses(&self) -> impl Iterator<Item = &Json> {
        let extras = [&self.extra, &self.stop.extra].into_iter();
        extras.filter_map(|extra| extra.fields()?.get(LOSSES)?.as_array()).flatten()
    }
}

/// Sorts the gravest losses to the front, those of one severity by their place in the document. Members
/// of the document keep the order in which `fit` visited them.
fn sort(losses: &mut [Entry]) {
    let member = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    let mut members: BTreeMap<String, usize> = BTreeMap::new();
    for entry in losses.iter() {
        let next = members.len();
        members.entry(member(&entry.path)).or_insert(next);
    }
    losses.sort_by_cached_key(|Entry { path, loss }| {
        let member = members.get(&member(path)).copied();
        // Indices compare as numbers, and stand before keys.
        let step = |step: &str| (step.parse().unwrap_or(usize::MAX), step.to_owned());
        let steps: Vec<(usize, String)> = path.split('/').skip(2).map(step).collect();
        (Reverse(loss.severity), member, steps)
    });
}

impl Entry {
    /// As JSON: path, what, why, severity.
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
