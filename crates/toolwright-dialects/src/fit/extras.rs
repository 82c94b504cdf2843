//! First pass: removes fields and blocks of other dialects, with one loss each.

use toolwright_core::extra::BESIDE;
use toolwright_core::loss::{Loss, Severity, Site};
use toolwright_core::note::is_note;
use toolwright_core::part::MediaSource;
use toolwright_core::profile::KnownFields;
use toolwright_core::{Body, Dialect, Extra, Origin, Part};
use toolwright_json::pointer::escape;
use toolwright_json::{Json, Object};

use super::Work;
use crate::dialect;

const WHY: &str = "only its own dialect has such a field";

pub(super) fn pass(work: &mut Work<'_>) {
    let dialect = work.profile.dialect;
    let losses = &mut work.losses;
    clear(&mut work.request.extra, &Origin::NONE, dialect, losses);
    for tool in &mut work.request.tools {
        clear(&mut tool.extra, &tool.origin, dialect, losses);
        if let Some(namespace) = &mut tool.namespace {
            clear(&mut namespace.extra, &namespace.origin, dialect, losses);
        }
    }
    let request = &mut work.request;
    for message in request.instructions.iter_mut().chain(&mut request.messages) {
        clear(&mut message.extra, &message.origin, dialect, losses);
        parts(&mut message.parts, dialect, losses);
    }
    if let Some(known) = work.profile.known_fields {
        drop_unknown(work, known);
    }
    if work.profile.known_types_only {
        let request = &mut work.request;
        for message in request.instructions.iter_mut().chain(&mut request.messages) {
            drop_opaque(&mut message.parts, &mut work.losses);
        }
    }
    work.drop_empty();
}

/// Removes fields and values that the target does not know, if it refuses them: those of a vendor
/// that extends the target's format.
fn drop_unknown(work: &mut Work<'_>, known: KnownFields) {
    let dialect = work.profile.dialect;
    let losses = &mut work.losses;
    let request = &mut work.request;
    let is_known = |key: &str, value: &Json| {
        let listed = known.values.iter().find(|(field, _)| *field == key);
        let is_listed = |values: &[&str]| value.as_str().is_some_and(|own| values.contains(&own));
        known.request.contains(&key) && listed.is_none_or(|(_, values)| is_listed(values))
    };
    drop_fields(&mut request.extra, &Origin::NONE, is_known, dialect, losses);
    for tool in &mut request.tools {
        let is_known = |key: &str, _: &Json| known.tool.contains(&key);
        drop_fields(&mut tool.extra, &tool.origin, is_known, dialect, losses);
    }
    for message in request.instructions.iter_mut().chain(&mut request.messages) {
        let is_known = |key: &str, _: &Json| known.message.contains(&key);
        drop_fields(&mut message.extra, &message.origin, is_known, dialect, losses);
        for part in &mut message.parts {
            drop_part_fields(part, known, dialect, losses);
        }
    }
}

/// Removes fields of a part that the target does not know. An outcome is a separate message.
fn drop_part_fields(part: &mut Part, known: KnownFields, dialect: Dialect, losses: &mut Vec<Loss>) {
    let mut fields = known.part;
    if let Body::Outcome(outcome) = &mut part.body {
        fields = known.message;
        for piece in &mut outcome.content {
            drop_part_fields(piece, known, dialect, losses);
        }
    }
    let is_known = |key: &str, _: &Json| fields.contains(&key);
    drop_fields(&mut part.extra, &part.origin, is_known, dialect, losses);
}

/// Removes blocks of a type that is not canonical.
fn drop_opaque(parts: &mut Vec<Part>, losses: &mut Vec<Loss>) {
    parts.retain_mut(|part| match &mut part.body {
        Body::Opaque(_) => {
            let why = "the target refuses blocks of a type that it does not know";
            losses.push(Loss::new(Severity::Major, Site::of(&part.origin), "block dropped", why));
            false
        }
        Body::Outcome(outcome) => {
            drop_opaque(&mut outcome.content, losses);
            true
        }
        _ => true,
    });
}

