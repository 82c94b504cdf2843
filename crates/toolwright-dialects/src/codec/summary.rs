//! Summaries of responses for telemetry: model, calls, stop reason and usage, without any content.

use toolwright_core::event::Head;
use toolwright_core::{Event, FaultClass, Response, StopReason, Usage, wire_json};

use super::{ChatCodec, WireReply};

/// Summary of one response, complete or as far as it has arrived.
#[derive(Debug, Clone, Default)]
pub struct ResponseSummary {
    /// The vendor's id of the response
    pub id: Option<String>,
    /// The model that answered
    pub model: Option<String>,
    /// The names of the called tools, in order
    pub calls: Vec<String>,
    /// The stop reason, once it is known
    pub stop: Option<StopReason>,
    /// Usage, as far as it was reported
    pub usage: Option<Usage>,
    /// The fault that ended the response, if one did
    pub fault: Option<FaultClass>,
    ended: bool,
}

impl ResponseSummary {
    /// Summarizes the body of a response; `None` if it is not one.
    pub fn from_bytes(codec: &dyn ChatCodec, body: &[u8]) -> Option<ResponseSummary> {
        codec.summarize(body).or_else(|| {
            let wire = WireReply::ok(wire_json::parse_bytes(body).ok()?);
            Some(ResponseSummary::from_response(&codec.decode_response(wire).ok()?))
        })
    }

    /// The summary of a body that is not a response.
    pub fn unreadable() -> ResponseSummary {
        ResponseSummary { fault: Some(FaultClass::Internal), ..ResponseSummary::default() }
    }

    /// Completes a summary with the stop reason that the vendor sent, corrected by the content.
    pub(crate) fn with_stop(self, sent: StopReason, refused: bool) -> ResponseSummary {
        let stop = sent.reconciled(!self.calls.is_empty(), refused);
        ResponseSummary { stop: Some(stop), ended: true, ..self }
    }

    /// Summarizes a decoded response.
    pub fn from_response(response: &Response) -> ResponseSummary {
        ResponseSummary {
            id: response.id.clone(),
            model: response.model.clone(),
            calls: response.calls().map(|call| call.name.clone()).collect(),
            stop: Some(response.stop.reason),
            usage: response.usage.clone(),
            fault: None,
            ended: true,
        }
    }

    /// Adds an event of a stream.
    pub fn update(&mut self, event: &Event) {
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

    /// Whether the response has ended, with or without a fault.
    pub fn is_over(&self) -> bool {
        self.ended || self.fault.is_some()
    }

    /// Whether the response is complete.
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
