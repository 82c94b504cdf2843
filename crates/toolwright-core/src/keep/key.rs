//! By what a kept answer is found again.
//!
//! An id and a name are enough while one answer alone has such a call. Some vendors count calls from
//! zero in every conversation (`functions.get_weather:0`), so that one client has many calls of the
//! same id; there the arguments decide as well. They decide only there, because clients normalise
//! arguments: Claude Code adds defaults such as `"replace_all": false`.

use crate::call::{Arguments, Call};
use crate::json::Json;

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The key of a call, as the client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

impl Key {
    /// Of a call; one without an id has none.
    pub fn of(call: &Call) -> Option<Key> {
        call.id.as_deref().map(|id| Key::new(id, &call.name, sum(&call.arguments)))
    }

    /// The key of a call whatever its arguments are, if its id can identify it.
    pub fn without_arguments(call: &Call) -> Option<Key> {
        call.id.as_deref().and_then(|id| Key::named(id, &call.name))
    }

    pub(super) fn named(id: &str, name: &str) -> Option<Key> {
        let mut words = Words::default();
        for text in [id, "\u{0}\u{0}", name] {
            words.push(text);
        }
        is_unique(id, name).then_some(Key(words.hash))
    }

    pub(super) fn new(id: &str, name: &str, sum: u64) -> Key {
        let mut words = Words::default();
        for text in [id, "\u{0}", name] {
            words.push(text);
        }
        Key(mixed(words.hash, &sum.to_le_bytes()))
    }
}

/// Whether an id can belong to one call alone: it does not number the calls of a tool, and does not
/// stand for a place, see [`Place`](super::Place).
fn is_unique(id: &str, name: &str) -> bool {
    let unnumbered = id.trim_end_matches(|own: char| own.is_ascii_digit());
    let numbers_calls = unnumbered.trim_end_matches([':', '_', '-', '.']).ends_with(name);
    !numbers_calls && !id.starts_with('\u{0}')
}

/// A text of which only a hash and the length are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Words {
    hash: u64,
    length: usize,
}

impl Default for Words {
    fn default() -> Words {
        Words { hash: START, length: 0 }
    }
}

impl Words {
    pub(crate) fn of(text: &str) -> Words {
        let mut words = Words::default();
        words.push(text);
        words
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.hash = mixed(self.hash, text.as_bytes());
        self.length += text.len();
    }

    pub(super) fn push_number(&mut self, number: u64) {
        self.hash = mixed(self.hash, &number.to_le_bytes());
        self.length += size_of::<u64>();
    }

    /// The hash and the length, for a document.
    pub(super) fn to_json(self) -> Json {
        Json::Array(vec![self.hash.into(), (self.length as u64).into()])
    }

    pub(super) fn from_json(document: &Json) -> Option<Words> {
        let [hash, length] = document.as_array()? else { return None };
        Some(Words { hash: hash.as_u64()?, length: usize::try_from(length.as_u64()?).ok()? })
    }

    /// The hash alone.
    pub(super) fn mark(self) -> u64 {
        self.hash
    }

    pub(crate) fn is_empty(self) -> bool {
        self.length == 0
    }
}

fn mixed(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// What arguments come to: the same for all spellings of a value, in which a client may send it back.
pub(crate) fn sum(arguments: &Arguments) -> u64 {
    match arguments {
        Arguments::Json(json) => value(&json.to_json()),
        Arguments::Malformed(text) | Arguments::Free(text) => mixed(START, text.as_bytes()),
    }
}

fn value(json: &Json) -> u64 {
    let tagged = |tag: u8, bytes: &[u8]| mixed(mixed(START, &[tag]), bytes);
    match json {
        Json::Null => tagged(0, &[]),
        Json::Bool(own) => tagged(1, &[u8::from(*own)]),
        // Many clients read numbers as doubles, and send back what is left of them.
        Json::Number(own) => {
            let double = own.as_str().parse::<f64>().unwrap_or_default() + 0.0;
            tagged(2, &double.to_bits().to_le_bytes())
        }
        Json::String(own) => tagged(3, own.as_bytes()),
        Json::Array(items) => {
            items.iter().fold(tagged(4, &[]), |hash, item| mixed(hash, &value(item).to_le_bytes()))
        }
        Json::Object(object) => {
            // A sum, since the order of keys means nothing.
            let members = object
                .iter()
                .map(|(key, own)| mixed(tagged(6, key.as_bytes()), &value(own).to_le_bytes()));
            tagged(5, &members.fold(0, u64::wrapping_add).to_le_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, sum};
    use crate::call::{Arguments, Call};

    fn of(text: &str) -> u64 {
        sum(&Arguments::from_text(text))
    }

    #[test]
    fn spellings_of_a_value_come_to_the_same() {
        let text = r#"{"a":[1,9007199254740993,"\u5317"],"b":{"x":null,"y":1.50}}"#;
        let other = r#"{ "b":{"y":1.5,"x":null}, "a":[1.0,9007199254740992,"北"] }"#;
        assert_eq!(of(text), of(other));
        assert_eq!((of("{}"), of("-0")), (of(""), of("0")));
        assert_eq!(of("null"), of("{}"));
    }

    #[test]
    fn other_values_come_to_something_else() {
        let texts = [
            "{}",
            "[]",
            "false",
            "true",
            "0",
            "1",
            r#""""#,
            r#""1""#,
            "[1,2]",
            "[2,1]",
            "[[1],2]",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"b":1}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":1,"b":1}"#,
            "{",
        ];
        let mut sums: Vec<u64> = texts.iter().map(|text| of(text)).collect();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), texts.len());
    }

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
