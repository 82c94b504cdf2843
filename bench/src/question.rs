//! The requests of the clients: openai-chat requests of several sizes, as an SDK would send them, and MCP
//! requests, with a nonce that the reply must repeat.

mod agent;

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Request, Uri};
use serde_json::{Value, json};

use crate::nonce::Nonce;

/// The size of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Four tools and eight messages, about 4 kB
    Standard,
    /// One tool and three messages
    Kilobyte,
    /// The standard request with a longer conversation
    Hundred,
    /// The same, longer still
    Megabyte,
    /// Forty tools and a hundred messages, as coding agents send them, about 119 kB
    Agent,
}

impl Size {
    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Size::Standard => "4 tools, 8 messages",
            Size::Kilobyte => "1 kB",
            Size::Hundred => "100 kB",
            Size::Megabyte => "1 MB",
            Size::Agent => "40 tools, 100 messages",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Size::Standard | Size::Kilobyte | Size::Agent => 0,
            Size::Hundred => 100_000,
            Size::Megabyte => 1_000_000,
        }
    }
}

/// Whether the reply is whole or a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReplyKind {
    /// One document
    Whole,
    /// Events
    Stream,
}

impl ReplyKind {
    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReplyKind::Whole => "whole",
            ReplyKind::Stream => "stream",
        }
    }
}

/// A request without its nonce. Clones share the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    path: Uri,
    headers: HeaderMap,
    before: Bytes,
    after: Bytes,
}

impl Question {
    /// A request for a model.
    pub(crate) fn new(model: &str, size: Size, reply: ReplyKind) -> Question {
        let mut messages = match size {
            Size::Kilobyte => conversation().split_off(5),
            Size::Agent => agent::conversation(),
            _ => conversation(),
        };
        let mut tools = if size == Size::Agent { agent::tools() } else { tools() };
        if size == Size::Kilobyte {
            tools.truncate(1);
        }
        messages.insert(0, json!({"role": "system", "content": SYSTEM}));
        // With the system message, the standard request has eight.
        let mut length = 0;
        for turn in 0.. {
            if length + 3500 > size.bytes() {
                break;
            }
            let [asked, said] = chatter(turn);
            length += asked.to_string().len() + said.to_string().len() + 2;
            messages.insert(1, said);
            messages.insert(1, asked);
        }
        let mut body = json!({"model": model, "messages": messages, "max_tokens": 1024,
            "temperature": 0.2, "tools": tools, "tool_choice": "auto",
            "parallel_tool_calls": true});
        if reply == ReplyKind::Stream {
            body["stream"] = true.into();
            body["stream_options"] = json!({"include_usage": true});
        }
        Question::post("/v1/chat/completions", HEADERS, &body)
    }

    /// A call of a tool of an MCP server, which repeats a text.
    pub(crate) fn call_tool(path: &str, tool: &str) -> Question {
        let arguments = json!({"text": "Where is order nonce-0000000000000000?", "limit": 5});
        let params = json!({"name": tool, "arguments": arguments, "_meta": mcp_meta()});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let mut question = Question::post(path, MCP_HEADERS, &body);
        question.add_header("mcp-method", "tools/call");
        question.add_header("mcp-name", tool);
        question
    }

