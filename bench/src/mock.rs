//! The mock upstream: speaks openai-chat and anthropic, whole and streaming, from prepared bytes.
//! The model of a request selects the behaviour (see [`behave`]), and the reply contains the nonce
//! of the request, so that no two replies can be confused. The model `mock-tools` calls tools, and
//! speaks the dialects of all vendors (see [`tool_model`]).

mod answer;
mod behave;
mod body;
mod tool_model;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Request, Response};
use memchr::memmem;

use self::answer::{Answers, Speech};
use self::behave::Behaviour;
use self::body::Frames;
use self::wire::Wire;
use crate::failure::Outcome;
use crate::nonce::Nonce;
use crate::question::ReplyKind;
use crate::serve::{self, Hangup, Reset, reply};

pub(crate) use self::answer::{ARGUMENTS, TEXT};
pub(crate) use self::tool_model::{COMMIT, EFFECTS};

/// The bytes of a plain reply in openai-chat, with a placeholder nonce.
pub(crate) fn plain(reply: ReplyKind) -> Arc<[u8]> {
    let answers = Answers::new();
    match reply {
        ReplyKind::Whole => answers.whole(Speech::OpenAi, None)[..].into(),
        ReplyKind::Stream => answers.events(Speech::OpenAi).concat().into(),
    }
}

/// Serves until the process ends.
pub(crate) fn run(address: &str) -> Outcome {
    let answers = Arc::new(Answers::new());
    serve::forever(address, move |request, reset| answer(request, reset, answers.clone()))
}

async fn answer(
    request: Request<Incoming>,
    reset: Reset,
    answers: Arc<Answers>,
) -> Result<Response<Frames>, Hangup> {
    let Some(wire) = Wire::at(request.uri().path()) else {
        return Ok(reply(404, "text/plain", Frames::whole("no such path".into())));
    };
    let is_stream_path = request.uri().path().to_ascii_lowercase().contains("stream");
    let body = request.into_body().collect().await.map_err(|_| Hangup)?.to_bytes();
    let behaviour = model(&body).map_or(Behaviour::Plain, Behaviour::of);
    let streams = is_stream_path || memmem::find(&body, b"\"stream\":true").is_some();
    let speech = match wire {
        Wire::Chat if behaviour != Behaviour::Tools => Speech::OpenAi,
        Wire::Anthropic if behaviour != Behaviour::Tools => Speech::Anthropic,
        _ => return Ok(with_tools(wire, &body, streams).await),
    };
    let frames = match (streams, Nonce::find(&body)) {
        (true, nonce) => Frames::each(answers.events(speech), answers.opening(speech, nonce)),
        (false, nonce) => Frames::whole(answers.whole(speech, nonce)),
    };
    let kind = if streams { "text/event-stream" } else { "application/json" };
    match behaviour {
        Behaviour::Plain | Behaviour::Tools => Ok(reply(200, kind, frames)),
        Behaviour::Gap(gap) => Ok(reply(200, kind, frames.with_gap(gap))),
        Behaviour::Cut => Ok(reply(200, kind, frames.cut())),
        Behaviour::Hang => Ok(reply(200, kind, frames.hang())),
        Behaviour::Stall => std::future::pending().await,
        Behaviour::Reset => {
            reset.arm();
            Err(Hangup)
        }
        Behaviour::Html => Ok(reply(502, "text/html", Frames::whole(answer::html()))),
        Behaviour::Fails => {
            Ok(reply(500, "application/json", Frames::whole(answer::fails(speech))))
        }
        Behaviour::Busy => {
            let mut busy = reply(429, "application/json", Frames::whole(answer::busy(speech)));
            busy.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
            Ok(busy)
        }
    }
}

/// The reply of the tool model, with the latency of a fast model.
async fn with_tools(wire: Wire, body: &[u8], streams: bool) -> Response<Frames> {
    const PAUSE: Duration = Duration::from_millis(10);
    tokio::time::sleep(PAUSE).await;
    let encoded = tool_model::answer(wire, body, streams);
    let kind = encoded.kind;
    if !streams {
        return reply(200, kind, Frames::whole(encoded.events.concat().into()));
    }
    let events: Arc<[Bytes]> = encoded.events.into_iter().map(Bytes::from).collect();
    let first = events[0].clone();
    reply(200, kind, Frames::each(events, (0, first)).with_gap(PAUSE))
}

/// The first model that the body names. Bodies are compact JSON, so no parser is needed, whose time
/// would count as the upstream's.
fn model(body: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"\"model\":\"";
    let rest = body.get(memmem::find(body, KEY)? + KEY.len()..)?;
    rest.get(..memchr::memchr(b'"', rest)?)
}
