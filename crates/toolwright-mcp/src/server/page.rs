//! Pages of lists. A cursor is the number of entries before the page.

use toolwright_core::Json;
use toolwright_json::Object;

use crate::message::RpcError;

/// Number of entries on a page.
const PAGE: usize = 1000;

/// Returns the page of a list that a request asks for, as a result with the entries at `key`.
pub fn page<T>(
    key: &'static str,
    params: &Object,
    list: impl ExactSizeIterator<Item = T>,
    encode: impl FnMut(T) -> Json,
) -> Result<Object, RpcError> {
    let start = match params.get("cursor") {
        None | Some(Json::Null) => 0,
        Some(cursor) => {
            let start = cursor.as_str().and_then(|cursor| cursor.parse::<usize>().ok());
            let message = "Invalid params: 'cursor' is not one that this server sent";
            start.ok_or_else(|| RpcError::invalid_params(message))?
        }
    };
    let end = start.saturating_add(PAGE);
    let has_more = list.len() > end;
    let mut result = Object::new();
    result.insert(key, list.skip(start).take(PAGE).map(encode).collect::<Vec<Json>>());
    if has_more {
        result.insert("nextCursor", end.to_string());
    }
    Ok(result)
}
