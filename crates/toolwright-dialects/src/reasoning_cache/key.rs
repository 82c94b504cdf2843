//! Keys under which cached reasoning is stored and found.
//!
//! Id and name identify a call unless the vendor numbers calls from zero in every conversation
//! (`functions.get_weather:0`), so that one client has many calls of the same id. Only for such ids do
//! the arguments count, because clients normalise arguments: Claude Code adds defaults such as
//! `"replace_all": false`.

use toolwright_core::Call;
use toolwright_core::digest::{TextDigest, arguments_digest};

/// Key of a call, by the id, name and arguments that the client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallKey(u64);

impl CallKey {
    /// The key of a call; `None` if the call has no id.
    pub fn of(call: &Call) -> Option<CallKey> {
        call.id.as_deref().map(|id| CallKey::new(id, &call.name, arguments_digest(&call.arguments)))
    }

    /// The key of a call that ignores its arguments, if its id identifies it.
    pub fn without_arguments(call: &Call) -> Option<CallKey> {
        call.id.as_deref().and_then(|id| CallKey::from_id(id, &call.name))
    }

    pub(super) fn from_id(id: &str, name: &str) -> Option<CallKey> {
        is_unique(id, name).then(|| CallKey(digest([id, "\u{0}\u{0}", name]).hash()))
    }

    pub(super) fn new(id: &str, name: &str, arguments: u64) -> CallKey {
        let mut digest = digest([id, "\u{0}", name]);
        digest.push_number(arguments);
        CallKey(digest.hash())
    }
}

fn digest(texts: [&str; 3]) -> TextDigest {
    let mut digest = TextDigest::default();
    for text in texts {
        digest.push(text);
    }
    digest
}

/// Whether an id identifies one call: it neither numbers the calls of a tool nor is made from a
/// [`ConversationDigest`](toolwright_core::digest::ConversationDigest).
fn is_unique(id: &str, name: &str) -> bool {
    let unnumbered = id.trim_end_matches(|own: char| own.is_ascii_digit());
    let numbers_calls = unnumbered.trim_end_matches([':', '_', '-', '.']).ends_with(name);
    !numbers_calls && !id.starts_with('\u{0}')
}

#[cfg(test)]
mod tests {
    use super::CallKey;
    use toolwright_core::call::{Arguments, Call};

    #[test]
    fn a_key_is_of_id_name_and_arguments() {
        let key = |id: &str, name: &str, text: &str| {
            CallKey::of(&Call::new(id, name, Arguments::from_text(text))).unwrap()
        };
        assert_eq!(key("a", "f", "{}"), key("a", "f", " {}"));
        for other in
            [key("b", "f", "{}"), key("a", "g", "{}"), key("a", "f", "[]"), key("", "af", "{}")]
        {
            assert_ne!(key("a", "f", "{}"), other);
        }
        let call = Call { id: None, name: "f".into(), arguments: Arguments::none() };
        assert_eq!(CallKey::of(&call), None);
    }

    #[test]
    fn ids_that_number_the_calls_of_a_tool_have_no_key_without_arguments() {
        let of = |id: &str, text: &str| {
            CallKey::without_arguments(&Call::new(id, "get_weather", Arguments::from_text(text)))
        };
        for id in ["toolu_01A09q90qw90lq917835lq9", "VvvODy9mT", "call_1", "0"] {
            assert!(of(id, "{}").is_some() && of(id, "{}") == of(id, r#"{"a":1}"#), "{id}");
        }
        for id in ["functions.get_weather:0", "get_weather", "call_get_weather_12"] {
            assert_eq!(of(id, "{}"), None, "{id}");
        }
    }
}
