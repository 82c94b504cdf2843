//! The wire formats of all vendors, for the tool model: one reply, whole or as a stream.

use serde_json::{Value, json};

use super::tool_model::Turn;

/// The wire formats. DeepSeek and Mistral use OpenAI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// OpenAI, Chat Completions
    Chat,
    /// OpenAI, Responses
    Responses,
    Anthropic,
    Bedrock,
    Gemini,
    Ollama,
    Cohere,
}

/// An encoded reply.
pub(super) struct Encoded {
    /// The media type
    pub(super) kind: &'static str,
    /// The events of a stream, or one document
    pub(super) events: Vec<Vec<u8>>,
}

const SSE: &str = "text/event-stream";

impl Wire {
    /// The format of a path.
    pub(super) fn at(path: &str) -> Option<Wire> {
        let ends = |end: &str| path.ends_with(end);
        match path {
            _ if ends("/chat/completions") => Some(Wire::Chat),
            _ if ends("/responses") => Some(Wire::Responses),
            _ if ends("/messages") => Some(Wire::Anthropic),
            _ if ends("/converse") || ends("/converse-stream") => Some(Wire::Bedrock),
            _ if ends(":generateContent") || ends(":streamGenerateContent") => Some(Wire::Gemini),
            _ if ends("/api/chat") => Some(Wire::Ollama),
            _ if ends("/v2/chat") => Some(Wire::Cohere),
            _ => None,
        }
    }

    /// A text that a request contains only if it has the outcome of a call.
    pub(super) fn outcome_mark(self) -> &'static str {
        match self {
            Wire::Chat | Wire::Ollama | Wire::Cohere => "\"role\":\"tool\"",
            Wire::Responses => "\"function_call_output\"",
            Wire::Anthropic => "\"tool_result\"",
            Wire::Bedrock => "\"toolResult\"",
            Wire::Gemini => "\"functionResponse\"",
        }
    }

    /// Encodes a reply.
    pub(super) fn encode(self, turn: &Turn, streams: bool) -> Encoded {
        if !streams {
            let document = match self {
                Wire::Chat => chat(turn),
                Wire::Responses => response(turn),
                Wire::Anthropic => anthropic(turn),
                Wire::Bedrock => bedrock(turn),
                Wire::Gemini => gemini(turn),
                Wire::Ollama => ollama(turn, true),
                Wire::Cohere => cohere(turn),
            };
            let events = vec![document.to_string().into_bytes()];
            return Encoded { kind: "application/json", events };
        }
        let data = |value: &Value| format!("data: {value}\n\n").into_bytes();
        match self {
            Wire::Chat => {
                let mut events: Vec<_> = chat_stream(turn).iter().map(data).collect();
                events.push(b"data: [DONE]\n\n".to_vec());
                Encoded { kind: SSE, events }
            }
            Wire::Responses => named(&response_stream(turn)),
            Wire::Anthropic => named(&anthropic_stream(turn)),
            Wire::Cohere => named(&cohere_stream(turn)),
            // Gemini's chunks have the form of its documents.
            Wire::Gemini => Encoded { kind: SSE, events: vec![data(&gemini(turn))] },
            Wire::Ollama => {
                let lines = [ollama(turn, false), ollama(&Turn::Say(String::new()), true)];
                let events = lines.map(|line| format!("{line}\n").into_bytes()).to_vec();
                Encoded { kind: "application/x-ndjson", events }
            }
            Wire::Bedrock => {
                let events = bedrock_stream(turn);
                let events = events.iter().map(|(kind, value)| aws(kind, value)).collect();
                Encoded { kind: "application/vnd.amazon.eventstream", events }
            }
        }
    }
}

/// Server-sent events with their types as names.
fn named(events: &[Value]) -> Encoded {
    let event = |value: &Value| {
        let name = value["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {value}\n\n").into_bytes()
    };
    Encoded { kind: SSE, events: events.iter().map(event).collect() }
}

fn chat_message(turn: &Turn) -> (Value, &'static str) {
    match turn {
        Turn::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Turn::Call { id, tool, arguments } => {
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
    }
}

fn chat(turn: &Turn) -> Value {
    let (message, finish) = chat_message(turn);
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "mock",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
}

fn chat_stream(turn: &Turn) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "mock",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let (message, finish) = chat_message(turn);
    let usage = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": "mock", "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    let start = chunk(json!({"role": "assistant", "content": ""}), Value::Null);
    vec![start, chunk(message, Value::Null), chunk(json!({}), finish.into()), usage]
}

