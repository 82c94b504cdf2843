//! The ids of the dialects. The codecs behind them are in `toolwright-dialects`.

use std::fmt;
use std::str::FromStr;

toolwright_json::words! {
    /// A wire format.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Dialect: id, from_id {
        /// OpenAI Chat Completions
        OpenaiChat = "openai-chat",
        /// OpenAI Responses
        OpenaiResponses = "openai-responses",
        /// Anthropic Messages
        Anthropic = "anthropic",
        /// AWS Bedrock Converse
        Bedrock = "bedrock",
        /// DeepSeek, on OpenAI Chat
        Deepseek = "deepseek",
        /// Google Gemini `generateContent`
        Gemini = "gemini",
        /// Ollama `/api/chat`
        Ollama = "ollama",
        /// Mistral
        Mistral = "mistral",
        /// Cohere v2
        Cohere = "cohere",
        /// Model Context Protocol: tools only
        Mcp = "mcp",
    }
}

impl Dialect {
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
