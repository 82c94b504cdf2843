//! Parts of messages: media, refusals, cache breakpoints and arguments that the target does not
//! accept.

use std::collections::BTreeSet;

use toolwright_core::loss::{Severity, Site};
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::profile::{ContentRule, MediaRule};
use toolwright_core::{Arguments, Body, Message, Origin, Part, Role};
use toolwright_json::{Json, object};

use super::{Work, media};

pub(super) fn pass(work: &mut Work<'_>) {
    if let Some(mut instructions) = work.request.instructions.take() {
        if work.profile.system.single_text {
            unmark(work, &mut instructions);
        }
        message(work, &mut instructions);
        work.request.instructions = Some(instructions).filter(|own| !own.parts.is_empty());
    }
    let mut messages = std::mem::take(&mut work.request.messages);
    if !work.profile.content.arguments_free {
        free_outcomes(work, &messages);
    }
    for own in &mut messages {
        message(work, own);
    }
    work.request.messages = messages;
    work.drop_empty();
}

fn message(work: &mut Work<'_>, message: &mut Message) {
    let speaker = message.role;
    message.parts.retain_mut(|part| one(work, part, speaker));
}

/// Marks outcomes of free-text calls, for dialects that distinguish them.
fn free_outcomes(work: &mut Work<'_>, messages: &[Message]) {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    let calls = parts().filter_map(Part::as_call);
    let free = calls.filter(|call| matches!(call.arguments, Arguments::Free(_)));
    let free: BTreeSet<&str> = free.filter_map(|call| call.id.as_deref()).collect();
    for part in parts() {
        let id = part.as_outcome().and_then(|outcome| outcome.call_id.as_deref());
        if id.is_some_and(|id| free.contains(id)) {
            let site = Site::field(&part.origin, "kind");
            let why = "the target has no free-text tools";
            work.lose(Severity::Note, site, "said as the outcome of a function", why);
        }
    }
}

/// Removes cache breakpoints from content that can only be plain text.
fn unmark(work: &mut Work<'_>, message: &mut Message) {
    for part in &mut message.parts {
        let Some(mark) = part.cache.take() else { continue };
        let site = Site::cache(&part.origin, &mark);
        let why = "the target's instructions have none";
        work.lose(Severity::Minor, site, "cache breakpoint dropped", why);
    }
}

/// Fits a part; returns whether it stays.
fn one(work: &mut Work<'_>, part: &mut Part, speaker: Role) -> bool {
    let rule = work.profile.content;
    cache(work, part, speaker);
    match &mut part.body {
        Body::Text(text) if text.is_empty() && !rule.empty_text => {
            work.lose(
                Severity::Note,
                Site::of(&part.origin),
                "empty text dropped",
                "the target refuses it",
            );
            false
        }
        Body::Refusal(text) if !rule.refusal => {
            part.body = Body::Text(std::mem::take(text));
            let why = "the target has no refusals";
            work.lose(Severity::Note, Site::of(&part.origin), "refusal becomes text", why);
            true
        }
        Body::Media(media) => {
            media::prepare(work, media, &rule.media, &part.origin);
            let is_native = work.is_native() && rule.media.native.contains(&media.kind);
            let accepted = speaker == Role::User && (is_native || takes(&rule.media, media));
            if accepted {
                describe(work, media, &rule.media, &part.origin);
            } else if let MediaSource::Text(text) = &mut media.source {
                part.body = Body::Text(std::mem::take(text).into());
                work.lose(Severity::Minor, Site::of(&part.origin), AS_WORDS, NO_TEXT_DOCUMENT);
            } else {
                let text = placeholder(media);
                let what = format!("{} becomes a note that it was left out", word(media.kind));
                let why = "the target takes no such media here";
                work.lose(Severity::Major, Site::of(&part.origin), what, why);
                part.body = Body::Text(text.into());
            }
            true
        }
        // No other dialect can express it.
        Body::Call(_) if speaker != Role::Assistant && !work.is_native() => {
            let why = "the target takes calls of the assistant only";
            work.lose(Severity::Major, Site::of(&part.origin.element()), "call dropped", why);
            false
        }
        Body::Outcome(_)
            if matches!(speaker, Role::System | Role::Developer) && !work.is_native() =>
        {
            let why = "the target takes no outcomes among instructions";
            work.lose(Severity::Major, Site::of(&part.origin.element()), "outcome dropped", why);
            false
        }
        Body::Call(call) => {
            if let Some((arguments, what)) = legal(&call.arguments, &rule) {
                let site = arguments_site(&call.arguments, &part.origin);
                // Its tool takes the same text under the same key.
                let is_free = matches!(call.arguments, Arguments::Free(_));
                call.arguments = arguments;
                let why = "the target takes arguments as an object";
                let severity = if is_free { Severity::Note } else { Severity::Major };
                work.lose(severity, site, what, why);
            }
            true
        }
        _ => true,
    }
}

