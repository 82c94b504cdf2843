//! What is worth noting of an answer that passes: which model, what it called, why it stopped, what
//! it cost. None of its words.

use super::{ChatCodec, WireReply};
use crate::event::{Event, Head};
use crate::json::Json;
use crate::model::fault::FaultClass;
use crate::model::response::{Response, StopReason};
use crate::model::usage::Usage;

/// What was seen of one answer.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// The vendor's id of the answer
    pub id: Option<String>,
    /// The model that answered
    pub model: Option<String>,
    /// The tools that it called, in order
    pub calls: Vec<String>,
    /// Why it stopped, once it has
    pub stop: Option<StopReason>,
    /// What it cost, as far as it was told
    pub usage: Option<Usage>,
    /// How the answer broke off, if it did
    pub fault: Option<FaultClass>,
    ended: bool,
}

impl Watch {
    /// What there is to see in a whole answer, by the bytes that it came in; `None` if they are no
    /// answer.
    pub fn of_bytes(codec: &dyn ChatCodec, body: &[u8]) -> Option<Watch> {
        codec.glance(body).or_else(|| {
            let wire = WireReply::ok(Json::parse_bytes(body).ok()?);
            Some(Watch::of(&codec.decode_response(wire).ok()?))
        })
    }

    /// What is noted of bytes that are no answer.
    pub fn unreadable() -> Watch {
        Watch { fault: Some(FaultClass::Internal), ..Watch::default() }
    }

    /// What was seen at a glance: the word that an answer stopped with, and what was said, decide
    /// why it stopped.
    pub(crate) fn glanced(self, said: StopReason, refused: bool) -> Watch {
        let stop = said.settled(!self.calls.is_empty(), refused);
        Watch { stop: Some(stop), ended: true, ..self }
    }

    /// What there is to see in a whole answer.
    pub fn of(response: &Response) -> Watch {
        Watch {
            id: response.id.clone(),
            model: response.model.clone(),
            calls: response.calls().map(|call| call.name.clone()).collect(),
            stop: Some(response.stop.reason),
            usage: response.usage.clone(),
            fault: None,
            ended: true,
        }
    }

    /// Takes an event of a stream.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Start(start) => {
                self.id.clone_from(&start.id);
                self.model.clone_from(&start.model);
            }
            Event::PartStart { head, .. } => self.head(head),
            Event::Stop(stop) => self.stop = Some(stop.reason),
            Event::Usage(usage) => match &mut self.usage {
                Some(own) => own.update(usage.clone()),
                None => self.usage = Some(usage.clone()),
            },
            Event::Fault(fault) => self.fault = Some(fault.class),
            Event::End => self.ended = true,
            Event::PartDelta { .. } | Event::PartEnd { .. } | Event::Ping => {}
        }
    }

    /// Whether the answer is complete or broken off.
    pub fn is_over(&self) -> bool {
        self.ended || self.fault.is_some()
    }

    /// Whether the answer is complete.
    pub fn is_complete(&self) -> bool {
        self.ended
    }

    fn head(&mut self, head: &Head) {
        match head {
            Head::Call { name, .. } => self.calls.push(name.clone()),
            Head::Whole(part) => self.calls.extend(part.as_call().map(|call| call.name.clone())),
            Head::Text | Head::Refusal | Head::Reasoning => {}
        }
    }
}