fn response_item(turn: &Turn) -> Value {
    match turn {
        Turn::Say(text) => json!({"id": "msg_1", "type": "message", "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}),
        Turn::Call { id, tool, arguments } => json!({"id": format!("fc_{id}"),
            "type": "function_call", "status": "completed", "call_id": id, "name": tool,
            "arguments": arguments.to_string()}),
    }
}

fn response(turn: &Turn) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
        "error": null, "incomplete_details": null, "model": "mock", "store": false,
        "output": [response_item(turn)],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}})
}

fn response_stream(turn: &Turn) -> Vec<Value> {
    let mut begun = response(turn);
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let item = response_item(turn);
    let item_id = item["id"].clone();
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    match turn {
        Turn::Say(text) => {
            let added = json!({"id": item_id, "type": "message", "status": "in_progress",
                "role": "assistant", "content": []});
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            events.extend([
                json!({"type": "response.output_item.added", "output_index": 0, "item": added}),
                json!({"type": "response.content_part.added", "item_id": item_id,
                    "output_index": 0, "content_index": 0, "part": empty}),
                json!({"type": "response.output_text.delta", "item_id": item_id,
                    "output_index": 0, "content_index": 0, "delta": text}),
                json!({"type": "response.output_text.done", "item_id": item_id,
                    "output_index": 0, "content_index": 0, "text": text}),
                json!({"type": "response.content_part.done", "item_id": item_id,
                    "output_index": 0, "content_index": 0, "part": item["content"][0]}),
            ]);
        }
        Turn::Call { arguments, .. } => {
            let mut added = item.clone();
            added["status"] = "in_progress".into();
            added["arguments"] = "".into();
            events.extend([
                json!({"type": "response.output_item.added", "output_index": 0, "item": added}),
                json!({"type": "response.function_call_arguments.delta", "item_id": item_id,
                    "output_index": 0, "delta": arguments.to_string()}),
                json!({"type": "response.function_call_arguments.done", "item_id": item_id,
                    "output_index": 0, "arguments": arguments.to_string()}),
            ]);
        }
    }
    events.extend([
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response(turn)}),
    ]);
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events
}

fn anthropic(turn: &Turn) -> Value {
    let (block, stop) = match turn {
        Turn::Say(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Turn::Call { id, tool, arguments } => {
            (json!({"type": "tool_use", "id": id, "name": tool, "input": arguments}), "tool_use")
        }
    };
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock",
        "content": [block], "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5}})
}

fn anthropic_stream(turn: &Turn) -> Vec<Value> {
    let whole = anthropic(turn);
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let (block, delta) = match turn {
        Turn::Say(text) => {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
        }
        Turn::Call { id, tool, arguments } => (
            json!({"type": "tool_use", "id": id, "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
        ),
    };
    let stop = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
    vec![
        json!({"type": "message_start", "message": begun}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]
}

fn bedrock(turn: &Turn) -> Value {
    let (block, stop) = match turn {
        Turn::Say(text) => (json!({"text": text}), "end_turn"),
        Turn::Call { id, tool, arguments } => {
            let call = json!({"toolUseId": id, "name": tool, "input": arguments});
            (json!({"toolUse": call}), "tool_use")
        }
    };
    json!({"output": {"message": {"role": "assistant", "content": [block]}}, "stopReason": stop,
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
        "metrics": {"latencyMs": 1}})
}

fn bedrock_stream(turn: &Turn) -> Vec<(&'static str, Value)> {
    let delta =
        |delta: Value| ("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": delta}));
    let mut events = vec![("messageStart", json!({"role": "assistant"}))];
    let stop = match turn {
        Turn::Say(text) => {
            events.push(delta(json!({"text": text})));
            "end_turn"
        }
        Turn::Call { id, tool, arguments } => {
            let start = json!({"toolUse": {"toolUseId": id, "name": tool}});
            let start = json!({"contentBlockIndex": 0, "start": start});
            events.push(("contentBlockStart", start));
            events.push(delta(json!({"toolUse": {"input": arguments.to_string()}})));
            "tool_use"
        }
    };
    let usage = json!({"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
        "metrics": {"latencyMs": 1}});
    events.extend([
        ("contentBlockStop", json!({"contentBlockIndex": 0})),
        ("messageStop", json!({"stopReason": stop})),
        ("metadata", usage),
    ]);
    events
}

/// A message of the AWS event stream encoding.
fn aws(kind: &str, value: &Value) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, text) in
        [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")]
    {
        headers.push(name.len() as u8);
        headers.extend_from_slice(name.as_bytes());
        // A string
        headers.push(7);
        headers.extend_from_slice(&(text.len() as u16).to_be_bytes());
        headers.extend_from_slice(text.as_bytes());
    }
    let payload = value.to_string();
    let mut message = Vec::new();
    // Two lengths and two checksums surround headers and payload.
    message.extend_from_slice(&((headers.len() + payload.len() + 16) as u32).to_be_bytes());
    message.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&headers);
    message.extend_from_slice(payload.as_bytes());
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}

