//! Checks replies. Passthrough replies are compared with the mock's own bytes; the first translated
//! reply is parsed, and every later one must have the same shape, including the nonce.

use memchr::memmem;
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::mock::{ARGUMENTS, TEXT};
use crate::nonce::Nonce;
use crate::question::ReplyKind;

/// The shape of a valid reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Likeness {
    length: usize,
    events: usize,
}

impl Likeness {
    fn of(body: &[u8]) -> Likeness {
        Likeness { length: body.len(), events: memmem::find_iter(body, b"\n\n").count() }
    }
}

/// How replies are checked.
#[derive(Debug, Clone)]
pub(crate) enum Expect {
    /// These bytes, except for the nonce
    Same(std::sync::Arc<[u8]>),
    /// As many bytes and events as the parsed reply
    Like(Likeness, ReplyKind),
}

impl Expect {
    /// Parses a reply and takes it as the pattern for others.
    pub(crate) fn learn(body: &[u8], nonce: Nonce, reply: ReplyKind) -> Outcome<Expect> {
        let read = match reply {
            ReplyKind::Whole => read_whole(body),
            ReplyKind::Stream => read_stream(body),
        };
        let said = read.ok_or_else(|| wrong("cannot be read", body))?;
        if said.text != TEXT.replace("0000000000000000", &String::from_utf8_lossy(nonce.digits())) {
            return Err(wrong("says something else", body));
        }
        let same = |one: &str, other: &str| {
            let read = |text| serde_json::from_str::<Value>(text).ok();
            read(one).is_some() && read(one) == read(other)
        };
        if said.arguments.len() != 2
            || !said.arguments.iter().zip(ARGUMENTS).all(|(got, sent)| same(got, sent))
        {
            return Err(wrong("calls with other arguments", body));
        }
        Ok(Expect::Like(Likeness::of(body), reply))
    }

    /// Takes a whole reply as the pattern for others.
    pub(crate) fn like(status: u16, body: &[u8], nonce: Nonce) -> Outcome<Expect> {
        let expect = Expect::Like(Likeness::of(body), ReplyKind::Whole);
        expect.check(status, body, nonce).map(|()| expect)
    }

    /// Checks a reply.
    pub(crate) fn check(&self, status: u16, body: &[u8], nonce: Nonce) -> Outcome {
        if status != 200 {
            return Err(wrong(&format!("has status {status}"), body));
        }
        match self {
            Expect::Same(bytes) => {
                if Nonce::find(body) != Some(nonce) {
                    return Err(wrong("is the answer to another question", body));
                }
                let place = Nonce::place(bytes).unwrap_or_default();
                let same = bytes.len() == body.len()
                    && bytes[..place] == body[..place]
                    && bytes[place + 16..] == body[place + 16..];
                if same { Ok(()) } else { Err(wrong("was changed on the way", body)) }
            }
            Expect::Like(likeness, reply) => {
                if memmem::find(body, nonce.digits()).is_none() {
                    return Err(wrong("is the answer to another question", body));
                }
                let ended = *reply == ReplyKind::Whole || body.ends_with(b"data: [DONE]\n\n");
                if Likeness::of(body) == *likeness && ended {
                    Ok(())
                } else {
                    Err(wrong(&format!("is not like the first one ({likeness:?})"), body))
                }
            }
        }
    }
}

fn wrong(what: &str, body: &[u8]) -> Failure {
    let start = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
    Failure(format!("wrong answer: it {what} ({} bytes): {start}", body.len()))
}

/// The text and calls of a reply.
#[derive(Default)]
struct Said {
    text: String,
    arguments: Vec<String>,
}

fn read_whole(body: &[u8]) -> Option<Said> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let message = &value["choices"][0]["message"];
    let calls = message["tool_calls"].as_array()?;
    let arguments =
        calls.iter().map(|call| call["function"]["arguments"].as_str().map(str::to_owned));
    Some(Said {
        text: message["content"].as_str()?.to_owned(),
        arguments: arguments.collect::<Option<_>>()?,
    })
}

fn read_stream(body: &[u8]) -> Option<Said> {
    let text = std::str::from_utf8(body).ok()?;
    let events = text.strip_suffix("data: [DONE]\n\n")?;
    let mut said = Said::default();
    for event in events.split_terminator("\n\n") {
        let value: Value = serde_json::from_str(event.strip_prefix("data: ")?).ok()?;
        let delta = &value["choices"][0]["delta"];
        said.text += delta["content"].as_str().unwrap_or_default();
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64()?).ok()?;
            said.arguments.resize(said.arguments.len().max(index + 1), String::new());
            said.arguments[index] += call["function"]["arguments"].as_str().unwrap_or_default();
        }
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_to_another_request_is_wrong() {
        let body = b"{\"content\":\"nonce-00000000000000aa\"}";
        let expect = Expect::Same(std::sync::Arc::from(&body[..]));
        assert!(expect.check(200, body, Nonce::new(0xaa)).is_ok());
        assert!(expect.check(200, body, Nonce::new(0xab)).is_err());
        assert!(expect.check(500, body, Nonce::new(0xaa)).is_err());
        assert!(expect.check(200, &body[..30], Nonce::new(0xaa)).is_err());
    }
}
