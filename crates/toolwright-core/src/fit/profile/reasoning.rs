//! Rules for thinking: what of it is sent back, and how it is asked for.

use crate::request::Thinking;

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
    /// What stands in for a signature that the vendor requires on a call of foreign history
    pub stand_in: Option<&'static str>,
}

impl ReasoningRule {
    /// It is never sent back.
    pub const NONE: ReasoningRule = ReasoningRule {
        replay: false,
        signed_only: false,
        must_echo: false,
        signature: false,
        signature_on_parts: false,
        redacted: false,
        sections: false,
        stand_in: None,
    };
}

/// Which settings for thinking exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingRule {
    /// On and off
    pub switch: bool,
    /// Effort
    pub effort: bool,
    /// The words for effort, from the least to the greatest; none if every word is taken
    pub efforts: &'static [&'static str],
    /// A budget of tokens
    pub budget: bool,
    /// The least budget, where a budget must also stay below the limit on tokens
    pub least_budget: Option<u64>,
    /// Whether an effort and a budget exclude each other
    pub effort_or_budget: bool,
    /// Whether the switch and the effort share one field
    pub one_field: bool,
    /// Whether "off" is said as an effort, `none`
    pub off_is_effort: bool,
    /// Whether it is on when nothing is said
    pub default_on: bool,
}

impl ThinkingRule {
    /// No settings.
    pub const NONE: ThinkingRule = ThinkingRule {
        switch: false,
        effort: false,
        efforts: &[],
        budget: false,
        least_budget: None,
        effort_or_budget: false,
        one_field: false,
        off_is_effort: false,
        default_on: false,
    };

    /// Whether the model will think, by what was said and the default. Effort alone starts nothing.
    pub fn is_on(&self, said: Option<&Thinking>) -> bool {
        let budget = said.is_some_and(|thinking| thinking.budget.is_some());
        said.and_then(|thinking| thinking.enabled).unwrap_or(budget || self.default_on)
    }
}
