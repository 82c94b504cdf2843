//! A model that returns scripted responses and records its requests, for tests and examples.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use toolwright_core::event::{Delta, split};
use toolwright_core::{
    Arguments, Call, Event, Fault, FaultClass, Part, Request, Response, StopReason,
};
use toolwright_json::Text;

use super::{EventStream, Model, Upstream, event_stream};

/// A script of responses. Clones share the script and the recorded requests.
#[must_use]
#[derive(Clone, Default)]
pub struct ScriptedModel(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    lines: Vec<Option<Line>>,
    requests: Vec<Request>,
    chunk: usize,
}

/// The reaction to one request.
enum Line {
    Answer(Box<dyn FnOnce(&Request) -> Response + Send>),
    Fault(Box<Fault>),
}

impl ScriptedModel {
    /// Creates an empty script.
    pub fn new() -> ScriptedModel {
        ScriptedModel::default()
    }

    /// Adds a response that is computed from the request.
    pub fn then_with(
        self,
        answer: impl FnOnce(&Request) -> Response + Send + 'static,
    ) -> ScriptedModel {
        self.0.lock().lines.push(Some(Line::Answer(Box::new(answer))));
        self
    }

    /// Adds a response.
    pub fn then(self, response: Response) -> ScriptedModel {
        self.then_with(|_| response)
    }

    /// Adds a response with text.
    pub fn then_text(self, text: impl Into<Text>) -> ScriptedModel {
        self.then(Response::new(vec![Part::text(text)]))
    }

    /// Adds a response with one call.
    pub fn then_call(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> ScriptedModel {
        let call = Call::new(id, name, Arguments::from_text(arguments));
        self.then(Response::new(vec![Part::call(call)]))
    }

    /// Adds a response with several calls.
    pub fn then_calls(self, calls: impl IntoIterator<Item = Call>) -> ScriptedModel {
        self.then(Response::new(calls.into_iter().map(Part::call).collect()))
    }

    /// Adds a truncated response with its stop reason.
    pub fn then_cut(self, parts: Vec<Part>, reason: StopReason) -> ScriptedModel {
        let mut response = Response::new(parts);
        response.stop.reason = reason;
        self.then(response)
    }

    /// Adds a fault.
    pub fn then_fault(self, fault: Fault) -> ScriptedModel {
        self.0.lock().lines.push(Some(Line::Fault(Box::new(fault))));
        self
    }

    /// Splits streamed deltas into chunks of this many characters.
    pub fn with_chunks(self, characters: usize) -> ScriptedModel {
        self.0.lock().chunk = characters;
        self
    }

    /// Returns the model, with the name `scripted`.
    pub fn model(&self) -> Model {
        Model::with_upstream(self.clone(), "scripted")
    }

    /// Returns the requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.0.lock().requests.clone()
    }

    /// Returns the number of responses that were not requested yet.
    pub fn left(&self) -> usize {
        let script = self.0.lock();
        script.lines.len().saturating_sub(script.requests.len())
    }

    fn answer(&self, request: Request) -> Result<Response, Box<Fault>> {
        let mut script = self.0.lock();
        let at = script.requests.len();
        let line = script.lines.get_mut(at).and_then(Option::take);
        script.requests.push(request.clone());
        drop(script);
        let mut response = match line {
            Some(Line::Answer(answer)) => answer(&request),
            Some(Line::Fault(fault)) => return Err(fault),
            None => {
                let text = format!("the script ends after {at} answers");
                return Err(Box::new(Fault::new(FaultClass::Invalid, text)));
            }
        };
        response.model = response.model.or(request.model);
        Ok(response)
    }
}

impl Upstream for ScriptedModel {
    fn respond(&self, request: Request) -> impl Future<Output = Result<Response, Fault>> + Send {
        std::future::ready(self.answer(request).map_err(|fault| *fault))
    }

    fn stream(&self, request: Request) -> impl Future<Output = Result<EventStream, Fault>> + Send {
        let answer = self.answer(request);
        let chunk = self.0.lock().chunk;
        std::future::ready(answer.map_err(|fault| *fault).map(|response| {
            let events = split::split(response);
            match chunk {
                0 => event_stream(events),
                size => {
                    event_stream(events.into_iter().flat_map(|event| cut(event, size)).collect())
                }
            }
        }))
    }
}

/// Splits a delta into smaller ones.
fn cut(event: Event, size: usize) -> Vec<Event> {
    let Event::PartDelta { index, delta } = event else { return vec![event] };
    let (text, make): (_, Box<dyn Fn(String) -> Delta>) = match delta {
        Delta::Text(text) => (text, Box::new(Delta::Text)),
        Delta::Arguments(text) => (text, Box::new(Delta::Arguments)),
        Delta::Reasoning { section, kind, text } => {
            (text, Box::new(move |text| Delta::Reasoning { section, kind, text }))
        }
    };
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(size).map(|piece| piece.iter().collect());
    pieces.map(|piece| Event::PartDelta { index, delta: make(piece) }).collect()
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScriptedModel").field("left", &self.left()).finish_non_exhaustive()
    }
}
