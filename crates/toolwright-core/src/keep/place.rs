//! Where in a conversation an answer stands: by that its calls are found again, where a client sends
//! calls back without ids.

use super::key::{Words, sum};
use crate::call::Call;
use crate::message::{Message, Role};
use crate::part::{Body, Part};
use crate::request::Request;

/// All that was said before an answer, as a hash: the words of the user, outcomes, earlier answers.
/// Instructions are left out, since some clients write the time into them, and so is thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place(Words);

impl Place {
    /// Where the answer to a request will stand.
    pub fn after(request: &Request) -> Place {
        let mut place = Place::default();
        request.messages.iter().for_each(|message| place.pass(message));
        place
    }

    pub(super) fn at(words: Words) -> Place {
        Place(words)
    }

    pub(super) fn words(self) -> Words {
        self.0
    }

    /// Goes on to the end of a message.
    pub(super) fn pass(&mut self, message: &Message) {
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
                self.0.push_number(sum(&call.arguments));
            }
            Body::Outcome(outcome) => outcome.content.iter().for_each(|own| self.part(own)),
            _ => {}
        }
    }

    /// What stands for the id of a call without one: its number in the turn that is here. No dialect
    /// has such an id.
    pub(super) fn id(self, number: usize) -> String {
        format!("\u{0}{:016x}-{number}", self.0.mark())
    }

    /// A call of a turn that is here, with such an id if it has none of its own.
    pub(super) fn named(self, call: &Call, number: usize) -> Call {
        Call { id: Some(self.id(number)), ..call.clone() }
    }
}
