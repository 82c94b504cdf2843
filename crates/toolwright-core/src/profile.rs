//! Capabilities and limits of a target, as data. Each dialect defines its profile;
//! `fit` of `toolwright-dialects` applies it.
//!
//! Every rule has a baseline for a target that accepts text and has no special features. A dialect
//! states only its differences. There is one file for each group of rules.

mod content;
pub mod family;
mod hosted;
mod names;
mod overrides;
mod reasoning;
mod reply;
mod settings;
mod tools;
mod turns;

pub use content::{ContentRule, JsonRule, MediaRule, OutcomeRule};
pub use family::{Family, FixedSampling};
pub use hosted::{HostedChoice, HostedKind, HostedMark, HostedParameter, HostedRule};
pub use names::{Charset, IdRule, NameRule};
pub use overrides::{Overrides, Setting, UnknownSetting};
pub use reasoning::{ReasoningRule, ShowRule, ThinkingRule};
pub use reply::ReplyRule;
pub use settings::{FormatRule, SamplingRule};
pub use tools::{ChoiceRule, SchemaRule, StrictLimits, Strictness, Subset, ToolRule};
pub use turns::{LatePlace, LateSystem, Merges, OutcomeCarrier, SystemRule, TurnRule};

use crate::model::dialect::Dialect;

/// The extra fields of a vendor that refuses a request for any other field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFields {
    /// Fields of the request
    pub request: &'static [&'static str],
    /// Fields of the request that take certain strings only
    pub values: &'static [(&'static str, &'static [&'static str])],
    /// Fields of a message, which may be an outcome
    pub message: &'static [&'static str],
    /// Fields of a block of content and of a call
    pub part: &'static [&'static str],
    /// Fields of a tool
    pub tool: &'static [&'static str],
}

/// The rules of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The dialect
    pub dialect: Dialect,
    /// The accepted extra fields, if the vendor refuses all others
    pub known_fields: Option<KnownFields>,
    /// Whether the vendor refuses tools and content blocks of a type that is not canonical,
    /// although its format allows them
    pub known_types_only: bool,
    /// Legal tool names
    pub names: NameRule,
    /// Legal call ids
    pub ids: IdRule,
    /// Fields of a tool definition
    pub tools: ToolRule,
    /// Accepted schemas
    pub schema: SchemaRule,
    /// Supported tool choices
    pub choice: ChoiceRule,
    /// Whether parallel calls can be disabled
    pub parallel_switch: bool,
    /// Placement of instructions
    pub system: SystemRule,
    /// Order of turns
    pub turns: TurnRule,
    /// Content of messages
    pub content: ContentRule,
    /// Content of outcomes
    pub outcome: OutcomeRule,
    /// Reasoning in the history
    pub reasoning: ReasoningRule,
    /// Supported limits and sampling fields
    pub sampling: SamplingRule,
    /// Supported settings of reasoning
    pub thinking: ThinkingRule,
    /// Supported response formats
    pub format: FormatRule,
    /// Fields of a reply
    pub reply: ReplyRule,
    /// Overrides configured for this upstream
    pub overrides: Overrides,
}

impl Profile {
    /// Creates a profile of baselines: any name and any schema, text only.
    pub const fn plain(dialect: Dialect) -> Profile {
        Profile {
            dialect,
            known_fields: None,
            known_types_only: false,
            names: NameRule::ANY,
            ids: IdRule::ANY,
            tools: ToolRule::PLAIN,
            schema: SchemaRule::FULL,
            choice: ChoiceRule::NONE,
            parallel_switch: false,
            system: SystemRule::PLAIN,
            turns: TurnRule::PLAIN,
            content: ContentRule::PLAIN,
            outcome: OutcomeRule::TEXT,
            reasoning: ReasoningRule::NONE,
            sampling: SamplingRule::PLAIN,
            thinking: ThinkingRule::NONE,
            format: FormatRule::NONE,
            reply: ReplyRule::PLAIN,
            overrides: Overrides::NONE,
        }
    }

    /// Creates the profile of a client that receives the canonical model itself, so that nothing of
    /// the vendor's reply is dropped. Every call has an id there.
    pub fn canonical(dialect: Dialect) -> Profile {
        Profile {
            ids: IdRule { required: true, ..IdRule::ANY },
            content: ContentRule { refusal: true, arguments_free: true, ..ContentRule::PLAIN },
            reasoning: ReasoningRule {
                replay: true,
                signature: true,
                signature_on_parts: true,
                redacted: true,
                sections: true,
                ..ReasoningRule::NONE
            },
            reply: ReplyRule::ALL,
            ..Profile::plain(dialect)
        }
    }
}
