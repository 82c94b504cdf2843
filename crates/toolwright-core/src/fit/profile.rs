//! What a target can say, as data. Each dialect fills one in; [`fit`](crate::fit) reads it.

use crate::dialect::Dialect;
use crate::part::MediaKind;
use crate::request::Thinking;
use crate::response::StopReason;

/// The rules of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Whose rules these are
    pub dialect: Dialect,
    /// Legal tool names
    pub names: NameRule,
    /// Legal call ids
    pub ids: IdRule,
    /// What a tool definition can say
    pub tools: ToolRule,
    /// Which schemas are accepted
    pub schema: SchemaRule,
    /// Which tool choices exist
    pub choice: ChoiceRule,
    /// Whether there is a switch against parallel calls
    pub parallel_switch: bool,
    /// Where instructions go
    pub system: SystemRule,
    /// How turns follow each other
    pub turns: TurnRule,
    /// What messages may contain
    pub content: ContentRule,
    /// What outcomes may contain
    pub outcome: OutcomeRule,
    /// What becomes of thinking in the history
    pub reasoning: ReasoningRule,
    /// Which limits and sampling fields exist
    pub sampling: SamplingRule,
    /// Which settings for thinking exist
    pub thinking: ThinkingRule,
    /// Which answer formats exist
    pub format: FormatRule,
    /// What a reply in this dialect can say
    pub reply: ReplyRule,
}

/// Characters that a name or an id may consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Anything
    Any,
    /// `[A-Za-z0-9]`
    Alphanumeric,
    /// `[A-Za-z0-9_-]`
    Word,
    /// `[A-Za-z0-9_.-]`
    WordDot,
    /// `[A-Za-z0-9_.:-]`
    WordDotColon,
}

impl Charset {
    /// Whether a character belongs to the set.
    pub fn contains(self, character: char) -> bool {
        match self {
            Charset::Any => true,
            Charset::Alphanumeric => character.is_ascii_alphanumeric(),
            Charset::Word => character.is_ascii_alphanumeric() || matches!(character, '_' | '-'),
            Charset::WordDot => {
                character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
            }
            Charset::WordDotColon => {
                character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | ':')
            }
        }
    }
}

/// Legal tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRule {
    /// Characters
    pub charset: Charset,
    /// Whether the first must be a letter or `_`
    pub letter_first: bool,
    /// The most characters
    pub max: usize,
}

/// Legal call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRule {
    /// Characters
    pub charset: Charset,
    /// The fewest characters
    pub min: usize,
    /// The most characters
    pub max: usize,
    /// Whether every call must have one
    pub required: bool,
    /// What a made-up id begins with (`call_`, `toolu_`)
    pub prefix: &'static str,
}

/// What a tool definition can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRule {
    /// Free-text tools
    pub custom: bool,
    /// The `strict` flag
    pub strict: Strictness,
    /// Cache breakpoints
    pub cache: bool,
    /// A schema of the result
    pub output: bool,
    /// Example arguments
    pub examples: bool,
    /// A title for people, and MCP's annotations
    pub annotations: bool,
    /// The most tools in a request
    pub max: Option<usize>,
    /// The most characters of a description
    pub max_description: Option<usize>,
    /// Whether a definition must have a schema, be it an empty one
    pub parameters_required: bool,
    /// Whether tools must be declared when the history has calls or outcomes (case 14)
    pub required_by_history: bool,
}

/// Where strictness is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Nowhere
    None,
    /// On each tool
    PerTool,
    /// On the request, for all tools at once
    PerRequest,
}

/// Which schemas are accepted for parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaRule {
    /// The keywords of a tool that is not strict
    pub subset: Subset,
    /// The keywords of a strict tool
    pub strict: Subset,
    /// Whether `anyOf`, `oneOf` or `allOf` may stand at the root
    pub root_union: bool,
    /// Whether `integer` must become `number`
    pub integer_as_number: bool,
}

/// A part of JSON Schema that a vendor accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subset {
    /// All of it
    Full,
    /// OpenAI strict: closed objects, every property required, optional ones nullable
    OpenaiStrict,
    /// DeepSeek strict: as `OpenaiStrict`, without lengths, `$ref` inlined
    DeepseekStrict,
    /// Anthropic strict: no bounds, closed objects, optional ones stay optional
    AnthropicStrict,
    /// What the Ollama server keeps of a schema
    Ollama,
    /// Gemini's OpenAPI subset (`parameters`)
    GeminiOpenapi,
}

/// Which tool choices exist. A choice that does not is enforced by other means or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChoiceRule {
    /// Explicit auto
    pub auto: bool,
    /// No calls
    pub none: bool,
    /// Any call
    pub required: bool,
    /// One tool
    pub tool: bool,
    /// A subset, a call optional
    pub allowed_auto: bool,
    /// A subset, a call required
    pub allowed_required: bool,
    /// Whether a subset of one tool, a call required, differs from that tool
    pub allowed_one: bool,
    /// Whether a forced call excludes thinking
    pub forced_excludes_thinking: bool,
    /// Whether the switch against parallel calls stands inside the choice
    pub holds_parallel: bool,
}

/// Where instructions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemRule {
    /// Whether system messages may stand within the conversation
    pub in_conversation: bool,
    /// Whether the role `developer` exists
    pub developer: bool,
    /// Whether instructions can only be one plain text, without breakpoints
    pub single_text: bool,
}

/// How turns follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRule {
    /// How outcomes are carried
    pub outcomes: OutcomeCarrier,
    /// Which neighbours of one role are one message
    pub merges: Merges,
    /// Whether an assistant's turn must stand between outcomes and the user (Mistral)
    pub assistant_after_outcomes: bool,
    /// Whether an assistant's turn keeps the order of text and calls; else text comes first
    pub ordered: bool,
    /// Whether an assistant's turn has at most one text, so that several are joined
    pub single_text: bool,
}

