//! Restores a reply for the client: with the original names, in a form that its dialect can
//! express.
//!
//! The same function restores a part of a complete reply and of a stream.

mod capture;
mod ending;
mod stream;

use std::collections::{BTreeMap, BTreeSet};

use toolwright_core::digest::ConversationDigest;
use toolwright_core::loss::{Loss, Severity, Site};
use toolwright_core::part::Reasoning;
use toolwright_core::profile::{Profile, ReplyRule};
use toolwright_core::tool::flat_name;
use toolwright_core::{
    Arguments, Body, Call, Extra, Origin, Part, Request, Response, ToolChoice, schema,
};
use toolwright_json::{Json, JsonText};

use capture::ReasoningCapture;
use stream::Slot;

use super::tools::PLACEHOLDER;
use super::{Aliases, extras, ids};
use crate::reasoning_cache::CachedReasoning;

use super::alias::{each_part, is_kept_by_clients};
use super::choice::{FORCED_ARGUMENTS, FORCED_NAME};
use super::content::{arguments_site, legal};
use super::reasoning::{LATE_SUMMARY, is_known, is_sectioned, summaries_first};

/// Restores one reply, complete or streaming.
#[must_use]
#[derive(Debug)]
pub struct Restorer {
    aliases: Aliases,
    source: ReplyRule,
    profile: Profile,
    /// The id of a reply without one
    id: Option<String>,
    /// The conversation before the reply, for clients that may return calls without ids
    conversation: Option<ConversationDigest>,
    /// The seed of generated call ids, different for every reply
    seed: String,
    texts: usize,
    calls: usize,
    /// The ids of its calls so far
    ids: BTreeSet<String>,
    /// Replaced call ids: the new one and the vendor's
    replaced_ids: Vec<(String, String)>,
    refused: bool,
    /// Whether usage was reported
    counted: bool,
    /// The open parts of the source stream, by its index
    slots: BTreeMap<usize, Slot>,
    parts: usize,
    /// Captures reasoning that the client will not return, if there can be any
    capture: Option<Box<ReasoningCapture>>,
    losses: Vec<Loss>,
}

impl Restorer {
    /// Creates a restorer for the reply to a request that was fitted with these aliases, from a
    /// vendor of one profile to a client of another.
    pub fn new(aliases: Aliases, source: &Profile, mut profile: Profile) -> Restorer {
        // Clients of the vendor itself accept its ids in any form.
        profile.reply.legal_call_ids &= source.dialect != profile.dialect;
        Restorer {
            aliases,
            source: source.reply,
            capture: ReasoningCapture::new(source, &profile),
            profile,
            id: None,
            conversation: None,
            seed: String::new(),
            texts: 0,
            calls: 0,
            ids: BTreeSet::new(),
            replaced_ids: Vec::new(),
            refused: false,
            counted: false,
            slots: BTreeMap::new(),
            parts: 0,
            losses: Vec::new(),
        }
    }

    /// Sets the id for a reply without one.
    pub fn with_id(mut self, id: Option<String>) -> Restorer {
        self.id = id;
        self
    }

    /// Sets the conversation before the reply, for clients that may return calls without ids.
    pub fn with_conversation(mut self, conversation: Option<ConversationDigest>) -> Restorer {
        self.conversation = conversation;
        self
    }

    /// Whether a strict translation must be refused because of the losses so far. Notes do not
    /// count.
    pub fn is_refused(&self) -> bool {
        self.losses.iter().any(|loss| loss.severity > Severity::Note)
    }

