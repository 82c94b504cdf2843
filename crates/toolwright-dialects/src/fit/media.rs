//! Media types: spellings that vendors refuse, and documents that a target accepts only as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::Origin;
use toolwright_core::loss::{Severity, Site};
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::profile::MediaRule;

use super::Work;

/// Normalizes media: a registered media type, and a text document as text if base64 is for other
/// types.
pub(super) fn prepare(work: &mut Work<'_>, media: &mut Media, rule: &MediaRule, origin: &Origin) {
    // Not registered, and refused by Anthropic and Gemini.
    if media.mime.as_deref() == Some("image/jpg") {
        media.mime = Some("image/jpeg".to_owned());
        let site = Site::field(origin, "mime");
        work.lose(Severity::Note, site, "said as 'image/jpeg'", "vendors refuse 'image/jpg'");
    }
    if is_legal_document(media, rule) || !rule.text_document || !is_text(media) {
        return;
    }
    let MediaSource::Base64(data) = &media.source else { return };
    let text = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    // Data that is not UTF-8 stays as it is, and is removed later.
    let Some(text) = text else { return };
    media.source = MediaSource::Text(text);
    media.mime = None;
    let why = "the target takes no base64 of this type";
    work.lose(Severity::Note, Site::of(origin), "document is sent as text", why);
}

/// Whether a target accepts the type of a base64 document. An unknown type is tried.
pub(super) fn is_legal_document(media: &Media, rule: &MediaRule) -> bool {
    media.kind != MediaKind::Document
        || rule.documents.is_empty()
        || !matches!(media.source, MediaSource::Base64(_))
        || (media.mime.is_none() && !is_text(media))
        || media.mime.as_deref().is_some_and(|mime| rule.documents.contains(&essence(mime)))
}

/// Removes the parameters of a media type.
fn essence(mime: &str) -> &str {
    mime.split(';').next().unwrap_or_default().trim()
}

/// Whether a document is text, by its media type or else by its name.
fn is_text(media: &Media) -> bool {
    const TYPES: [&str; 7] = ["json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-ndjson"];
    const NAMES: [&str; 8] = [".txt", ".csv", ".md", ".html", ".json", ".xml", ".yaml", ".yml"];
    if let Some(mime) = media.mime.as_deref().map(essence) {
        let own = mime.strip_prefix("application/");
        let is_text =
            |own: &str| TYPES.contains(&own) || own.ends_with("+json") || own.ends_with("+xml");
        return mime.starts_with("text/") || own.is_some_and(is_text);
    }
    let name = media.name.as_deref().unwrap_or_default().to_ascii_lowercase();
    NAMES.iter().any(|own| name.ends_with(own))
}
