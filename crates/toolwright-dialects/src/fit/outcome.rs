//! Outcomes: their content, and how failure is expressed (cases 15 and 16).

use std::collections::BTreeMap;

use toolwright_core::loss::{Severity, Site};
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::profile::JsonRule;
use toolwright_core::tool::flat_name;
use toolwright_core::{Body, Message, Origin, Outcome, Part, Role};
use toolwright_json::Json;

use super::content::{
    AS_WORDS, NO_TEXT_DOCUMENT, describe, join_texts, placeholder, takes, word, words_first,
};
use super::{Work, media};

pub(super) fn pass(work: &mut Work<'_>) {
    let messages = work.take_messages();
    let names = if has_media(&messages) { call_names(&messages) } else { BTreeMap::new() };
    let mut moved: Vec<Part> = Vec::new();
    for mut message in messages {
        let carries = message.parts.iter().any(|part| matches!(part.body, Body::Outcome(_)));
        if !carries && !moved.is_empty() {
            let parts = std::mem::take(&mut moved);
            work.request.messages.push(Message::new(Role::User, parts));
        }
        for part in &mut message.parts {
            one(work, part, &names, &mut moved);
        }
        work.request.messages.push(message);
    }
    if !moved.is_empty() {
        work.request.messages.push(Message::new(Role::User, moved));
    }
}

/// Whether the outcome of a call contains media.
fn has_media(messages: &[Message]) -> bool {
    let outcomes = messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_outcome);
    let mut content = outcomes.flat_map(|outcome| &outcome.content);
    content.any(|part| matches!(part.body, Body::Media(_)))
}

/// Returns the names of the calls by their ids.
fn call_names(messages: &[Message]) -> BTreeMap<String, String> {
    let calls = messages.iter().flat_map(Message::calls);
    calls.filter_map(|call| Some((call.id.clone()?, flat_name(&call.name)))).collect()
}

/// Returns the text that names the call of media that follow in a user message.
fn announcement(kind: MediaKind, outcome: &Outcome, names: &BTreeMap<String, String>) -> String {
    let mut kind = word(kind).to_owned();
    kind[..1].make_ascii_uppercase();
    let id = outcome.call_id.as_deref();
    let name = id.and_then(|id| names.get(id)).or(outcome.name.as_ref());
    match (id, name) {
        (Some(id), Some(name)) => format!("{kind} from tool call {id} ({name}):"),
        (Some(own), None) => format!("{kind} from tool call {own}:"),
        (None, Some(name)) => format!("{kind} from tool call ({name}):"),
        (None, None) => format!("{kind} from the tool call:"),
    }
}

fn one(
    work: &mut Work<'_>,
    part: &mut Part,
    names: &BTreeMap<String, String>,
    moved: &mut Vec<Part>,
) {
    let rule = work.profile.outcome;
    let Body::Outcome(outcome) = &mut part.body else { return };
    if let Some(mark) = part.cache.take_if(|_| !rule.cache) {
        let site = Site::cache(&part.origin, &mark);
        work.lose(Severity::Minor, site, "cache breakpoint dropped", "the target has none here");
    }
    let words = outcome.content.iter().any(|part| !matches!(part.body, Body::Media(_)));
    let is_error = outcome.is_error();
    let mut media = Vec::new();
    outcome.content.retain_mut(|piece| content(work, piece, words, is_error, &mut media));
    for part in media {
        if let Body::Media(own) = &part.body {
            moved.push(Part::text(announcement(own.kind, outcome, names)));
        }
        moved.push(part);
    }
    flag(work, outcome, &part.origin);
    if !rule.many_texts {
        single_json(work, outcome);
        for origin in words_first(&mut outcome.content) {
            let why = "the target keeps words and media apart";
            work.lose(Severity::Note, Site::of(&origin.list()), "order of its parts changed", why);
        }
        for origin in join_texts(&mut outcome.content, "\n") {
            let why = "the target takes one text in an outcome";
            work.lose(Severity::Note, Site::of(&origin), "joined with its neighbours", why);
        }
    }
    if outcome.content.is_empty() && !rule.empty {
        outcome.content.push(Part::text("(no output)"));
        let what = "an empty outcome says '(no output)'";
        work.lose(Severity::Note, Site::of(&part.origin), what, "the target refuses an empty one");
    }
}

