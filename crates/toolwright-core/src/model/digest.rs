//! Digests that identify a conversation and the arguments of a call when a client sends them back.

use toolwright_json::Json;

use super::call::{Arguments, Call};
use super::message::{Message, Role};
use super::part::{Body, Part};
use super::request::Request;
use crate::hash::{FNV_START, fnv_extend};

/// Hash of the conversation before a reply: texts of the user, outcomes and earlier replies. System
/// messages are left out because some clients write the time into them, and reasoning because clients
/// do not return it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConversationDigest(TextDigest);

impl ConversationDigest {
    /// Returns the digest of all messages of a request.
    pub fn of(request: &Request) -> ConversationDigest {
        let mut digest = ConversationDigest::default();
        request.messages.iter().for_each(|message| digest.push(message));
        digest
    }

    /// Reads what [`Self::to_json`] wrote.
    pub fn from_json(document: &Json) -> Option<ConversationDigest> {
        TextDigest::from_json(document).map(ConversationDigest)
    }

    /// Returns the stored form.
    pub fn to_json(self) -> Json {
        self.0.to_json()
    }

    /// Adds a message.
    pub fn push(&mut self, message: &Message) {
        let role = match message.role {
            Role::System | Role::Developer => return,
            Role::User => "\u{1}user",
            Role::Assistant => "\u{1}assistant",
            Role::Tool => "\u{1}tool",
        };
        self.0.push(role);
        message.parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match &part.body {
            Body::Text(text) | Body::Refusal(text) => {
                self.0.push("\u{1}");
                self.0.push(text);
            }
            Body::Call(call) => {
                self.0.push("\u{1}call");
                self.0.push(&call.name);
                self.0.push_number(arguments_digest(&call.arguments));
            }
            Body::Outcome(outcome) => outcome.content.iter().for_each(|own| self.part(own)),
            _ => {}
        }
    }

    /// Returns the synthetic id of a call of the reply, by its index among the calls, for clients
    /// that return calls without ids. No dialect has such ids.
    pub fn call_id(self, number: usize) -> String {
        format!("\u{0}{:016x}-{number}", self.0.hash())
    }

    /// Returns a call of the reply with its synthetic id.
    pub fn with_call_id(self, call: &Call, number: usize) -> Call {
        Call { id: Some(self.call_id(number)), ..call.clone() }
    }
}

/// Hash and length of a text that arrives in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextDigest {
    hash: u64,
    length: usize,
}

impl Default for TextDigest {
    fn default() -> TextDigest {
        TextDigest { hash: FNV_START, length: 0 }
    }
}

impl TextDigest {
    /// Returns the digest of a text.
    pub fn of(text: &str) -> TextDigest {
        let mut digest = TextDigest::default();
        digest.push(text);
        digest
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.hash = fnv_extend(self.hash, text.as_bytes());
        self.length += text.len();
    }

    /// Adds a number.
    pub fn push_number(&mut self, number: u64) {
        self.hash = fnv_extend(self.hash, &number.to_le_bytes());
        self.length += size_of::<u64>();
    }

    /// Returns the stored form.
    pub fn to_json(self) -> Json {
        Json::Array(vec![self.hash.into(), (self.length as u64).into()])
    }

    /// Reads the stored form.
    pub fn from_json(document: &Json) -> Option<TextDigest> {
        let [hash, length] = document.as_array()? else { return None };
        Some(TextDigest { hash: hash.as_u64()?, length: usize::try_from(length.as_u64()?).ok()? })
    }

    /// The hash.
    pub fn hash(self) -> u64 {
        self.hash
    }

    /// Whether nothing was added.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }
}

/// Hash of arguments, equal for all JSON texts of the same value, because clients reformat arguments.
pub fn arguments_digest(arguments: &Arguments) -> u64 {
    match arguments {
        Arguments::Json(json) => value_digest(&json.to_json()),
        Arguments::Malformed(text) | Arguments::Free(text) => {
            fnv_extend(FNV_START, text.as_bytes())
        }
    }
}

fn value_digest(json: &Json) -> u64 {
    let tagged = |tag: u8, bytes: &[u8]| fnv_extend(fnv_extend(FNV_START, &[tag]), bytes);
    match json {
        Json::Null => tagged(0, &[]),
        Json::Bool(own) => tagged(1, &[u8::from(*own)]),
        // Many clients parse numbers as doubles, and return the rounded value.
        Json::Number(own) => {
            let double = own.as_str().parse::<f64>().unwrap_or_default() + 0.0;
            tagged(2, &double.to_bits().to_le_bytes())
        }
        Json::String(own) => tagged(3, own.as_bytes()),
        Json::Array(items) => items
            .iter()
            .fold(tagged(4, &[]), |hash, item| fnv_extend(hash, &value_digest(item).to_le_bytes())),
        Json::Object(object) => {
            // A sum, because the order of keys is irrelevant.
            let members = object.iter().map(|(key, own)| {
                fnv_extend(tagged(6, key.as_bytes()), &value_digest(own).to_le_bytes())
            });
            tagged(5, &members.fold(0, u64::wrapping_add).to_le_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::arguments_digest;
    use crate::model::call::Arguments;

    fn of(text: &str) -> u64 {
        arguments_digest(&Arguments::from_text(text))
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
}
