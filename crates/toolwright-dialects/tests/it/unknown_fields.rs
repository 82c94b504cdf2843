//! An unknown field on any object of a document drops no part that the decoder knows.

use toolwright_core::event::join::join;
use toolwright_core::json::pointer::escape;
use toolwright_core::{Body, Json, Part, Request, Response, ToolKind};
use toolwright_dialects::dialect::{ChatCodec, Dialect, WireReply, WireRequest};
use toolwright_dialects::frame::Frame;

use crate::fixtures;

/// Below these keys are values of the client or the model, where a field would be an additional
/// argument or result.
const CONTENT: [&str; 15] = [
    "parameters_json_schema",
    "input",
    "arguments",
    "args",
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "responseJsonSchema",
    "responseSchema",
    "schema",
    "json",
    "response",
    "data",
    "partialArgs",
];

/// Pointers to all objects that belong to the format.
fn objects(dialect: Dialect, value: &Json, pointer: &str, out: &mut Vec<String>) {
    match value {
        Json::Object(object) => {
            out.push(pointer.to_owned());
            for (key, value) in object.iter() {
                // In the Responses API `input` is the list of items, and `response` the reply.
                let is_items = dialect == Dialect::OpenaiResponses
                    && (value.as_array().is_some() || key == "response");
                if !CONTENT.contains(&key) || is_items {
                    objects(dialect, value, &format!("{pointer}/{}", escape(key)), out);
                }
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(dialect, item, &format!("{pointer}/{index}"), out);
            }
        }
        _ => {}
    }
}

/// Returns the document with an unknown field on the object at a pointer.
fn with_field(document: &Json, pointer: &str) -> Json {
    let mut changed = document.clone();
    let field = Json::parse(r#"{"a":[1]}"#).unwrap();
    let place = changed.pointer_mut(pointer).unwrap();
    place.as_object_mut().unwrap().insert("x_later", field);
    changed
}

/// The content of a part, if it has a canonical form.
fn said(part: &Part) -> Option<String> {
    Some(match &part.body {
        Body::Opaque(_) => return None,
        Body::Text(text) if text.is_empty() => return None,
        Body::Outcome(outcome) => {
            let content: Vec<String> = outcome.content.iter().filter_map(said).collect();
            format!("outcome {:?} {:?} {content:?}", outcome.call_id, outcome.error)
        }
        body => format!("{body:?}"),
    })
}

fn said_by(parts: &[Part]) -> Vec<String> {
    parts.iter().filter_map(said).collect()
}

fn of_request(request: &Request) -> Vec<String> {
    let messages = request.instructions.iter().chain(&request.messages);
    let mut all: Vec<String> = messages
        .flat_map(|message| {
            let role = format!("{:?}", message.role);
            std::iter::once(role).chain(said_by(&message.parts))
        })
        .collect();
    for tool in request.tools.iter().filter(|tool| !matches!(tool.kind, ToolKind::Hosted(_))) {
        all.push(format!("{} {:?} {:?}", tool.name, tool.description, tool.kind));
    }
    all.push(format!("{:?} {:?}", request.parallel, request.sampling));
    all
}

fn of_response(response: &Response) -> Vec<String> {
    let mut all = said_by(&response.parts);
    let usage = response.usage.as_ref();
    all.push(format!("{:?} {:?}", response.stop.reason, usage.map(|own| (own.input, own.output))));
    all
}

/// Adds an unknown field to each object in turn, and collects those where the decoded content
/// differs.
fn check(
    codec: &dyn ChatCodec,
    name: &str,
    document: &Json,
    broken: &mut Vec<String>,
    read: impl Fn(Json) -> Result<Vec<String>, String>,
) {
    let dialect = codec.dialect();
    let plain = read(document.clone()).unwrap_or_else(|error| panic!("{dialect} {name}: {error}"));
    let mut pointers = Vec::new();
    objects(dialect, document, "", &mut pointers);
    let dropped = pointers
        .into_iter()
        .filter(|pointer| read(with_field(document, pointer)).map_or(true, |more| more != plain));
    broken.extend(dropped.map(|pointer| format!("{dialect} {name} {pointer}")));
}

#[test]
fn an_unknown_field_drops_nothing_of_a_request() {
    let mut broken = Vec::new();
    for codec in fixtures::codecs() {
        for (name, wire) in fixtures::requests(codec.dialect()) {
            check(codec, &name, &wire.body, &mut broken, |body| {
                let wire = WireRequest { body, ..wire.clone() };
                let read = codec.decode_request(wire);
                read.map(|request| of_request(&request)).map_err(|error| error.to_string())
            });
        }
    }
    assert_eq!(broken, [""; 0]);
}

#[test]
fn an_unknown_field_drops_nothing_of_a_reply() {
    let mut broken = Vec::new();
    for codec in fixtures::codecs() {
        for (name, wire) in fixtures::replies(codec.dialect()) {
            check(codec, &name, &wire.body, &mut broken, |body| {
                let read = codec.decode_response(WireReply { body, ..wire.clone() });
                read.map(|response| of_response(&response)).map_err(|error| error.to_string())
            });
        }
    }
    assert_eq!(broken, [""; 0]);
}

#[test]
fn an_unknown_field_drops_nothing_of_a_stream() {
    let mut broken = Vec::new();
    for codec in fixtures::codecs() {
        let bytes = fixtures::matrix_stream(codec.dialect());
        let frames = fixtures::frames(codec.framing(), &bytes);
        for (at, frame) in frames.iter().enumerate() {
            let Ok(document) = Json::parse(&frame.data) else { continue };
            check(codec, &format!("frame {at}"), &document, &mut broken, |data| {
                let mut frames = frames.clone();
                frames[at] = Frame { data: data.compact(), ..frame.clone() };
                let mut decoder = codec.stream_decoder();
                let mut events = Vec::new();
                for frame in &frames {
                    decoder.decode(frame, &mut events).map_err(|error| error.to_string())?;
                }
                decoder.finish(&mut events);
                let joined = join(events).map_err(|fault| fault.to_string())?;
                Ok(of_response(&joined))
            });
        }
    }
    assert_eq!(broken, [""; 0]);
}
