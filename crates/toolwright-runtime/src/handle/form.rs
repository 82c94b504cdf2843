//! Stored values in the form in which a tool receives them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolwright_core::Json;

use super::{HandleError, StoredValue};
use crate::output::Blob;
use crate::settings::ValueForm;

/// A stored value or a part of it.
#[derive(Clone, Copy)]
pub(super) enum Piece<'v> {
    Json(&'v Json),
    Bytes(&'v Blob),
}

impl Piece<'_> {
    /// Returns the part at a JSON Pointer. Bytes have no parts.
    pub(super) fn of<'v>(value: &'v StoredValue, pointer: &str) -> Result<Piece<'v>, HandleError> {
        match value {
            StoredValue::Json(value) => {
                value.pointer(pointer).map(Piece::Json).ok_or(HandleError::NoSuchPiece)
            }
            StoredValue::Bytes(blob) if pointer.is_empty() => Ok(Piece::Bytes(blob)),
            StoredValue::Bytes(_) => Err(HandleError::NotJson),
        }
    }
}

/// Returns the approximate size of a converted value in memory, in bytes.
pub(super) fn weight(piece: Piece<'_>, form: ValueForm) -> usize {
    let bytes = match piece {
        Piece::Json(value) => super::weight(value),
        Piece::Bytes(blob) => blob.bytes.len(),
    };
    if form == ValueForm::Base64 { bytes.div_ceil(3) * 4 } else { bytes }
}

/// Converts a value. Only base64 expresses bytes that are not text.
pub(super) fn convert(piece: Piece<'_>, form: ValueForm) -> Result<Json, HandleError> {
    Ok(match (form, piece) {
        (ValueForm::Json, Piece::Json(value))
        | (ValueForm::Text, Piece::Json(value @ Json::String(_))) => value.clone(),
        (ValueForm::Json, Piece::Bytes(_)) => return Err(HandleError::NotJson),
        (ValueForm::Text, Piece::Json(value)) => Json::from(value.compact()),
        (ValueForm::Text, Piece::Bytes(blob)) => {
            Json::from(std::str::from_utf8(&blob.bytes).map_err(|_| HandleError::NotText)?)
        }
        (ValueForm::Base64, Piece::Json(Json::String(text))) => {
            STANDARD.encode(text.as_str()).into()
        }
        (ValueForm::Base64, Piece::Json(value)) => STANDARD.encode(value.compact()).into(),
        (ValueForm::Base64, Piece::Bytes(blob)) => STANDARD.encode(&blob.bytes).into(),
    })
}
