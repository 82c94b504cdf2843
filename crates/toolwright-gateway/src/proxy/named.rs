//! Refuses bodies that name further models, besides the one that is checked against the client's
//! permissions. A vendor may ignore the case of keys, or use the first of repeated keys; some
//! accept lists of models.

use toolwright_core::json::each_member;
use toolwright_core::{Fault, FaultClass};

use super::endpoint::{Endpoint, Purpose};

/// Members with fallback models: those of `OpenRouter` and `LiteLLM`.
const LISTS: [&str; 2] = ["models", "fallbacks"];

/// Refuses a body that names more models than the one in the body or the path.
pub fn check(body: &[u8], endpoint: &Endpoint, model: &str) -> Result<(), Fault> {
    let mut names = 0;
    let mut refused = None;
    let shows = endpoint.purpose == Purpose::ShowModel;
    let read = each_member(body, |key, value| {
        let is = |name: &str| folded(key).eq(name.chars());
        if is("MODEL") || (shows && is("NAME")) {
            names += 1;
            let same = value
                .as_str()
                .is_some_and(|own| own.strip_prefix("models/").unwrap_or(&own) == model);
            if names > 1 || !same {
                refused.get_or_insert_with(|| key.to_owned());
            }
        } else if LISTS.iter().any(|list| folded(key).eq(folded(list))) {
            refused.get_or_insert_with(|| key.to_owned());
        }
    });
    // Invalid JSON was refused before.
    match refused.filter(|_| read.is_ok()) {
        None => Ok(()),
        Some(key) => {
            let message = "The body names several models, and this key may not use all of them. \
                           Name one, in `model`.";
            let mut fault = Fault::new(FaultClass::Forbidden, message);
            fault.param = Some(key.chars().take(32).collect());
            Err(fault)
        }
    }
}

/// Folds the case of a key.
fn folded(key: &str) -> impl Iterator<Item = char> {
    key.chars().flat_map(char::to_uppercase)
}
