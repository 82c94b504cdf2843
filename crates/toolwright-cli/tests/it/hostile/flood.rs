//! Floods: the memory that is held is bounded, and released.

use super::{ask, assert_ends_with_fault, assert_well, gateway};
use crate::gateway::vendor::vendor;
use crate::gateway::{Reply, Upstream, until};

const MODEL: &str = "openai-chat/gpt-5";

fn chunk(calls: &str) -> Vec<u8> {
    let start = r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":"#;
    format!("data: {start}[{{\"index\":0,\"delta\":{{\"tool_calls\":[{calls}]}}}}]}}\n\n").into()
}

#[test]
fn an_endless_frame_is_refused() {
    let client = vendor("gemini");
    let pieces = vec![vec![b'x'; 1 << 20]; 20];
    let upstream = Upstream::start([]);
    let gateway = gateway(&upstream, "");
    assert_well(&gateway);
    let open = gateway.open_files();
    for _ in 0..3 {
        let kind = "text/event-stream".to_owned();
        upstream.then(Reply::Pieces { kind, pieces: pieces.clone() });
        let answer = ask(&gateway, &client, true, MODEL);
        assert_ends_with_fault(&client, &answer, "frame larger than");
    }
    assert!(gateway.peak_memory() < 300 << 20, "{}", gateway.peak_memory());
    until("files to be closed", || (gateway.open_files() <= open + 4).then_some(()));
}

#[test]
fn an_endless_number_of_calls_is_refused() {
    let call = |at: usize| {
        let own = r#""type":"function","function":{"name":"f","arguments":"{}"}"#;
        chunk(&format!(r#"{{"index":{at},"id":"c{at}",{own}}}"#))
    };
    let stream: Vec<u8> = (0..3000).flat_map(call).collect();
    let upstream = Upstream::start([]);
    let gateway = gateway(&upstream, "");
    for client in ["gemini", "anthropic"].map(vendor) {
        upstream.then(Reply::stream("text/event-stream", &stream, 10_000));
        let answer = ask(&gateway, &client, true, MODEL);
        assert_ends_with_fault(&client, &answer, "1024 calls");
    }
    // A passthrough forwards the bytes unchanged.
    upstream.then(Reply::stream("text/event-stream", &stream, 10_000));
    let answer = ask(&gateway, &vendor("openai-chat"), true, MODEL);
    assert!(answer.body.starts_with(&stream));
    assert_well(&gateway);
}

#[test]
fn bytes_after_the_end_are_ignored() {
    let own = vendor("openai-chat");
    let (feed, reply) = Reply::fed(own.kind);
    feed.send(own.calls_stream()).unwrap();
    let upstream = Upstream::start([reply]);
    let gateway = gateway(&upstream, "");
    let client = vendor("anthropic");
    let answer = ask(&gateway, &client, true, MODEL).ok();
    assert!(!answer.text().contains(super::mark(&client)));
    upstream.until_cut(1);
    drop(feed);
    assert_well(&gateway);
}
