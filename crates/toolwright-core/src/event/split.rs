//! Splits a [`Response`] into events, for clients that asked for a stream.

use crate::event::{Delta, Event, Head, Start, Tail};
use crate::model::call::Arguments;
use crate::model::part::{Body, Part};
use crate::model::response::Response;

/// Returns events that [`join`](crate::event::join::join) folds to the same response.
pub fn split(response: Response) -> Vec<Event> {
    let Response { id, model, parts, stop, usage, extra } = response;
    let mut events = vec![Event::Start(Start { id, model, extra })];
    for (index, part) in parts.into_iter().enumerate() {
        split_part(index, part, &mut events);
    }
    events.push(Event::Stop(stop));
    events.extend(usage.map(Event::Usage));
    events.push(Event::End);
    events
}

/// Appends the events of one part.
pub fn split_part(index: usize, part: Part, events: &mut Vec<Event>) {
    let (head, deltas) = match part.body {
        Body::Text(text) => (Head::Text, vec![Delta::Text(text.into_string())]),
        Body::Refusal(text) => (Head::Refusal, vec![Delta::Text(text.into_string())]),
        Body::Reasoning(reasoning) if !reasoning.redacted => {
            let sections = reasoning.sections.into_iter().enumerate();
            let deltas = sections.map(|(section, own)| Delta::Reasoning {
                section,
                kind: own.kind,
                text: own.text,
            });
            (Head::Reasoning, deltas.collect())
        }
        Body::Call(call) => {
            let free = matches!(call.arguments, Arguments::Free(_));
            let text = call.arguments.as_str().to_owned();
            (Head::Call { id: call.id, name: call.name, free }, vec![Delta::Arguments(text)])
        }
        body => {
            let whole = Box::new(Part { body, ..part });
            events.push(Event::PartStart {
                index,
                head: Head::Whole(whole),
                extra: crate::model::extra::Extra::NONE,
            });
            events.push(Event::PartEnd { index, tail: Tail::default() });
            return;
        }
    };
    events.push(Event::PartStart { index, head, extra: part.extra });
    events.extend(deltas.into_iter().map(|delta| Event::PartDelta { index, delta }));
    let tail = Tail { signature: part.signature, cache: part.cache, ..Tail::default() };
    events.push(Event::PartEnd { index, tail });
}