/// Which neighbours of one role are one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merges {
    /// None: each stays apart
    None,
    /// Those of the assistant, whose turn has no borders within
    Assistant,
    /// Those of the user, too: turns must alternate
    All,
}

/// How outcomes are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeCarrier {
    /// A message for each
    OwnMessage,
    /// All outcomes of a turn in one message of the user, before anything else
    UserTurn,
}

/// What messages may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentRule {
    /// Media in a user's message
    pub media: MediaRule,
    /// Cache breakpoints on parts
    pub cache: bool,
    /// Cache breakpoints on calls, too
    pub cache_on_calls: bool,
    /// The breakpoint's lifetime
    pub cache_ttl: bool,
    /// Refusals as such; else they become text
    pub refusal: bool,
    /// Whether arguments of a call must be an object; malformed text cannot be said then
    pub arguments_object: bool,
    /// Free-text arguments
    pub arguments_free: bool,
    /// Whether a text may be empty
    pub empty_text: bool,
}

/// Which media, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaRule {
    /// The kinds that are accepted in base64
    pub base64: &'static [MediaKind],
    /// The kinds that are accepted by address
    pub url: &'static [MediaKind],
    /// Whether a document may come as plain text
    pub text_document: bool,
    /// Whether the vendor keeps files under an id
    pub file: bool,
    /// Whether a file name or title can be said
    pub name: bool,
    /// Whether a media type is said, and must be, of what is at an address
    pub url_mime: bool,
}

/// What outcomes may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeRule {
    /// Media beside the text
    pub media: MediaRule,
    /// JSON as a value
    pub json: JsonRule,
    /// A flag for failure; else the text says it
    pub error_flag: bool,
    /// Whether success can be said explicitly
    pub success_flag: bool,
    /// Whether the tool's name is said
    pub name: bool,
    /// Cache breakpoints
    pub cache: bool,
    /// Whether several texts stay apart; else they are joined
    pub many_texts: bool,
    /// Whether the content may be empty
    pub empty: bool,
}

/// Which JSON an outcome can hold as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonRule {
    /// None: it becomes text
    Text,
    /// Objects; everything else becomes text
    Objects,
    /// Anything
    Any,
}

/// What becomes of thinking in the history of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasoningRule {
    /// Whether thinking can be sent back at all
    pub replay: bool,
    /// Whether only thinking with a signature of this vendor is accepted
    pub signed_only: bool,
    /// Whether every turn with calls must come back with its thinking while thinking is on (case 8)
    pub must_echo: bool,
    /// Whether signatures can be attached to reasoning
    pub signature: bool,
    /// Whether signatures can be attached to any part
    pub signature_on_parts: bool,
    /// Whether redacted thinking can be sent back
    pub redacted: bool,
    /// Whether sections stay apart, summaries first; else they are joined
    pub sections: bool,
    /// Whether thinking keeps its place among other parts; else it comes first, joined
    pub positioned: bool,
    /// What stands in for a signature that the vendor requires on a call of foreign history
    pub stand_in: Option<&'static str>,
}

/// Which limits and sampling fields exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingRule {
    /// What to say if no limit was given and the vendor requires one
    pub default_max_tokens: Option<u64>,
    /// Temperature
    pub temperature: bool,
    /// The greatest temperature
    pub max_temperature: Option<u64>,
    /// Nucleus
    pub top_p: bool,
    /// Candidates
    pub top_k: bool,
    /// Stop texts
    pub stop: bool,
    /// Seed
    pub seed: bool,
}

/// Which settings for thinking exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingRule {
    /// On and off
    pub switch: bool,
    /// Effort
    pub effort: bool,
    /// A budget of tokens
    pub budget: bool,
    /// Whether the switch and the effort share one field
    pub one_field: bool,
    /// Whether "off" is said as an effort, `none`
    pub off_is_effort: bool,
    /// Whether it is on when nothing is said
    pub default_on: bool,
}

/// Which answer formats exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatRule {
    /// Any JSON object
    pub json: bool,
    /// JSON by a schema
    pub schema: bool,
    /// Plain text, said explicitly
    pub text: bool,
    /// A name, a description and a strict flag for the schema
    pub named: bool,
}

/// What a reply in this dialect can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyRule {
    /// An id
    pub id: bool,
    /// The model
    pub model: bool,
    /// The stop reasons that come back as they went
    pub stops: &'static [StopReason],
    /// Which stop text was met
    pub stop_sequence: bool,
    /// Details of a refusal
    pub stop_details: bool,
    /// Thinking, as text
    pub reasoning: bool,
    /// Tokens read from a cache
    pub cache_read: bool,
    /// Tokens written to a cache
    pub cache_write: bool,
    /// Tokens of thinking
    pub reasoning_tokens: bool,
    /// Any counts at all
    pub usage: bool,
    /// Whether all of these counts must be said, be they zero
    pub counts_required: bool,
}

impl MediaRule {
    /// No media.
    pub const NONE: MediaRule = MediaRule {
        base64: &[],
        url: &[],
        text_document: false,
        file: false,
        name: false,
        url_mime: false,
    };
}

impl ThinkingRule {
    /// Whether the model will think, by what was said and the default. Effort alone starts nothing.
    pub fn is_on(&self, said: Option<&Thinking>) -> bool {
        let budget = said.is_some_and(|thinking| thinking.budget.is_some());
        said.and_then(|thinking| thinking.enabled).unwrap_or(budget || self.default_on)
    }
}
