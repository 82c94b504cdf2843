//! Faults of upstreams: which are retried, and what the caller receives for the others.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use toolwright_core::FaultClass;
use toolwright_core::{Event, Fault, Request, Response};
use toolwright_runtime::model::Upstream;
use toolwright_testing::server::{Server, read_request};

use super::answer::{at, request};
use super::remote;
use super::replay::{Replay, Reply, recorded};

const CHUNK: &str =
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";

fn fine() -> Reply {
    Reply::json(recorded("openai-chat/accepted/openai_chat_final.json"))
}

fn streamed(body: impl Into<Vec<u8>>) -> Reply {
    Reply::stream("text/event-stream", body)
}

/// A transient fault.
fn passing(status: u16) -> Reply {
    let body = br#"{"error":{"message":"not now","type":"server_error","param":null,"code":null}}"#;
    Reply::json(*body).status(status).header("retry-after-ms", "1")
}

fn asked() -> Request {
    request().with_model("m")
}

async fn whole(replay: &Replay) -> Result<Response, Fault> {
    at("openai-chat", replay).respond(asked()).await
}

#[tokio::test]
async fn a_transient_fault_is_retried() {
    for status in [429, 500, 503] {
        let replay = Replay::of([passing(status), fine()]).await;
        whole(&replay).await.expect("the second answer");
        let seen = replay.seen();
        assert_eq!(seen.len(), 2, "{status}");
        assert!(seen[0].body.same(&seen[1].body));
    }
}

#[tokio::test]
async fn attempts_are_bounded_and_the_last_fault_is_returned() {
    let replay = Replay::of([passing(503)]).await;
    let fault = whole(&replay).await.unwrap_err();
    assert_eq!((fault.class, fault.message.as_str()), (FaultClass::Overloaded, "not now"));
    assert_eq!((fault.status, fault.retry_after_ms), (Some(503), Some(1)));
    assert_eq!(replay.seen().len(), 3);
    let once = at("openai-chat", &replay).with_retries(0);
    once.respond(asked()).await.unwrap_err();
    assert_eq!(replay.seen().len(), 4);
}

#[tokio::test]
async fn a_permanent_fault_is_returned_at_once() {
    let wrong = Reply::json(recorded("openai-chat/accepted/openai_error_400.json")).status(400);
    let replay = Replay::of([wrong]).await;
    let fault = whole(&replay).await.unwrap_err();
    assert_eq!((fault.class, fault.status), (FaultClass::Invalid, Some(400)));
    assert_eq!(replay.seen().len(), 1);

    let later = Reply::json("{}").status(429).header("retry-after", "3600");
    let replay = Replay::of([later]).await;
    let fault = whole(&replay).await.unwrap_err();
    assert_eq!((fault.class, fault.retry_after_ms), (FaultClass::RateLimited, Some(3_600_000)));
    assert_eq!(replay.seen().len(), 1);
}

#[tokio::test]
async fn geminis_retry_delay_is_reported() {
    let body = recorded("gemini/accepted/gemini_error_429.json");
    let replay = Replay::of([Reply::json(body).status(429)]).await;
    let once = at("gemini", &replay).with_retries(0);
    let fault = once.respond(asked()).await.unwrap_err();
    assert_eq!((fault.class, fault.retry_after_ms), (FaultClass::RateLimited, Some(17_000)));
}

#[tokio::test]
async fn an_invalid_reply_is_a_fault() {
    for body in ["[]", "hello", "{\"choices\":7}", ""] {
        let replay = Replay::of([Reply::json(body)]).await;
        let fault = whole(&replay).await.unwrap_err();
        assert_eq!(fault.code.as_deref(), Some("upstream_answer"), "{body}: {fault:?}");
        assert_eq!(replay.seen().len(), 1, "{body}");
        let stream = at("openai-chat", &replay).stream(asked()).await;
        assert!(stream.is_err(), "{body}");
    }
    // An error with a success status, as some proxies send.
    let body = r#"{"error":{"message":"no such model","type":"invalid_request_error"}}"#;
    let replay = Replay::of([Reply::json(body)]).await;
    let fault = at("openai-chat", &replay).with_retries(0).respond(asked()).await.unwrap_err();
    assert_eq!(fault.message, "no such model");
}

