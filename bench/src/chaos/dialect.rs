//! The dialects of the clients in a chaos run, and how a complete reply ends in each.

use memchr::memmem;
use serde_json::{Value, json};

use crate::question::ReplyKind;

/// A dialect of clients, which is also the name of an upstream in that dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    OpenaiChat,
    OpenaiResponses,
    Anthropic,
    Bedrock,
    Gemini,
    Deepseek,
    Ollama,
    Mistral,
    Cohere,
}

impl Dialect {
    /// All of them.
    pub(crate) const ALL: [Dialect; 9] = [
        Dialect::OpenaiChat,
        Dialect::OpenaiResponses,
        Dialect::Anthropic,
        Dialect::Bedrock,
        Dialect::Gemini,
        Dialect::Deepseek,
        Dialect::Ollama,
        Dialect::Mistral,
        Dialect::Cohere,
    ];

    /// Its id in the configuration of the gateway.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Dialect::OpenaiChat => "openai-chat",
            Dialect::OpenaiResponses => "openai-responses",
            Dialect::Anthropic => "anthropic",
            Dialect::Bedrock => "bedrock",
            Dialect::Gemini => "gemini",
            Dialect::Deepseek => "deepseek",
            Dialect::Ollama => "ollama",
            Dialect::Mistral => "mistral",
            Dialect::Cohere => "cohere",
        }
    }

    /// The path of a request at the gateway.
    pub(crate) fn path(self, model: &str, reply: ReplyKind) -> String {
        let model = model.replace('/', "%2F");
        match (self, reply) {
            (Dialect::OpenaiChat, _) => "/v1/chat/completions".into(),
            (Dialect::OpenaiResponses, _) => "/v1/responses".into(),
            (Dialect::Anthropic, _) => "/v1/messages".into(),
            (Dialect::Bedrock, ReplyKind::Whole) => format!("/model/{model}/converse"),
            (Dialect::Bedrock, ReplyKind::Stream) => format!("/model/{model}/converse-stream"),
            (Dialect::Gemini, ReplyKind::Whole) => {
                format!("/v1beta/models/{model}:generateContent")
            }
            (Dialect::Gemini, ReplyKind::Stream) => {
                format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
            }
            (Dialect::Deepseek, _) => "/deepseek/chat/completions".into(),
            (Dialect::Ollama, _) => "/api/chat".into(),
            (Dialect::Mistral, _) => "/mistral/v1/chat/completions".into(),
            (Dialect::Cohere, _) => "/v2/chat".into(),
        }
    }

    /// The body of a request.
    pub(crate) fn body(self, model: &str, text: &str, reply: ReplyKind) -> Value {
        let stream = reply == ReplyKind::Stream;
        let message = json!({"role": "user", "content": text});
        match self {
            Dialect::OpenaiResponses => {
                json!({"model": model, "input": [message], "stream": stream})
            }
            Dialect::Bedrock => {
                json!({"messages": [{"role": "user", "content": [{"text": text}]}]})
            }
            Dialect::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
            Dialect::Anthropic => json!({"model": model, "max_tokens": 99, "stream": stream,
                "messages": [message]}),
            _ => json!({"model": model, "stream": stream, "messages": [message]}),
        }
    }

    /// Whether a reply has the end of a successful one.
    pub(crate) fn is_whole(self, reply: ReplyKind, answer: &[u8]) -> bool {
        let end = match (self, reply) {
            (Dialect::OpenaiChat | Dialect::Deepseek | Dialect::Mistral, ReplyKind::Whole) => {
                "\"finish_reason\":\"stop\""
            }
            (Dialect::OpenaiChat | Dialect::Deepseek | Dialect::Mistral, ReplyKind::Stream) => {
                "data: [DONE]"
            }
            (Dialect::OpenaiResponses, ReplyKind::Whole) => "\"status\":\"completed\"",
            (Dialect::OpenaiResponses, ReplyKind::Stream) => "event: response.completed",
            (Dialect::Anthropic, ReplyKind::Whole) => "\"stop_reason\":\"end_turn\"",
            (Dialect::Anthropic, ReplyKind::Stream) => "event: message_stop",
            (Dialect::Bedrock, ReplyKind::Whole) => "\"stopReason\":\"end_turn\"",
            (Dialect::Bedrock, ReplyKind::Stream) => "messageStop",
            (Dialect::Gemini, _) => "\"finishReason\":\"STOP\"",
            (Dialect::Ollama, _) => "\"done\":true",
            (Dialect::Cohere, _) => "\"finish_reason\":\"COMPLETE\"",
        };
        memmem::find(answer, end.as_bytes()).is_some()
    }
}