    /// A request for a page of the tools of an MCP server.
    pub(crate) fn list_tools(path: &str, cursor: Option<&str>) -> Question {
        let mut params = json!({"_meta": mcp_meta(), "nonce": "nonce-0000000000000000"});
        if let Some(cursor) = cursor {
            params["cursor"] = cursor.into();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        let mut question = Question::post(path, MCP_HEADERS, &body);
        question.add_header("mcp-method", "tools/list");
        question
    }

    /// A request with a body that has a nonce.
    fn post(path: &str, headers: &[(&'static str, &'static str)], body: &Value) -> Question {
        let mut before = Bytes::from(body.to_string());
        let place = Nonce::place(&before).unwrap_or_default();
        let mut after = before.split_off(place);
        let _ = after.split_to(16);
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let path = path.parse().unwrap_or_default();
        Question { path, headers: headers.collect(), before, after }
    }

    fn add_header(&mut self, name: &'static str, value: &str) {
        if let Ok(value) = value.parse() {
            self.headers.insert(name, value);
        }
    }

    /// The length of the body.
    pub(crate) fn length(&self) -> usize {
        self.before.len() + 16 + self.after.len()
    }

    /// The request with a nonce, with the headers that an SDK sends.
    pub(crate) fn ask(&self, host: &str, nonce: Nonce) -> Request<QuestionBody> {
        let digits = Bytes::copy_from_slice(nonce.digits());
        let mut request = Request::new(QuestionBody {
            left: [self.after.clone(), digits, self.before.clone()],
            next: 3,
        });
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.path.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        if let Ok(host) = host.parse() {
            headers.insert(hyper::header::HOST, host);
        }
        request
    }
}

const HEADERS: &[(&str, &str)] = &[
    ("authorization", "Bearer sk-bench-0000000000000000000000000000"),
    ("accept", "application/json"),
    ("content-type", "application/json"),
    ("user-agent", "OpenAI/Python 3.49.0"),
    ("x-stainless-lang", "python"),
    ("x-stainless-package-version", "3.49.0"),
    ("x-stainless-os", "Linux"),
    ("x-stainless-arch", "x64"),
    ("x-stainless-runtime", "CPython"),
    ("x-stainless-runtime-version", "3.11.7"),
    ("x-stainless-async", "false"),
    ("x-stainless-retry-count", "0"),
];

const MCP_HEADERS: &[(&str, &str)] = &[
    ("accept", "application/json, text/event-stream"),
    ("content-type", "application/json"),
    ("mcp-protocol-version", "2026-07-28"),
];

/// What every MCP request says of its client.
fn mcp_meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}})
}

/// The body of a request: three pieces, so that a megabyte is not copied for sixteen digits.
pub(crate) struct QuestionBody {
    left: [Bytes; 3],
    next: usize,
}

impl Body for QuestionBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = self.next.checked_sub(1) else { return Poll::Ready(None) };
        self.next = next;
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.left[next])))))
    }

    fn is_end_stream(&self) -> bool {
        self.next == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left[..self.next].iter().map(|piece| piece.len() as u64).sum())
    }
}

const SYSTEM: &str = "You help the support desk of a mail-order shop. Work on ticket \
    nonce-0000000000000000. Look things up before you answer, ask for what is missing, never \
    promise a date that the carrier has not confirmed, and answer in the customer's language.";

