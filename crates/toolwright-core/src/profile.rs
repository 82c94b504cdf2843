//! What a target can say, as data. Each dialect fills one in; [`fit`](crate::fit) reads it.
//!
//! Every rule has a baseline, which stands for a target that takes text and has nothing special. A
//! dialect states only in what it differs. The rules stand in one file a subject.

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
pub use overrides::{Overrides, Setting};
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
    /// Whose rules these are
    pub dialect: Dialect,
    /// The extra fields that exist, where the vendor refuses all others
    pub known_fields: Option<KnownFields>,
    /// Whether the vendor refuses tools and blocks of content of a type that is not canonical, although
    /// its format leaves room for them
    pub known_types_only: bool,
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
    /// What is configured for this upstream
    pub overrides: Overrides,
}

impl Profile {
    /// All baselines: any name and any schema, text in and text out.
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

    /// Of a client that takes the canonical model itself: whatever a vendor of this dialect answers
    /// reaches it. Every call has an id there, so that each outcome finds its call.
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
