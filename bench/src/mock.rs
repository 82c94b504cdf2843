//! The mock upstream: speaks openai-chat and anthropic, whole and streaming, from bytes that are made
//! once. A request's model says how it behaves (see [`behave`]), and the nonce in the request comes
//! back in the answer, so that no two answers can be mistaken for each other.

mod answer;
mod behave;
mod body;

use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response};
use memchr::memmem;

use self::answer::{Answers, Speech};
use self::behave::Behaviour;
use self::body::Frames;
use crate::failure::Outcome;
use crate::question::Manner;
use crate::serve::{self, Hangup, Reset};

pub(crate) use self::answer::{ARGUMENTS, Nonce, TEXT};

/// The bytes of a plain answer in openai-chat, with the nonce of nobody.
pub(crate) fn plain(manner: Manner) -> Arc<[u8]> {
    let answers = Answers::new();
    match manner {
        Manner::Whole => answers.whole(Speech::OpenAi, None)[..].into(),
        Manner::Stream => answers.events(Speech::OpenAi).concat().into(),
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
    let speech = match request.uri().path() {
        path if path.ends_with("/chat/completions") => Speech::OpenAi,
        path if path.ends_with("/messages") => Speech::Anthropic,
        _ => return Ok(reply(404, "text/plain", Frames::whole("no such path".into()))),
    };
    let body = request.into_body().collect().await.map_err(|_| Hangup)?.to_bytes();
    let behaviour = model(&body).map_or(Behaviour::Plain, Behaviour::of);
    let streams = memmem::find(&body, b"\"stream\":true").is_some();
    let frames = match (streams, Nonce::find(&body)) {
        (true, nonce) => Frames::each(answers.events(speech), answers.opening(speech, nonce)),
        (false, nonce) => Frames::whole(answers.whole(speech, nonce)),
    };
    let kind = if streams { "text/event-stream" } else { "application/json" };
    match behaviour {
        Behaviour::Plain => Ok(reply(200, kind, frames)),
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

fn reply(status: u16, kind: &'static str, frames: Frames) -> Response<Frames> {
    let mut reply = Response::new(frames);
    *reply.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// The first model that the body names. Bodies are compact JSON, so no parser is needed, whose time
/// would count as the upstream's.
fn model(body: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"\"model\":\"";
    let rest = body.get(memmem::find(body, KEY)? + KEY.len()..)?;
    rest.get(..memchr::memchr(b'"', rest)?)
}