    /// Takes the losses of the reply.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.losses)
    }

    /// Returns the call ids that replaced the vendor's in the reply to the client.
    pub fn take_aliases(&mut self) -> Aliases {
        Aliases { ids: std::mem::take(&mut self.replaced_ids), ..Aliases::default() }
    }

    /// Takes the reasoning of a complete reply that the client's dialect will not return and the vendor
    /// expects back.
    pub fn take_cached_reasoning(&mut self) -> Option<CachedReasoning> {
        let cached = self.capture.as_mut().and_then(|capture| capture.take());
        cached.map(|cached| cached.with_conversation(self.conversation))
    }

    /// Restores a complete reply.
    pub fn response(&mut self, mut response: Response) -> Response {
        self.begin(&mut response.id, &mut response.model, &mut response.extra);
        let parts = std::mem::take(&mut response.parts);
        let parts = parts.into_iter().enumerate().filter_map(|(at, part)| {
            if let Some(capture) = &mut self.capture {
                capture.push(&part);
            }
            self.restore_part(at, part)
        });
        response.parts = parts.collect();
        self.finish();
        response.stop = self.stop(response.stop).reconciled(&response.parts);
        response.usage = response.usage.map(|usage| self.usage(usage));
        response
    }

    /// Restores the fields of the reply itself.
    fn begin(&mut self, id: &mut Option<String>, model: &mut Option<String>, extra: &mut Extra) {
        let known = id.clone().or_else(|| self.id.clone());
        // Without an id, other fields may identify the reply, such as its time.
        let seed = || extra.fields().map(ToString::to_string).unwrap_or_default();
        self.seed = known.clone().unwrap_or_else(seed);
        self.forget_echoes(extra);
        extras::clear(extra, &Origin::NONE, self.profile.dialect, &mut self.losses);
        let replaced = self.profile.reply.referable && self.id.is_some();
        if self.profile.reply.id && (id.is_none() || replaced) {
            *id = if replaced { self.id.clone() } else { known };
        }
        if !self.profile.reply.id {
            *id = None;
        }
        if !self.profile.reply.model && model.take().is_some() {
            self.lose(
                Severity::Minor,
                "model",
                "dropped",
                "the client's dialect has no place for it",
            );
        }
    }

    /// Removes fields that a reply in another dialect repeats from its request.
    fn forget_echoes(&self, extra: &mut Extra) {
        if extra.for_dialect(self.profile.dialect).is_none() {
            extra.take_unless(|key, _| !self.source.echoes.contains(&key));
        }
    }

    fn lose(
        &mut self,
        severity: Severity,
        field: &'static str,
        what: &'static str,
        why: &'static str,
    ) {
        self.lose_at(severity, Site::field(&Origin::NONE, field), what, why);
    }

    fn lose_at(&mut self, severity: Severity, site: Site, what: &'static str, why: &'static str) {
        self.losses.push(Loss::new(severity, site, what, why));
    }

    /// Restores a complete part; `None` if the client must not or cannot receive it.
    fn restore_part(&mut self, at: usize, part: Part) -> Option<Part> {
        let part = self.part(part)?;
        if let Some(capture) = &mut self.capture {
            capture.part_restored(at, &part);
        }
        Some(part)
    }

    /// Marks the reply as complete.
    fn finish(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.finish();
        }
    }

    /// Restores a part; `None` if the client must not or cannot receive it.
    fn part(&mut self, mut part: Part) -> Option<Part> {
        let dialect = self.profile.dialect;
        if !extras::keep(&mut part, dialect, &mut self.losses) {
            return None;
        }
        if self.aliases.forced
            && self.calls == 0
            && let Some(call) = part.as_text().and_then(forced_call)
        {
            part.body = Body::Call(call);
        }
        let origin = part.origin.clone();
        let native =
            part.signature.as_ref().is_some_and(|own| own.dialect.shares_signatures(dialect));
        let known = is_known(part.extra.for_dialect(dialect));
        self.refused |= matches!(part.body, Body::Refusal(_));
        if matches!(part.body, Body::Text(_)) {
            self.text(&origin);
        }
        match &mut part.body {
            Body::Call(call) if !self.admits(call, &origin) => return None,
            Body::Call(call) => self.call(call, &origin),
            Body::Refusal(text) if !self.profile.content.refusal => {
                part.body = Body::Text(std::mem::take(text));
                let why = "the client's dialect has no refusals";
                self.lose_at(Severity::Note, Site::of(&origin), "refusal becomes text", why);
            }
            Body::Reasoning(reasoning) => {
                let rule = self.profile.reasoning;
                let blank = reasoning.redacted || reasoning.sections.is_empty();
                let native = (native && rule.signature) || known;
                if !self.profile.reply.reasoning
                    || (blank && !native)
                    || (reasoning.redacted && !rule.redacted)
                {
                    let why = "the client's dialect cannot carry it";
                    // It has no text, and nothing that its vendor expects back.
                    let is_empty = blank && part.signature.is_none();
                    let severity = if is_empty { Severity::Note } else { Severity::Minor };
                    self.lose_at(severity, Site::of(&origin), "thinking dropped", why);
                    return None;
                }
                if !rule.sections && is_sectioned(reasoning) {
                    *reasoning = Reasoning::text(reasoning.joined());
                    let site = Site::of(&origin);
                    let why = "the client's dialect has one text for thinking";
                    self.lose_at(Severity::Note, site, "sections joined", why);
                }
                if rule.sections && summaries_first(reasoning) {
                    self.late_summary(&origin);
                }
            }
            _ => {}
        }
        let carries = match part.body {
            Body::Reasoning(_) => self.profile.reasoning.signature,
            _ => self.profile.reasoning.signature_on_parts,
        };
        if part.signature.is_some() && !(native && carries) {
            part.signature = None;
            let site = Site::field(&origin, "signature");
            self.lose_at(Severity::Minor, site, "signature dropped", "only its maker can read it");
        }
        Some(part)
    }

    fn late_summary(&mut self, origin: &Origin) {
        let why = "the client's dialect has summaries first";
        let site = Site::field(origin, "text");
        self.lose_at(Severity::Note, site, LATE_SUMMARY, why);
    }

    /// Counts the texts of a reply that can have one.
    fn text(&mut self, origin: &Origin) {
        self.texts += 1;
        if self.texts > 1 && self.profile.reply.single_text {
            let why = "the client's dialect has one text in a reply";
            self.lose_at(Severity::Note, Site::of(origin), "joined to the text before", why);
        }
    }

    /// Whether a call may reach the client: not a placeholder, and only one if parallel calls are
    /// disabled.
    fn admits(&mut self, call: &Call, origin: &Origin) -> bool {
        let site = Site::of(&origin.element());
        if self.aliases.placeholder && call.name == PLACEHOLDER {
            let why = "no tool was offered to the model";
            self.lose_at(Severity::Note, site, "a call of the placeholder was dropped", why);
            return false;
        }
        if self.aliases.single_call && self.calls > 0 {
            let why = "one call a turn was asked for";
            self.lose_at(Severity::Major, site, "a further call was dropped", why);
            return false;
        }
        self.calls += 1;
        true
    }

    fn call(&mut self, call: &mut Call, origin: &Origin) {
        self.identify(&mut call.id, &mut call.name);
        if self.aliases.free.contains(&call.name) {
            if let Some(Json::String(text)) = call.arguments.to_object().remove("input") {
                call.arguments = Arguments::Free(text.into_string());
            }
        } else if let Some(nulled) = self.aliases.nulled(&call.name)
            && let Arguments::Json(json) = &call.arguments
        {
            let mut value = json.to_json();
            if schema::undo_nulls(&mut value, nulled) {
                call.arguments = Arguments::Json(JsonText::of(&value));
            }
        }
        if let Some((arguments, what)) = legal(&call.arguments, &self.profile.content) {
            let site = arguments_site(&call.arguments, origin);
            call.arguments = arguments;
            let why = "the client's dialect takes arguments as an object";
            self.lose_at(Severity::Major, site, what, why);
        }
    }

    /// Sets the original name, flattened for a client without namespaces, and an id if the client's
    /// dialect requires one. Ids are unique in a reply, because outcomes are matched by id. An id
    /// that clients would replace is replaced here, so that the calls are recognized when they are
    /// returned.
    fn identify(&mut self, id: &mut Option<String>, name: &mut String) {
        let original = self.aliases.name(name);
        let keeps = self.profile.tools.namespaces;
        *name = if keeps { original.to_owned() } else { flat_name(original) };
        let own = id.take().map(|own| self.aliases.id(&own).to_owned());
        let seed = |own: &str| format!("{}\u{0}{own}\u{0}{}", self.seed, self.calls);
        let rule = &self.profile.ids;
        let is_kept = |own: &str| is_kept_by_clients(&self.profile, own) && !self.ids.contains(own);
        *id = match own {
            Some(own) if is_kept(&own) => Some(own),
            Some(own) => {
                let made = ids::made(rule, &seed(&own), 0);
                self.replaced_ids.push((made.clone(), own));
                Some(made)
            }
            None if rule.required => Some(ids::made(rule, &seed(name), 0)),
            None => None,
        };
        self.ids.extend(id.clone());
    }
}