/// Fits cache breakpoints of parts. Outcomes have a separate rule.
fn cache(work: &mut Work<'_>, part: &mut Part, speaker: Role) {
    let rule = work.profile.content;
    let allowed = match part.body {
        Body::Outcome(_) => return,
        Body::Call(_) | Body::Reasoning(_) => rule.cache_on_calls,
        _ => rule.cache && (rule.cache_on_answers || speaker != Role::Assistant),
    };
    let Some(mark) = &mut part.cache else { return };
    if !allowed {
        let site = Site::cache(&part.origin, mark);
        part.cache = None;
        work.lose(Severity::Minor, site, "cache breakpoint dropped", "the target has none here");
    } else if mark.ttl.take_if(|ttl| !rule.cache_ttls.contains(&ttl.as_str())).is_some() {
        let site = Site::cache(&part.origin, mark).below("/ttl");
        let why = "the target's breakpoints have no such lifetime";
        work.lose(Severity::Minor, site, "lifetime dropped", why);
    }
}

/// Returns arguments that the target can express, if these are not: text that is not an object is
/// nested under `_raw`, free text under the single parameter of its tool.
pub(super) fn legal(
    arguments: &Arguments,
    rule: &ContentRule,
) -> Option<(Arguments, &'static str)> {
    let of = |object| Arguments::from_json(&Json::Object(object));
    match arguments {
        Arguments::Free(_) if rule.arguments_free => None,
        Arguments::Free(text) => {
            Some((of(object! {"input": text.as_str()}), "free text goes along as 'input'"))
        }
        arguments if rule.arguments_object && !arguments.is_object() => {
            Some((of(arguments.to_object()), "what is no JSON object goes along as '_raw'"))
        }
        _ => None,
    }
}

/// Returns the site of arguments in a call; free text makes the call one of another kind.
pub(super) fn arguments_site(arguments: &Arguments, origin: &Origin) -> Site {
    match arguments {
        Arguments::Free(_) => Site::of(&origin.element()),
        _ => Site::field(origin, "arguments"),
    }
}

/// The description of the loss for a document with known text.
pub(super) const AS_WORDS: &str = "document becomes its text";
pub(super) const NO_TEXT_DOCUMENT: &str = "the target takes no such documents here";

/// Whether a rule accepts media by their source.
pub(super) fn takes(rule: &MediaRule, media: &Media) -> bool {
    match &media.source {
        MediaSource::Base64(_) => {
            rule.base64.contains(&media.kind) && media::is_legal_document(media, rule)
        }
        MediaSource::Url(_) => rule.url.contains(&media.kind),
        MediaSource::Text(_) => rule.text_document,
        MediaSource::File(..) => rule.file,
    }
}

/// Fits the description of media: name and type, if the rule requires them.
pub(super) fn describe(work: &mut Work<'_>, media: &mut Media, rule: &MediaRule, origin: &Origin) {
    let why = "the target has no such field";
    if media.name.is_some() && !rule.name {
        media.name = None;
        work.lose(Severity::Minor, Site::field(origin, "file_name"), "file name dropped", why);
    }
    if !matches!(media.source, MediaSource::Url(_)) {
        return;
    }
    if media.mime.is_some() && !rule.url_mime {
        media.mime = None;
        work.lose(Severity::Minor, Site::field(origin, "mime"), "media type dropped", why);
    } else if media.mime.is_none() && rule.url_mime {
        media.mime = Some(guess(media.kind).to_owned());
        work.add("mime", "a media type, which the target requires");
    }
}

/// Returns the most likely type for a kind of media.
fn guess(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "image/png",
        MediaKind::Document => "application/pdf",
        MediaKind::Audio => "audio/mpeg",
        MediaKind::Video => "video/mp4",
    }
}

/// Returns the text that replaces media.
pub(super) fn placeholder(media: &Media) -> String {
    let mime = media.mime.as_deref().unwrap_or("unknown type");
    match &media.name {
        Some(name) => format!("[{} left out: {name}, {mime}]", word(media.kind)),
        None => format!("[{} left out: {mime}]", word(media.kind)),
    }
}

/// Returns the name of a kind of media.
pub(super) fn word(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "image",
        MediaKind::Document => "document",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
    }
}

/// Joins several texts into the first; returns the origins of the joined ones. A text in another
/// element than the first includes that element.
pub(super) fn join_texts(parts: &mut Vec<Part>, separator: &str) -> Vec<Origin> {
    if parts.iter().filter(|part| part.is_text()).count() < 2 {
        return Vec::new();
    }
    let mut origins = Vec::new();
    let mut joined: Option<usize> = None;
    for part in std::mem::take(parts) {
        let Body::Text(text) = &part.body else {
            parts.push(part);
            continue;
        };
        let outermost = part.origin.outermost();
        let first = origins.first().map_or(outermost.clone(), Origin::outermost);
        let is_near = first.pointer() == outermost.pointer();
        origins.push(if is_near { part.origin.clone() } else { outermost });
        if let Some(Part { body: Body::Text(own), .. }) = joined.and_then(|at| parts.get_mut(at)) {
            own.edit(|own| own.extend([separator, text]));
        } else {
            joined = Some(parts.len());
            parts.push(part);
        }
    }
    origins
}

/// Moves texts before media, if a target has separate fields; returns the origins of moved texts.
pub(super) fn words_first(parts: &mut [Part]) -> Vec<Origin> {
    let is_media = |part: &Part| matches!(part.body, Body::Media(_));
    let late = parts.iter().skip_while(|part| !is_media(part)).filter(|part| !is_media(part));
    let moved = late.map(|part| part.origin.clone()).collect();
    parts.sort_by_key(is_media);
    moved
}
