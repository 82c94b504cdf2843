//! The output of a call as the output of a step, which references lead into.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::part::MediaSource;
use toolwright_core::{Json, Tool, object};

use toolwright_runtime::output::{Content, Piece};

/// Returns the complete output as JSON: its only piece, the one that the tool declares, or an array of all. Media and
/// bytes become `{media_type, data}`, with base64.
pub(super) fn step_output(pieces: &[Piece], tool: &Tool) -> Json {
    match (pieces, declared_piece(pieces, tool)) {
        ([only], _) => piece(only),
        (_, Some(index)) => piece(&pieces[index]),
        _ => Json::Array(pieces.iter().map(piece).collect()),
    }
}

/// Returns the index of the piece that is the output of a tool with an output schema: the only object among several
/// pieces. Servers add other content for models that read no JSON.
pub(super) fn declared_piece(pieces: &[Piece], tool: &Tool) -> Option<usize> {
    tool.output.as_ref()?;
    let is_object = |own: &Piece| matches!(own.content.as_json(), Some(Json::Object(_)));
    let mut objects = pieces.iter().enumerate().filter(|(_, own)| is_object(own));
    let (index, _) = objects.next()?;
    objects.next().is_none().then_some(index)
}

/// Returns a piece as JSON.
pub(super) fn piece(piece: &Piece) -> Json {
    match &piece.content {
        Content::Json(value) => Json::clone(value),
        Content::Bytes(blob) => {
            object! {"media_type": blob.mime.as_str(), "data": STANDARD.encode(&blob.bytes)}.into()
        }
        Content::Media(media) => {
            let mut out = object! {"media_type": media.mime.as_deref()};
            match &media.source {
                MediaSource::Base64(data) => out.insert("data", data.as_str()),
                MediaSource::Url(url) => out.insert("url", url.as_str()),
                _ => {}
            }
            out.into()
        }
    }
}
