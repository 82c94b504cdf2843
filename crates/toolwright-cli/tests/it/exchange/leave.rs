//! Clients that disconnect, and clients that do not read.

use crate::gateway::vendor::vendor;
use crate::gateway::{Gateway, Reply, Upstream, table, until};

const CHAT: &str =
    r#"{"model":"up/m","stream":true,"messages":[{"role":"user","content":"hi"}],"max_tokens":9}"#;

#[test]
fn a_client_that_disconnects_in_the_middle_cancels_the_upstream_at_once() {
    for id in ["anthropic", "openai-chat", "gemini", "bedrock"] {
        let own = vendor(id);
        let (feed, reply) = Reply::fed(own.kind);
        let upstream = Upstream::start([reply]);
        let gateway = Gateway::start(&table("up", id, &upstream));
        let mut asking = gateway.ask("POST", "/v1/chat/completions", &[], CHAT.as_bytes());
        let stream = own.calls_stream();
        feed.send(stream[..stream.len() / 2].to_vec()).unwrap();
        asking.until("data: ");
        drop(asking);
        // The upstream sends nothing more, and still notices the disconnect.
        upstream.until_cut(1);
        drop(feed);
    }
}

#[test]
fn a_client_that_disconnects_before_the_reply_cancels_the_upstream() {
    let own = vendor("anthropic");
    let (word, reply) = Reply::after(own.reply(true));
    let upstream = Upstream::start([reply]);
    let gateway = Gateway::start(&table("up", own.id, &upstream));
    let asking = gateway.ask("POST", "/v1/chat/completions", &[], CHAT.as_bytes());
    upstream.until_received(1);
    drop(asking);
    until("the exchange in the log", || gateway.log().contains("client_left").then_some(()));
    word.send(()).unwrap();
}

/// So many chunks that the buffers between two processes hold less than a tenth of them.
const COUNT: usize = 20_000;

/// A long stream of text.
fn endless(piece: &str) -> Reply {
    let kind = "text/event-stream".to_owned();
    let pieces = vec![piece.as_bytes().to_vec(); COUNT];
    Reply::Pieces { kind, pieces }
}

#[test]
fn a_client_that_does_not_read_slows_the_upstream_by_backpressure() {
    let delta = format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\"finish_reason\":null}}]}}\n\n",
        "x".repeat(8000)
    );
    let paths = ["/v1/chat/completions", "/v1/messages"];
    for path in paths {
        let upstream = Upstream::start([endless(&delta)]);
        let gateway = Gateway::start(&table("up", "openai-chat", &upstream));
        let mut asking = gateway.ask("POST", path, &[], CHAT.as_bytes());
        asking.until("xxxx");
        // It writes until all buffers between it and the client are full, and then stops.
        let (mut before, mut unchanged) = (0, 0);
        until("the upstream to stand still", || {
            let written = upstream.written();
            unchanged = if written == before { unchanged + 1 } else { 0 };
            before = written;
            (unchanged == 40).then_some(())
        });
        let all = delta.len() * COUNT;
        assert!(upstream.written() < all / 4, "{} of {all}", upstream.written());
        drop(asking);
        upstream.until_cut(1);
    }
}