fn conversation() -> Vec<Value> {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let first = call("call_a81Fk2", "find_customer", r#"{"email":"sofia@example.com"}"#);
    let second = call("call_b93Lm7", "search_orders", r#"{"customer":"C-104233","limit":2}"#);
    vec![
        json!({"role": "user", "content": "Hello, this is Sofia (sofia@example.com). I ordered a \
            tent and two sleeping bags three weeks ago, and nothing has arrived. We leave on Friday!"}),
        json!({"role": "assistant", "content": "Let me find your account.", "tool_calls": [first]}),
        json!({"role": "tool", "tool_call_id": "call_a81Fk2", "content":
            r#"{"id":"C-104233","name":"Sofia Lindqvist","language":"en","tier":"gold","since":"2019-06-02"}"#}),
        json!({"role": "assistant", "content": null, "tool_calls": [second]}),
        json!({"role": "tool", "tool_call_id": "call_b93Lm7", "content":
            r#"{"orders":[{"id":"O-77120","items":["tent"],"carrier":"DHL","status":"delayed"},{"id":"O-77121","items":["sleeping bag","sleeping bag"],"carrier":"UPS","status":"open"}]}"#}),
        json!({"role": "assistant", "content": "I found two orders of yours: the tent is delayed, \
            the sleeping bags are on their way. Shall I ask the carriers where they are?"}),
        json!({"role": "user", "content": "Yes please, both. And tell me honestly if \"Friday\" \
            is possible – otherwise I will buy them here.\nThanks!"}),
    ]
}

/// One more pair of messages, for longer conversations.
fn chatter(turn: usize) -> [Value; 2] {
    let asked = format!(
        "Earlier question {turn}: what about \"order {turn}\"?\n{}",
        "It was sent to the office, café side, 3rd floor; the label read C:\\depot\\north. "
            .repeat(20)
    );
    let said = format!(
        "Earlier answer {turn}:\n- {}",
        "the parcel was scanned at the depot and waits for its next transport;\n- ".repeat(21)
    );
    [json!({"role": "user", "content": asked}), json!({"role": "assistant", "content": said})]
}

fn tools() -> Vec<Value> {
    let tool = |name: &str, description: &str, parameters: Value| {
        json!({"type": "function", "function":
            {"name": name, "description": description, "parameters": parameters}})
    };
    vec![
        tool(
            "find_customer",
            "Finds a customer by e-mail address or telephone number.",
            json!({
            "type": "object", "properties": {
                "email": {"type": "string", "description": "The address that the account was made with"},
                "phone": {"type": "string", "description": "With country code, digits only"}},
            "additionalProperties": false}),
        ),
        tool(
            "search_orders",
            "Lists the orders of a customer, newest first.",
            json!({
            "type": "object", "properties": {
                "customer": {"type": "string", "description": "The customer's id, such as C-104233"},
                "status": {"type": "array", "items": {"type": "string",
                    "enum": ["open", "packed", "sent", "delayed", "delivered", "returned"]}},
                "since": {"type": "string", "description": "A date, YYYY-MM-DD"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                "fields": {"type": "array", "items": {"type": "string"}},
                "currency": {"type": "string", "enum": ["EUR", "USD", "SEK"]}},
            "required": ["customer"], "additionalProperties": false}),
        ),
        tool(
            "track_parcels",
            "Asks the carriers where parcels are.",
            json!({
            "type": "object", "properties": {
                "tracking": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "language": {"type": "string", "description": "Two letters"},
                "details": {"type": "boolean", "default": false},
                "notify": {"type": "object", "properties": {
                    "email": {"type": "string"},
                    "on": {"type": "array", "items": {"type": "string",
                        "enum": ["delay", "delivery", "return"]}}},
                    "required": ["email"]}},
            "required": ["tracking"], "additionalProperties": false}),
        ),
        tool(
            "open_return",
            "Opens a return for items of an order and makes a label.",
            json!({
            "type": "object", "properties": {
                "order": {"type": "string"},
                "items": {"type": "array", "items": {"type": "object", "properties": {
                    "sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1},
                    "reason": {"type": "string", "enum": ["late", "broken", "wrong", "other"]}},
                    "required": ["sku", "count"]}},
                "refund": {"type": "string", "enum": ["money", "voucher"], "default": "money"},
                "note": {"type": "string", "maxLength": 500}},
            "required": ["order", "items"], "additionalProperties": false}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_their_sizes() {
        let length = |size| Question::new("oa/mock", size, ReplyKind::Whole).length();
        for (size, least, most) in [
            (Size::Standard, 3500, 5000),
            (Size::Kilobyte, 900, 1300),
            (Size::Hundred, 95_000, 105_000),
            (Size::Megabyte, 950_000, 1_050_000),
            (Size::Agent, 115_000, 125_000),
        ] {
            assert!((least..most).contains(&length(size)), "{size:?} has {}", length(size));
        }
    }

    #[test]
    fn the_standard_request_has_four_tools_and_eight_messages() {
        let question = Question::new("oa/mock", Size::Standard, ReplyKind::Stream);
        let text = [&question.before[..], b"00000000000000ff", &question.after[..]].concat();
        let body: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(body["tools"].as_array().map(Vec::len), Some(4));
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(8));
        assert_eq!(body["stream"], true);
        assert_eq!(Nonce::find(&text), Some(Nonce::new(255)));
    }

    #[test]
    fn the_agent_request_has_forty_tools_a_hundred_messages_and_a_result_for_each_call() {
        let question = Question::new("oa/mock", Size::Agent, ReplyKind::Whole);
        let text = [&question.before[..], b"00000000000000ff", &question.after[..]].concat();
        let body: Value = serde_json::from_slice(&text).expect("JSON");
        let messages = body["messages"].as_array().expect("messages");
        assert_eq!(body["tools"].as_array().map(Vec::len), Some(agent::TOOLS));
        assert_eq!(messages.len(), agent::MESSAGES);
        let results = messages.iter().filter(|message| message["role"] == "tool").count();
        let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array());
        assert_eq!(calls.map(Vec::len).sum::<usize>(), results);
    }
}