/// Fits a part of an outcome: JSON becomes text if required, media are moved or removed; returns
/// whether it stays.
fn content(
    work: &mut Work<'_>,
    part: &mut Part,
    words: bool,
    is_error: bool,
    moved: &mut Vec<Part>,
) -> bool {
    let rule = work.profile.outcome;
    if let Some(mark) = part.cache.take_if(|_| !rule.cache) {
        let site = Site::cache(&part.origin, &mark);
        work.lose(Severity::Minor, site, "cache breakpoint dropped", "the target has none here");
    }
    if let Body::Media(own) = &mut part.body {
        let follows = !takes(&rule.media, own) && takes(&work.profile.content.media, own);
        let rule = if follows { work.profile.content.media } else { rule.media };
        media::prepare(work, own, &rule, &part.origin);
    }
    match &mut part.body {
        Body::Call(_) | Body::Outcome(_) | Body::Reasoning(_) if !work.is_native() => {
            let why = "the target takes words, values and media in an outcome";
            work.lose(Severity::Major, Site::of(&part.origin.element()), "block dropped", why);
            return false;
        }
        // If any value is accepted, a string is a text.
        Body::Json(Json::String(text)) if rule.json == JsonRule::Any => {
            part.body = Body::Text(text.clone());
        }
        Body::Json(value) => {
            let kept = match rule.json {
                // In Gemini, `"error": null` means success.
                JsonRule::Any => !is_error || *value != Json::Null,
                JsonRule::Objects => matches!(value, Json::Object(_)),
                JsonRule::Text => false,
            };
            if !kept {
                part.body = Body::Text(value.compact().into());
                let why = "the target takes no such value in an outcome";
                work.lose(Severity::Note, Site::of(&part.origin), "JSON becomes text", why);
            }
        }
        Body::Media(Media { source: MediaSource::Text(text), .. }) if !rule.media.text_document => {
            part.body = Body::Text(std::mem::take(text).into());
            work.lose(Severity::Minor, Site::of(&part.origin), AS_WORDS, NO_TEXT_DOCUMENT);
        }
        Body::Media(media) if !takes(&rule.media, media) => {
            let kind = word(media.kind);
            let follows = takes(&work.profile.content.media, media);
            let text = if follows {
                format!("[{kind} in the next message of the user]")
            } else {
                placeholder(media)
            };
            let origin = part.origin.clone();
            let original = std::mem::replace(part, Part::text(text).with_origin(origin.clone()));
            let why = "the target takes no such media in an outcome";
            if follows {
                moved.push(Part { origin: Origin::NONE, ..original });
                let what = format!("{kind} follows in a message of the user");
                work.lose(Severity::Minor, Site::of(&origin), what, why);
                // With other text, no replacement is needed.
                return !words;
            }
            let what = format!("{kind} becomes a note that it was left out");
            work.lose(Severity::Major, Site::of(&origin), what, why);
        }
        Body::Media(media) => describe(work, media, &rule.media, &part.origin),
        _ => {}
    }
    true
}

/// Converts JSON beside other text to text, so that they can be joined.
fn single_json(work: &mut Work<'_>, outcome: &mut Outcome) {
    let is_word = |part: &&Part| matches!(part.body, Body::Text(_) | Body::Json(_));
    if outcome.content.iter().filter(is_word).count() < 2 {
        return;
    }
    for part in &mut outcome.content {
        if let Body::Json(value) = &part.body {
            part.body = Body::Text(value.compact().into());
            let why = "the target takes one value in an outcome";
            work.lose(Severity::Note, Site::of(&part.origin), "JSON becomes text", why);
        }
    }
}

/// Expresses failure as text if there is no flag; success only if it can be expressed.
fn flag(work: &mut Work<'_>, outcome: &mut Outcome, origin: &Origin) {
    let rule = work.profile.outcome;
    let site = Site::field(origin, "error");
    match outcome.error {
        Some(true) if !rule.error_flag => {
            outcome.error = None;
            work.lose(
                Severity::Note,
                site,
                "failure is said in the text",
                "the target has no such flag",
            );
            let first = outcome.content.iter_mut().find(|part| part.is_text());
            match first.map(|part| (&mut part.body, &part.origin)) {
                Some((Body::Text(text), origin)) if !says_error(text) => {
                    text.edit(|text| text.insert_str(0, ERROR));
                    let why = "it must be known as a failure";
                    let site = Site::of(origin);
                    work.lose(Severity::Note, site, "begins with 'ERROR: '", why);
                }
                Some(_) => {}
                None => outcome.content.insert(0, Part::text(ERROR.trim_end())),
            }
        }
        // Success is the default.
        Some(false) if !rule.success_flag => outcome.error = None,
        _ => {}
    }
}

const ERROR: &str = "ERROR: ";

fn says_error(text: &str) -> bool {
    text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"))
}
