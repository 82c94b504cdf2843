//! By what a kept answer is found again.
//!
//! An id and a name are enough while one answer alone has such a call. Some vendors count calls from
//! zero in every conversation (`functions.get_weather:0`), so that one client has many calls of the
//! same id; there the arguments decide as well. They decide only there, because clients normalise
//! arguments: Claude Code adds defaults such as `"replace_all": false`.

use crate::model::call::Call;
use crate::model::digest::{TextDigest, arguments_digest};

/// The key of a call, as the client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

impl Key {
    /// Of a call; one without an id has none.
    pub fn of(call: &Call) -> Option<Key> {
        call.id.as_deref().map(|id| Key::new(id, &call.name, arguments_digest(&call.arguments)))
    }

    /// The key of a call whatever its arguments are, if its id can identify it.
    pub fn without_arguments(call: &Call) -> Option<Key> {
        call.id.as_deref().and_then(|id| Key::named(id, &call.name))
    }

    pub(super) fn named(id: &str, name: &str) -> Option<Key> {
        is_unique(id, name).then(|| Key(digest([id, "\u{0}\u{0}", name]).hash()))
    }

    pub(super) fn new(id: &str, name: &str, arguments: u64) -> Key {
        let mut digest = digest([id, "\u{0}", name]);
        digest.push_number(arguments);
        Key(digest.hash())
    }
}

fn digest(texts: [&str; 3]) -> TextDigest {
    let mut digest = TextDigest::default();
    for text in texts {
        digest.push(text);
    }
    digest
}

/// Whether an id identifies one call alone: it neither numbers the calls of a tool nor is made from a
/// [`ConversationDigest`](crate::model::digest::ConversationDigest).
fn is_unique(id: &str, name: &str) -> bool {
    let unnumbered = id.trim_end_matches(|own: char| own.is_ascii_digit());
    let numbers_calls = unnumbered.trim_end_matches([':', '_', '-', '.']).ends_with(name);
    !numbers_calls && !id.starts_with('\u{0}')
}

#[cfg(test)]
mod tests {
    use super::Key;
    use crate::model::call::{Arguments, Call};

    #[test]
    fn a_key_is_of_id_name_and_arguments() {
        let key = |id: &str, name: &str, text: &str| {
            Key::of(&Call::new(id, name, Arguments::from_text(text))).unwrap()
        };
        assert_eq!(key("a", "f", "{}"), key("a", "f", " {}"));
        for other in
            [key("b", "f", "{}"), key("a", "g", "{}"), key("a", "f", "[]"), key("", "af", "{}")]
        {
            assert_ne!(key("a", "f", "{}"), other);
        }
        let call = Call { id: None, name: "f".into(), arguments: Arguments::none() };
        assert_eq!(Key::of(&call), None);
    }

    #[test]
    fn ids_that_number_the_calls_of_a_tool_have_no_key_without_arguments() {
        let of = |id: &str, text: &str| {
            Key::without_arguments(&Call::new(id, "get_weather", Arguments::from_text(text)))
        };
        for id in ["toolu_01A09q90qw90lq917835lq9", "VvvODy9mT", "call_1", "0"] {
            assert!(of(id, "{}").is_some() && of(id, "{}") == of(id, r#"{"a":1}"#), "{id}");
        }
        for id in ["functions.get_weather:0", "get_weather", "call_get_weather_12"] {
            assert_eq!(of(id, "{}"), None, "{id}");
        }
    }
}
