//! OpenAI's errors for state that cannot be resolved. Ids that are unknown, expired, deleted or another
//! client's give the same error.

use toolwright_core::{Dialect, Fault, FaultClass, object};

pub use crate::fault::invalid;

/// The fault of an unknown `previous_response_id`.
pub fn previous_not_found(id: &str) -> Fault {
    let id = printable(id);
    let message = format!("Previous response with id '{id}' not found.");
    let code = Some("previous_response_not_found".to_owned());
    Fault { code, ..invalid("previous_response_id", message) }
}

/// The fault of an unknown `item_reference`.
pub fn item_not_found(id: &str) -> Fault {
    let fault = not_found(format!("Item with id '{}' not found.", printable(id)));
    Fault { param: Some("input".to_owned()), ..fault }
}

/// The fault of a response that is not stored.
pub fn response_not_found(id: &str) -> Fault {
    not_found(format!("Response with id '{}' not found.", printable(id)))
}

/// The fault of an item that occurs twice in the input.
pub fn duplicate_item(id: &str) -> Fault {
    let id = printable(id);
    let message = format!(
        "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
    );
    invalid("input", message)
}

/// The fault of a member that only an upstream of the Responses API supports.
pub fn unsupported(field: &str) -> Fault {
    let message = format!(
        "Unsupported parameter: '{field}' needs an upstream that speaks the Responses API itself, \
         and this model is answered by another. Remove it, or send the conversation as `input` or \
         by `previous_response_id`."
    );
    Fault { code: Some("unsupported_parameter".to_owned()), ..invalid(field, message) }
}

/// OpenAI uses the status 404 with the type of an invalid request.
fn not_found(message: String) -> Fault {
    let mut fault = Fault::new(FaultClass::NotFound, message);
    let kind = object! {"type": "invalid_request_error"};
    fault.extra.insert(Dialect::OpenaiResponses, "error", kind);
    fault
}

/// Shortens an id for a message, on one line.
fn printable(id: &str) -> String {
    id.chars().filter(|own| !own.is_control()).take(100).collect()
}
