//! Streams that break, are inconsistent or never end.

use super::{ask, assert_ends_with_fault, assert_well, fault, gateway};
use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Gateway, Reply, Upstream, table};

const MODEL: &str = "anthropic/claude-opus-5";

/// The first half of a recorded stream, up to the end of a frame.
fn half() -> Vec<u8> {
    let mut whole = String::from_utf8(vendor("anthropic").calls_stream()).unwrap();
    let end = whole[whole.len() / 2..].find("\n\n").unwrap();
    whole.truncate(whole.len() / 2 + end + 2);
    whole.into_bytes()
}

/// A reply without a length, which ends with the connection.
fn until_closed(body: &[u8]) -> Reply {
    Reply::Raw([&b"HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\n\r\n"[..], body].concat())
}

/// A chunked reply without the last chunk.
fn unfinished(body: &[u8]) -> Reply {
    let head = "HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
    let size = format!("\r\n\r\n{:x}\r\n", body.len());
    Reply::Raw([head.as_bytes(), size.as_bytes(), body, b"\r\n"].concat())
}

fn all(reply: impl Fn() -> Reply, says: &str) {
    let upstream = Upstream::start(VENDORS.map(|_| reply()));
    let gateway = gateway(&upstream, "");
    for client in &VENDORS {
        assert_ends_with_fault(client, &ask(&gateway, client, true, MODEL), says);
    }
    assert_well(&gateway);
}

#[test]
fn a_stream_that_breaks_between_frames_ends_with_a_fault() {
    all(|| unfinished(&half()), "closed the connection in the middle");
    all(|| until_closed(&half()), "stream");
    all(|| until_closed(b": hello\n\n"), "stream");
    let fault = b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\
                  \"message\":\"gone\"}}\n\n";
    all(|| until_closed(&[&half(), &fault[..]].concat()), "gone");
}

#[test]
fn a_stream_that_breaks_within_a_frame_is_incomplete() {
    let body = half();
    for reply in [unfinished, until_closed] {
        let upstream = Upstream::start(VENDORS.map(|_| reply(&body[..body.len() - 7])));
        let gateway = gateway(&upstream, "");
        for client in &VENDORS {
            let answer = ask(&gateway, client, true, MODEL);
            if client.id == "anthropic" {
                // Its bytes pass unchanged, and no event can be inserted in the middle of a frame.
                assert!(!answer.complete && answer.body == body[..body.len() - 7]);
            } else {
                assert_ends_with_fault(client, &answer, "");
            }
        }
    }
}

#[test]
fn a_stream_that_stalls_ends_with_a_fault() {
    let upstream = Upstream::start([]);
    let gateway = gateway(&upstream, "idle = \"200ms\"\n");
    for client in &VENDORS {
        let (feed, reply) = Reply::fed("text/event-stream");
        feed.send(half()).unwrap();
        upstream.then(reply);
        assert_ends_with_fault(client, &ask(&gateway, client, true, MODEL), "(idle)");
    }
    assert_well(&gateway);
}

#[test]
fn split_characters_are_joined() {
    let upstreams = VENDORS.map(|own| {
        let whole = own.calls_stream();
        Upstream::start([Reply::stream(own.kind, &whole, 1), Reply::stream(own.kind, &whole, 97)])
    });
    let pairs = VENDORS.iter().zip(&upstreams);
    let tables: String = pairs.map(|(own, up)| table(own.id, own.id, up)).collect();
    let gateway = Gateway::start(&tables);
    let client = vendor("openai-chat");
    for own in &VENDORS {
        let [bytes, pieces] = [0, 1].map(|_| {
            let answer = ask(&gateway, &client, true, &format!("{}/{}", own.id, own.model)).ok();
            answer.events().len()
        });
        assert!(bytes > 2 && bytes == pieces, "{}: {bytes} and {pieces}", own.id);
    }
}

#[test]
fn damaged_frames_end_with_a_fault() {
    let mut wrong = vendor("bedrock").calls_stream();
    let last = wrong.len() - 1;
    wrong[last] ^= 1;
    let others = VENDORS.iter().filter(|own| own.id != "bedrock");
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&table("bedrock", "bedrock", &upstream));
    for client in others {
        upstream.then(Reply::stream("application/vnd.amazon.eventstream", &wrong, 1000));
        let answer = ask(&gateway, client, true, "bedrock/x");
        assert_ends_with_fault(client, &answer, "checksum");
    }
    let whole = |data: &[u8]| [&half(), &b"data: "[..], data, b"\n\n"].concat();
    for (data, says) in [(&b"{oops"[..], "damaged"), (b"\"\xFF\"", "UTF-8")] {
        let upstream = Upstream::start([]);
        let gateway = super::gateway(&upstream, "");
        for client in VENDORS.iter().filter(|own| own.id != "anthropic") {
            upstream.then(Reply::stream("text/event-stream", &whole(data), 1000));
            assert_ends_with_fault(client, &ask(&gateway, client, true, MODEL), says);
        }
    }
}

#[test]
fn the_reply_has_the_requested_form() {
    let upstreams = VENDORS.map(|own| {
        let stream = || Reply::stream(own.kind, &own.calls_stream(), 1000);
        let whole = || Reply::json(200, own.calls());
        Upstream::start([whole(), stream(), whole(), stream()])
    });
    let pairs = VENDORS.iter().zip(&upstreams);
    let tables: String = pairs.map(|(own, up)| table(own.id, own.id, up)).collect();
    let gateway = Gateway::start(&tables);
    for (at, own) in VENDORS.iter().enumerate() {
        for client in [own, &VENDORS[(at + 1) % VENDORS.len()]] {
            let model = format!("{}/{}", own.id, own.model);
            // A whole reply becomes a stream.
            let answer = ask(&gateway, client, true, &model).ok();
            assert_eq!(answer.header("content-type"), Some(client.kind), "{}", client.id);
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(!text.contains(super::mark(client)), "{} of {}: {text}", client.id, own.id);
            // A stream in place of a whole reply is a fault.
            let answer = ask(&gateway, client, false, &model);
            assert!(fault(client, &answer).contains("instead of JSON"), "{}", answer.text());
        }
    }
}
