//! Stored contents in the form in which a tool receives them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::Json;

use super::HandleError;
use crate::output::Content;
use crate::settings::ValueForm;

/// Converts the part of a content at a JSON Pointer; bytes have no parts, and only base64 expresses those that are not
/// text. `has_room` is asked for the bytes that the result takes in memory.
pub(super) fn convert(
    content: &Content,
    pointer: &str,
    form: ValueForm,
    has_room: impl FnOnce(usize) -> bool,
) -> Result<Json, HandleError> {
    let fits = |bytes: usize| {
        let bytes = if form == ValueForm::Base64 { bytes.div_ceil(3) * 4 } else { bytes };
        if has_room(bytes) { Ok(()) } else { Err(HandleError::TooLarge) }
    };
    match content {
        Content::Json(value) => {
            let value = value.pointer(pointer).ok_or(HandleError::NoSuchPiece)?;
            fits(value.weight())?;
            Ok(match (form, value) {
                (ValueForm::Json, value) | (ValueForm::Text, value @ Json::String(_)) => {
                    value.clone()
                }
                (ValueForm::Text, value) => Json::from(value.compact()),
                (ValueForm::Base64, Json::String(text)) => STANDARD.encode(text.as_str()).into(),
                (ValueForm::Base64, value) => STANDARD.encode(value.compact()).into(),
            })
        }
        Content::Bytes(blob) if pointer.is_empty() => {
            fits(blob.bytes.len())?;
            match form {
                ValueForm::Json => Err(HandleError::NotJson),
                ValueForm::Base64 => Ok(STANDARD.encode(&blob.bytes).into()),
                ValueForm::Text => match std::str::from_utf8(&blob.bytes) {
                    Ok(text) => Ok(Json::from(text)),
                    Err(_) => Err(HandleError::NotText),
                },
            }
        }
        Content::Bytes(_) | Content::Media(_) => Err(HandleError::NotJson),
    }
}
