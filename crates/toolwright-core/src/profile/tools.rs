//! Rules for tool definitions, their schemas, and the choice among them.

use super::hosted::HostedRule;

/// The fields that a tool definition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRule {
    /// Free-text tools
    pub custom: bool,
    /// Namespaces of tools
    pub namespaces: bool,
    /// The `strict` flag
    pub strict: Strictness,
    /// Cache breakpoints
    pub cache: bool,
    /// A schema of the result
    pub output: bool,
    /// Example arguments
    pub examples: bool,
    /// A display name, and MCP's annotations
    pub annotations: bool,
    /// Maximum number of tools in a request
    pub max: Option<usize>,
    /// Maximum number of characters of a description
    pub max_description: Option<usize>,
    /// Whether a definition must have a schema, even an empty one
    pub parameters_required: bool,
    /// Whether tools must be declared when the history has calls or outcomes (case 14)
    pub required_by_history: bool,
    /// Hosted tools that other vendors have too
    pub hosted: &'static [HostedRule],
    /// Whether hosted tools exclude functions
    pub hosted_alone: bool,
    /// Limits of all strict tools together
    pub strict_limits: Option<StrictLimits>,
}

/// Limits of all strict tools of a request together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrictLimits {
    /// Strict tools
    pub tools: usize,
    /// Parameters of several types
    pub unions: usize,
    /// Optional parameters
    pub optional: usize,
}

impl ToolRule {
    /// A name, a description and an optional schema.
    pub const PLAIN: ToolRule = ToolRule {
        custom: false,
        namespaces: false,
        strict: Strictness::None,
        cache: false,
        output: false,
        examples: false,
        annotations: false,
        max: None,
        max_description: None,
        parameters_required: false,
        required_by_history: false,
        hosted: &[],
        hosted_alone: false,
        strict_limits: None,
    };
}

/// Where strictness is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Nowhere
    None,
    /// On each tool
    PerTool,
    /// On the request, for all tools at once
    PerRequest,
}

/// Schemas that are accepted for parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaRule {
    /// The keywords of a tool that is not strict
    pub subset: Subset,
    /// The keywords of a strict tool
    pub strict: Subset,
    /// Whether `anyOf`, `oneOf` or `allOf` is accepted at the root
    pub root_union: bool,
    /// Whether `integer` must become `number`
    pub integer_as_number: bool,
}

impl SchemaRule {
    /// Any schema, unchanged.
    pub const FULL: SchemaRule = SchemaRule {
        subset: Subset::Full,
        strict: Subset::Full,
        root_union: true,
        integer_as_number: false,
    };
}

/// A part of JSON Schema that a vendor accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subset {
    /// All of it
    Full,
    /// OpenAI strict: closed objects, every property required, optional ones nullable
    OpenaiStrict,
    /// DeepSeek strict: like `OpenaiStrict`, without lengths, `$ref` inlined
    DeepseekStrict,
    /// Anthropic strict: no bounds, closed objects, optional properties stay optional
    AnthropicStrict,
    /// The keywords that the Ollama server supports
    Ollama,
    /// Gemini's OpenAPI subset (`parameters`)
    GeminiOpenapi,
}

/// Supported tool choices. An unsupported choice is enforced by other means or refused.
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
    /// A subset of the tools, with an optional call
    pub allowed_auto: bool,
    /// A subset of the tools, with a required call
    pub allowed_required: bool,
    /// Whether a subset of one tool with a required call differs from that tool
    pub allowed_one: bool,
    /// Whether a call that cannot be forced is enforced by the response format
    pub forced_by_format: bool,
    /// Whether a forced call excludes thinking
    pub forced_excludes_thinking: bool,
    /// Whether the switch for parallel calls is a member of the choice
    pub holds_parallel: bool,
}

impl ChoiceRule {
    /// No field.
    pub const NONE: ChoiceRule = ChoiceRule {
        auto: false,
        none: false,
        required: false,
        tool: false,
        allowed_auto: false,
        allowed_required: false,
        allowed_one: false,
        forced_by_format: false,
        forced_excludes_thinking: false,
        holds_parallel: false,
    };

    /// The four choices that most vendors have, without subsets.
    pub const USUAL: ChoiceRule =
        ChoiceRule { auto: true, none: true, required: true, tool: true, ..ChoiceRule::NONE };
}
