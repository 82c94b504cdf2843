//! Reasoning in the text of a reply, from an upstream with or without `think_tags`.

use crate::gateway::{Gateway, Reply, Upstream, at, table};

const REPLY: &str = r#"{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[
    {"index":0,"message":{"role":"assistant","content":"<think>hm</think>yes"},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;

const STREAM: &str = concat!(
    r#"data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"<think>h"}}]}"#,
    "\n\n",
    r#"data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"m</think>yes"},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n",
);

/// The kinds of the blocks that an Anthropic client receives, whole and streamed.
fn kinds(dialect: &str, setting: &str) -> [Vec<String>; 2] {
    let replies =
        [Reply::json(200, REPLY), Reply::stream("text/event-stream", STREAM.as_bytes(), 50)];
    let upstream = Upstream::start(replies);
    let gateway = Gateway::start(&format!("{}{setting}\n", table("up", dialect, &upstream)));
    let post = |stream: bool| {
        let body = format!(
            r#"{{"model":"up/m","max_tokens":9,"stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
        );
        gateway.post("/v1/messages", &[], body.as_bytes()).ok()
    };
    let kind = |block: &toolwright_core::Json| at(block, "/type").as_str().map(str::to_owned);
    let whole = match at(&post(false).json(), "/content") {
        toolwright_core::Json::Array(blocks) => blocks.iter().filter_map(kind).collect(),
        other => panic!("no content: {other:?}"),
    };
    let events = post(true).events();
    let starts = events.iter().filter_map(|event| event.get("content_block"));
    [whole, starts.filter_map(kind).collect()]
}

#[test]
fn thinking_in_the_text_is_reasoning_where_the_upstream_has_it() {
    let separated = ["thinking", "text"].map(str::to_owned).to_vec();
    let left = vec!["text".to_owned()];
    for (dialect, setting, expected) in [
        ("vllm", "", &separated),
        ("vllm", "think_tags = false", &left),
        ("openai-chat", "", &left),
        ("openai-chat", "think_tags = true", &separated),
    ] {
        let both = kinds(dialect, setting);
        assert_eq!(both, [expected.clone(), expected.clone()], "{dialect} {setting}");
    }
}