/// Returns the call in a reply whose format is that of a call: see [`choice`](super::choice).
fn forced_call(text: &str) -> Option<Call> {
    let Ok(Json::Object(mut object)) = Json::parse(text) else { return None };
    let (Some(Json::String(name)), Some(arguments @ Json::Object(_))) =
        (object.remove(FORCED_NAME), object.remove(FORCED_ARGUMENTS))
    else {
        return None;
    };
    let (name, arguments) = (name.into_string(), Arguments::from_json(&arguments));
    Some(Call { id: None, name, arguments })
}

/// Undoes aliases in a request that was fitted before and is translated back (`A → B → A`).
pub fn request(mut request: Request, aliases: &Aliases) -> Request {
    if aliases.forced {
        // The format replaced a choice.
        request.format = None;
    }
    let name = |own: &mut String| *own = aliases.name(own).to_owned();
    for tool in &mut request.tools {
        name(&mut tool.name);
    }
    if let Some(choice) = &mut request.tool_choice {
        match choice {
            ToolChoice::Tool(own) => name(own),
            ToolChoice::Allowed { names, .. } => names.iter_mut().for_each(name),
            _ => {}
        }
    }
    each_part(&mut request.messages, |part| match &mut part.body {
        Body::Call(call) => {
            name(&mut call.name);
            call.id = call.id.take().map(|id| aliases.id(&id).to_owned());
        }
        Body::Outcome(outcome) => {
            outcome.name.iter_mut().for_each(name);
            outcome.call_id = outcome.call_id.take().map(|id| aliases.id(&id).to_owned());
        }
        _ => {}
    });
    request
}