/// Removes unknown extra fields, and all that are beside a nested object.
fn drop_fields(
    extra: &mut Extra,
    origin: &Origin,
    is_known: impl Fn(&str, &Json) -> bool,
    dialect: Dialect,
    losses: &mut Vec<Loss>,
) {
    let mut lose = |site: Site, value: &Json| {
        if !value.is_null() && !dialect::is_default(dialect, &site.pointer(&[]), value) {
            let why = "the target refuses fields and values that it does not know";
            losses.push(Loss::new(Severity::Minor, site, "field dropped", why));
        }
    };
    for (key, value) in extra.take_unless(is_known).iter() {
        match (key, value) {
            (BESIDE, Json::Object(beside)) => {
                for (key, value) in beside.iter() {
                    let site = Site::extra(origin, BESIDE).below(["/", &escape(key)].concat());
                    lose(site, value);
                }
            }
            _ => lose(Site::extra(origin, key), value),
        }
    }
}

/// Removes foreign fields from the parts of a message, a response or an outcome.
pub(super) fn parts(parts: &mut Vec<Part>, dialect: Dialect, losses: &mut Vec<Loss>) {
    parts.retain_mut(|part| keep(part, dialect, losses));
}

/// Removes foreign fields from one part; returns whether it stays.
pub(super) fn keep(part: &mut Part, dialect: Dialect, losses: &mut Vec<Loss>) -> bool {
    clear(&mut part.extra, &part.origin, dialect, losses);
    let foreign_file = |media: &toolwright_core::part::Media| matches!(&media.source, MediaSource::File(own, _) if !own.shares_wire(dialect));
    let (what, why) = match &mut part.body {
        Body::Opaque(opaque) if !opaque.dialect.shares_wire(dialect) => {
            ("block dropped", "only its own dialect knows such a block")
        }
        Body::Media(media) if foreign_file(media) => {
            ("file dropped", "it is kept by another vendor under an id")
        }
        Body::Outcome(outcome) => {
            self::parts(&mut outcome.content, dialect, losses);
            return true;
        }
        _ => return true,
    };
    losses.push(Loss::new(Severity::Major, Site::of(&part.origin), what, why));
    false
}

/// Removes foreign fields of a value.
pub(super) fn clear(extra: &mut Extra, origin: &Origin, dialect: Dialect, losses: &mut Vec<Loss>) {
    if !extra.is_empty() {
        clear_at(extra, &Site::of(origin), dialect, losses);
    }
}

/// Removes foreign fields at a site, with one loss for each leaf, because siblings of a leaf may
/// have been decoded.
pub(super) fn clear_at(extra: &mut Extra, site: &Site, dialect: Dialect, losses: &mut Vec<Loss>) {
    if extra.is_empty() || extra.for_dialect(dialect).is_some() {
        return;
    }
    let own = extra.dialect();
    let members = extra.fields().into_iter().flat_map(Object::iter);
    for (key, value) in members.filter(|(key, _)| !is_note(key)) {
        leaves(value, "", &mut |pointer, value| {
            let site = match site.field.as_ref() {
                "" => Site::extra(&site.origin, key).below(pointer),
                _ => site.clone().below(["/", &escape(key), pointer].concat()),
            };
            let place = |own: Dialect| site.pointer(dialect::tool_codec(own).field_paths());
            if own.is_some_and(|own| dialect::is_default(own, &place(own), value)) {
                return;
            }
            losses.push(Loss::new(Severity::Minor, site, "field dropped", WHY));
        });
    }
    *extra = Extra::NONE;
}

/// Visits every leaf value with its pointer.
pub(super) fn leaves(value: &Json, pointer: &str, visit: &mut impl FnMut(&str, &Json)) {
    match value {
        Json::Object(object) if !object.is_empty() => {
            for (key, value) in object.iter().filter(|(key, _)| !is_note(key)) {
                leaves(value, &[pointer, "/", &escape(key)].concat(), visit);
            }
        }
        _ => visit(pointer, value),
    }
}
