//! The ids of the dialects. The codecs behind them are in `toolwright-dialects`.

use std::fmt;
use std::str::FromStr;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// OpenAI Chat Completions
    OpenaiChat,
    /// OpenAI Responses
    OpenaiResponses,
    /// Anthropic Messages
    Anthropic,
    /// AWS Bedrock Converse
    Bedrock,
    /// DeepSeek, on OpenAI Chat
    Deepseek,
    /// Google Gemini `generateContent`
    Gemini,
    /// Ollama `/api/chat`
    Ollama,
    /// Mistral
    Mistral,
    /// Cohere v2
    Cohere,
    /// Model Context Protocol: tools only
    Mcp,
}

impl Dialect {
    /// All dialects, in the order of the documentation.
    pub const ALL: [Dialect; 10] = [
        Dialect::OpenaiChat,
        Dialect::OpenaiResponses,
        Dialect::Anthropic,
        Dialect::Bedrock,
        Dialect::Deepseek,
        Dialect::Gemini,
        Dialect::Ollama,
        Dialect::Mistral,
        Dialect::Cohere,
        Dialect::Mcp,
    ];

    /// The id used in commands, configuration, routes and headers.
    pub fn id(self) -> &'static str {
        match self {
            Dialect::OpenaiChat => "openai-chat",
            Dialect::OpenaiResponses => "openai-responses",
            Dialect::Anthropic => "anthropic",
            Dialect::Bedrock => "bedrock",
            Dialect::Deepseek => "deepseek",
            Dialect::Gemini => "gemini",
            Dialect::Ollama => "ollama",
            Dialect::Mistral => "mistral",
            Dialect::Cohere => "cohere",
            Dialect::Mcp => "mcp",
        }
    }

    /// The dialect of an id.
    pub fn from_id(id: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.id() == id)
    }

    /// Whether extra fields of one dialect mean the same in another.
    pub fn shares_wire(self, other: Dialect) -> bool {
        self.parent() == other.parent()
    }

    /// Whether a signature made in one dialect can be read in another: Claude's are the same at
    /// Anthropic and on Bedrock.
    pub fn shares_signatures(self, other: Dialect) -> bool {
        let maker =
            |dialect| if dialect == Dialect::Bedrock { Dialect::Anthropic } else { dialect };
        maker(self) == maker(other)
    }

    fn parent(self) -> Dialect {
        if self == Dialect::Deepseek { Dialect::OpenaiChat } else { self }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(id: &str) -> Result<Dialect, UnknownDialect> {
        Dialect::from_id(id).ok_or_else(|| UnknownDialect(id.to_owned()))
    }
}

/// The error for a text that is not the id of a dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no dialect is named '{0}'; dialects: {ids}", ids = Dialect::ALL.map(Dialect::id).join(" "))]
pub struct UnknownDialect(String);