#[tokio::test]
async fn a_stream_is_retried_until_its_first_event() {
    let error = "data: {\"error\":{\"message\":\"full\",\"type\":\"server_error\"}}\n\n";
    let done = format!("{CHUNK}data: [DONE]\n\n");
    let replay = Replay::of([passing(500), streamed(error), streamed(""), streamed(done)]).await;
    let remote = at("openai-chat", &replay).with_retries(3);
    let mut stream = remote.stream(asked()).await.expect("the fourth answer");
    assert!(matches!(stream.next().await, Some(Event::Start(_))));
    assert_eq!(replay.seen().len(), 4);
}

#[tokio::test]
async fn a_broken_stream_ends_with_a_fault_and_is_not_retried() {
    let damaged = format!("{CHUNK}data: {{\"choices\": 7}}\n\n{CHUNK}");
    for reply in [streamed(CHUNK).cut(), streamed(CHUNK), streamed(damaged)] {
        let replay = Replay::of([reply]).await;
        let mut stream = at("openai-chat", &replay).stream(asked()).await.expect("a beginning");
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        toolwright_core::event::law::check(&events).unwrap();
        assert!(matches!(events.first(), Some(Event::Start(_))), "{events:?}");
        assert!(matches!(events.last(), Some(Event::Fault(_))), "{events:?}");
        assert_eq!(stream.next().await, None);
        assert_eq!(replay.seen().len(), 1);
    }
}

#[tokio::test]
async fn an_unreachable_upstream_is_named() {
    let gone = Replay::of([fine()]).await.url();
    let fault = remote(&gone).with_retries(0).respond(asked()).await.unwrap_err();
    assert_eq!(fault.code.as_deref(), Some("upstream_unreachable"), "{fault:?}");
}

/// The head of a stream, and one event of it in a chunk.
fn opening() -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{CHUNK}\r\n",
        CHUNK.len()
    )
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_cancelled_upstream() {
    let (tell, told) = oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let server = Server::new(move |mut stream| {
        let tell = tell.lock().unwrap().take();
        async move {
            read_request(&mut stream).await;
            stream.write_all(opening().as_bytes()).await.unwrap();
            // The client sends nothing more; this returns when it closes.
            assert!(read_request(&mut stream).await.is_none());
            if let Some(tell) = tell {
                tell.send(()).unwrap();
            }
        }
    })
    .await;
    let mut stream = remote(&server.url()).stream(asked()).await.unwrap();
    assert!(stream.next().await.is_some());
    drop(stream);
    let guard = Duration::from_secs(30);
    tokio::time::timeout(guard, told).await.expect("closed in time").expect("closed");
}

#[tokio::test]
async fn a_slow_reader_slows_the_upstream_by_backpressure() {
    // Far more than sockets and buffers hold.
    const ENDLESS: usize = 256 * 1024 * 1024;
    let (tell, told) = oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let server = Server::new(move |mut stream| {
        let tell = tell.lock().unwrap().take();
        async move {
            read_request(&mut stream).await;
            stream.write_all(opening().as_bytes()).await.unwrap();
            let more = format!("{:x}\r\n{CHUNK}\r\n", CHUNK.len()).repeat(1000);
            let mut written = 0;
            let pause = Duration::from_millis(500);
            while written < ENDLESS
                && let Ok(Ok(())) =
                    tokio::time::timeout(pause, stream.write_all(more.as_bytes())).await
            {
                written += more.len();
            }
            tell.unwrap().send(written).unwrap();
        }
    })
    .await;
    let mut stream = remote(&server.url()).stream(asked()).await.unwrap();
    assert!(stream.next().await.is_some());
    let guard = Duration::from_mins(1);
    let written = tokio::time::timeout(guard, told).await.expect("in time").expect("told");
    assert!(written < ENDLESS, "nobody read, and {written} bytes were taken");
    drop(stream);
}
