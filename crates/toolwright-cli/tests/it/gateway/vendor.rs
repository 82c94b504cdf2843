//! The recordings of each vendor: requests of its SDK, and replies that the SDK accepts.

use toolwright_core::Json;
use toolwright_core::json::peek;

use super::{Reply, fixture};

/// The recordings of one dialect.
#[derive(Debug, Clone, Copy)]
pub struct Vendor {
    /// The dialect's id
    pub id: &'static str,
    /// The model that the recordings name
    pub model: &'static str,
    /// The prefix of its file names
    stem: &'static str,
    /// The file of a stream with two calls
    stream: &'static str,
    /// The media type of its streams
    pub kind: &'static str,
    /// The path prefix, if another vendor has the same path
    prefix: &'static str,
    /// The file of an error reply, and its status
    error: (&'static str, u16),
}

const SSE: &str = "text/event-stream";

/// All of them, in the order of the dialects.
pub const VENDORS: [Vendor; 9] = [
    Vendor {
        id: "openai-chat",
        model: "gpt-6-astra",
        stem: "openai_chat",
        stream: "openai_chat_stream.txt",
        kind: SSE,
        prefix: "",
        error: ("openai_error_400.json", 400),
    },
    Vendor {
        id: "openai-responses",
        model: "gpt-6-astra",
        stem: "openai_responses",
        stream: "openai_responses_stream.txt",
        kind: SSE,
        prefix: "",
        error: ("../../openai-chat/accepted/openai_error_400.json", 400),
    },
    Vendor {
        id: "anthropic",
        model: "claude-opus-5",
        stem: "anthropic",
        stream: "anthropic_stream.txt",
        kind: SSE,
        prefix: "",
        error: ("anthropic_error_400.json", 400),
    },
    Vendor {
        id: "bedrock",
        model: "anthropic.claude-opus-5-v1:0",
        stem: "bedrock_converse",
        stream: "bedrock_converse_stream.bin",
        kind: "application/vnd.amazon.eventstream",
        prefix: "",
        error: ("bedrock_error_400.json", 400),
    },
    Vendor {
        id: "gemini",
        model: "gemini-3.8-flash",
        stem: "gemini",
        stream: "gemini_stream.txt",
        kind: SSE,
        prefix: "",
        error: ("gemini_error_400.json", 400),
    },
    Vendor {
        id: "deepseek",
        model: "deepseek-v4-flash",
        stem: "deepseek_chat",
        stream: "deepseek_chat_stream.txt",
        kind: SSE,
        prefix: "/deepseek",
        error: ("../../openai-chat/accepted/openai_error_400.json", 400),
    },
    Vendor {
        id: "ollama",
        model: "qwen3:8b",
        stem: "ollama",
        stream: "ollama_stream.ndjson.txt",
        kind: "application/x-ndjson",
        prefix: "",
        error: ("ollama_error_400.json", 400),
    },
    Vendor {
        id: "mistral",
        model: "mistral-large-latest",
        stem: "mistral",
        stream: "mistral_stream.txt",
        kind: SSE,
        prefix: "/mistral",
        error: ("mistral_error_422_detail.json", 422),
    },
    Vendor {
        id: "cohere",
        model: "command-a-03-2025",
        stem: "cohere",
        stream: "cohere_stream.txt",
        kind: SSE,
        prefix: "",
        error: ("cohere_error_400.json", 400),
    },
];

/// A vendor by the dialect's id.
pub fn vendor(id: &str) -> Vendor {
    *VENDORS.iter().find(|vendor| vendor.id == id).unwrap()
}

/// A request of a vendor's SDK.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The path at the gateway
    pub path: String,
    /// The path at the vendor
    pub vendor_path: String,
    /// The body, with the white space in which it was recorded
    pub body: String,
}

impl Recorded {
    /// The same request with another model name.
    pub fn with_model(&self, vendor: &Vendor, model: &str) -> Recorded {
        let quoted = |name: &str| Json::from(name).compact();
        let escaped = |name: &str| name.replace('/', "%2F").replace(':', "%3A");
        let body = self.body.replacen(&quoted(vendor.model), &quoted(model), 1);
        let path = |path: &str| path.replacen(&escaped(vendor.model), &escaped(model), 1);
        Recorded { path: path(&self.path), vendor_path: path(&self.vendor_path), body }
    }
}

impl Vendor {
    /// A request with tools, whole or streamed.
    pub fn request(&self, stream: bool) -> Recorded {
        let what = if stream { "stream" } else { "tools" };
        self.captured(&format!("{}_{what}.json", self.stem))
    }

    fn captured(&self, file: &str) -> Recorded {
        let file = fixture(&format!("{}/captured/{file}", self.id));
        let [path, body] = peek(&file, &["path", "body"]).unwrap();
        let vendor_path = path.unwrap().as_str().unwrap().into_owned();
        let path = format!("{}{vendor_path}", self.prefix);
        Recorded { path, vendor_path, body: body.unwrap().text().to_owned() }
    }

    /// The recorded reply with two calls.
    pub fn calls(&self) -> Vec<u8> {
        self.accepted(&format!("{}_tools.json", self.stem))
    }

    /// The recorded stream with two calls.
    pub fn calls_stream(&self) -> Vec<u8> {
        self.accepted(self.stream)
    }

    /// The recorded final reply.
    pub fn last(&self) -> Vec<u8> {
        self.accepted(&format!("{}_final.json", self.stem))
    }

    /// The recorded stream of a final reply.
    pub fn last_stream(&self) -> Vec<u8> {
        self.accepted(&self.stream.replacen("_stream", "_stream_text", 1))
    }

    /// A recorded error reply, with its status.
    pub fn fault(&self) -> (u16, Vec<u8>) {
        (self.error.1, self.accepted(self.error.0))
    }

    /// The reply with two calls, whole or as a stream.
    pub fn reply(&self, stream: bool) -> Reply {
        if stream {
            Reply::stream(self.kind, &self.calls_stream(), 97)
        } else {
            Reply::json(200, self.calls())
        }
    }

    /// The final reply, whole or as a stream.
    pub fn final_reply(&self, stream: bool) -> Reply {
        if stream {
            Reply::stream(self.kind, &self.last_stream(), 97)
        } else {
            Reply::json(200, self.last())
        }
    }

    fn accepted(&self, file: &str) -> Vec<u8> {
        fixture(&format!("{}/accepted/{file}", self.id))
    }
}
