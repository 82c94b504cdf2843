//! The response format: a schema, JSON, or text. If the target has no field for it, it is added to
//! the instructions.

use toolwright_core::loss::{Severity, Site};
use toolwright_core::request::Format;
use toolwright_core::{Message, Origin, Part, Role};

use super::Work;

fn at(field: &'static str) -> Site {
    Site::field(&Origin::NONE, field)
}

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.format;
    let Some(mut format) = work.request.format.take() else { return };
    let why = "the target has no such answer format";
    let kept = match &mut format {
        Format::Text => rule.text,
        Format::Json => rule.json,
        Format::Schema(schema) => {
            if rule.schema && !rule.named {
                let mut lost = Vec::new();
                if schema.name.take().is_some() {
                    lost.push("/name");
                }
                if schema.description.take().is_some() {
                    lost.push("/description");
                }
                if schema.strict.take().is_some() {
                    lost.push("/strict");
                }
                for below in lost {
                    let site = at("format_schema").below(below);
                    work.lose(
                        Severity::Note,
                        site,
                        "dropped",
                        "the target's schemas have no such field",
                    );
                }
            }
            rule.schema
        }
    };
    if kept {
        work.request.format = Some(format);
        return;
    }
    // Text is the default.
    let text = match &format {
        Format::Text => return,
        Format::Json => "Answer with one JSON object and nothing else.".to_owned(),
        Format::Schema(own) => format!(
            "Answer with one JSON value and nothing else. It must be valid against this JSON Schema:\n{}",
            own.schema.compact()
        ),
    };
    if matches!(format, Format::Schema(_)) {
        let what = "schema goes into the instructions and is not enforced";
        work.lose(Severity::Minor, at("format_schema"), what, why);
    }
    if rule.json {
        work.request.format = Some(Format::Json);
        let field = if work.source.is_some() { "format_kind" } else { "format" };
        work.lose(Severity::Minor, at(field), "becomes any JSON object", why);
    } else {
        let what = "goes into the instructions and is not enforced";
        work.lose(Severity::Minor, at("format"), what, why);
    }
    instruct(work, &text);
}

/// Adds a text to the instructions.
fn instruct(work: &mut Work<'_>, text: &str) {
    let own = work.request.instructions.get_or_insert_with(|| Message::new(Role::System, vec![]));
    let origin = own.parts.last().map(|part| part.origin.clone());
    own.parts.push(Part::text(text));
    if let Some(origin) = origin.filter(|origin| origin.pointer().is_some()) {
        let what = "the form of the answer is added to the instructions";
        work.lose(Severity::Note, Site::of(&origin), what, "the target has no such answer format");
    }
}