fn gemini(turn: &Turn) -> Value {
    let part = match turn {
        Turn::Say(text) => json!({"text": text}),
        Turn::Call { id, tool, arguments } => {
            json!({"functionCall": {"id": id, "name": tool, "args": arguments}})
        }
    };
    json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0,
            "finishReason": "STOP"}],
        "modelVersion": "mock", "responseId": "r1",
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5,
            "totalTokenCount": 15}})
}

fn ollama(turn: &Turn, ends: bool) -> Value {
    let message = match turn {
        Turn::Say(text) => json!({"role": "assistant", "content": text}),
        Turn::Call { id, tool, arguments } => {
            let function = json!({"index": 0, "name": tool, "arguments": arguments});
            json!({"role": "assistant", "content": "",
                "tool_calls": [{"id": id, "function": function}]})
        }
    };
    let mut line = json!({"model": "mock", "created_at": "2026-01-01T00:00:00Z",
        "message": message, "done": ends});
    if ends {
        line["done_reason"] = "stop".into();
        line["prompt_eval_count"] = 10.into();
        line["eval_count"] = 5.into();
    }
    line
}

const COHERE_USAGE: &str = r#"{"billed_units":{"input_tokens":10,"output_tokens":5},
    "tokens":{"input_tokens":10,"output_tokens":5}}"#;

fn cohere(turn: &Turn) -> Value {
    let (message, finish) = match turn {
        Turn::Say(text) => {
            let content = json!([{"type": "text", "text": text}]);
            (json!({"role": "assistant", "content": content}), "COMPLETE")
        }
        Turn::Call { id, tool, arguments } => {
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            let call = json!({"id": id, "type": "function", "function": function});
            (json!({"role": "assistant", "tool_calls": [call]}), "TOOL_CALL")
        }
    };
    let usage: Value = serde_json::from_str(COHERE_USAGE).unwrap_or_default();
    json!({"id": "c1", "finish_reason": finish, "message": message, "usage": usage})
}

fn cohere_stream(turn: &Turn) -> Vec<Value> {
    let whole = cohere(turn);
    let event = |kind: &str, message: Value| json!({"type": kind, "index": 0, "delta": {"message": message}});
    let mut events = vec![json!({"type": "message-start", "id": "c1", "delta": {"message":
        {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}}})];
    match turn {
        Turn::Say(text) => events.extend([
            event("content-start", json!({"content": {"type": "text", "text": ""}})),
            event("content-delta", json!({"content": {"text": text}})),
            json!({"type": "content-end", "index": 0}),
        ]),
        Turn::Call { id, tool, arguments } => {
            let start = json!({"id": id, "type": "function",
                "function": {"name": tool, "arguments": ""}});
            let rest = json!({"function": {"arguments": arguments.to_string()}});
            events.extend([
                event("tool-call-start", json!({"tool_calls": start})),
                event("tool-call-delta", json!({"tool_calls": rest})),
                json!({"type": "tool-call-end", "index": 0}),
            ]);
        }
    }
    let end = json!({"finish_reason": whole["finish_reason"], "usage": whole["usage"]});
    events.push(json!({"type": "message-end", "id": "c1", "delta": end}));
    events
}
