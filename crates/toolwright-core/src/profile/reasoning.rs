//! Rules for thinking: in the history, and its settings.

use super::family::Family;
use crate::model::request::Thinking;

/// Thinking in the history of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasoningRule {
    /// Whether thinking can be sent
    pub replay: bool,
    /// Whether only thinking with a signature of this vendor is accepted
    pub signed_only: bool,
    /// Whether every turn with calls must include its thinking while thinking is enabled (case 8)
    pub must_echo: bool,
    /// Whether signatures can be attached to reasoning
    pub signature: bool,
    /// Whether signatures can be attached to any part
    pub signature_on_parts: bool,
    /// Whether redacted thinking can be sent
    pub redacted: bool,
    /// Whether sections stay separate, summaries first; otherwise they are joined
    pub sections: bool,
    /// The stand-in for a signature that the vendor requires on a call from another vendor
    pub stand_in: Option<&'static str>,
}

impl ReasoningRule {
    /// Thinking is never sent.
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

/// Supported settings of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingRule {
    /// Enabled or disabled
    pub switch: bool,
    /// Whether thinking can be disabled
    pub can_disable: bool,
    /// Effort
    pub effort: bool,
    /// The effort words, from least to greatest; empty if every word is accepted
    pub efforts: &'static [&'static str],
    /// A token budget
    pub budget: bool,
    /// Minimum budget; `None` if budgets have no bounds
    pub least_budget: Option<u64>,
    /// Maximum budget
    pub most_budget: Option<u64>,
    /// Whether a budget must be below the token limit
    pub budget_within_limit: bool,
    /// Whether `default` is an effort that is equivalent to none
    pub default_effort: bool,
    /// Whether an effort and a budget exclude each other
    pub effort_or_budget: bool,
    /// Whether thinking can only be enabled with a budget
    pub on_needs_budget: bool,
    /// Whether effort and budget have no effect unless thinking is enabled
    pub effort_needs_switch: bool,
    /// Whether the switch and the effort share one field
    pub one_field: bool,
    /// Whether thinking is disabled by the effort `none`
    pub off_is_effort: bool,
    /// Whether thinking is enabled by an effort
    pub on_is_effort: bool,
    /// Whether it is enabled by default
    pub default_on: bool,
    /// Whether function tools require that it is disabled
    pub tools_exclude: bool,
    /// How the reply shows the thinking
    pub show: ShowRule,
}

/// How a reply shows the thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShowRule {
    /// There is no setting
    None,
    /// The thinking is always shown
    Always,
    /// By the switch that enables thinking
    Switch,
    /// By a separate field
    Field {
        /// Whether the thinking is omitted unless the field requests it
        hides: bool,
        /// Whether the field can request to omit it
        can_hide: bool,
    },
}

impl ThinkingRule {
    /// No settings.
    pub const NONE: ThinkingRule = ThinkingRule {
        switch: false,
        can_disable: true,
        effort: false,
        efforts: &[],
        budget: false,
        least_budget: None,
        most_budget: None,
        budget_within_limit: false,
        default_effort: false,
        effort_or_budget: false,
        on_needs_budget: false,
        effort_needs_switch: false,
        one_field: false,
        off_is_effort: false,
        on_is_effort: false,
        default_on: false,
        tools_exclude: false,
        show: ShowRule::None,
    };

    /// Adds the settings of a model family.
    #[must_use]
    pub fn with_family(self, family: &Family) -> ThinkingRule {
        let (least, most) = family.budget.unzip();
        ThinkingRule {
            efforts: family.efforts,
            least_budget: least,
            most_budget: most,
            default_on: family.default_on,
            can_disable: family.can_disable,
            ..self
        }
    }

    /// Returns the rule of Claude, at Anthropic and on Bedrock: `thinking` beside
    /// `output_config.effort`.
    pub fn claude(family: &Family) -> ThinkingRule {
        let show = if family.adaptive {
            ShowRule::Field { hides: family.hidden, can_hide: true }
        } else {
            ShowRule::Always
        };
        ThinkingRule {
            switch: family.thinks(),
            effort: !family.efforts.is_empty(),
            budget: family.budget.is_some(),
            budget_within_limit: true,
            on_needs_budget: !family.adaptive,
            effort_needs_switch: true,
            show: if family.thinks() { show } else { ShowRule::None },
            ..ThinkingRule::NONE
        }
        .with_family(family)
    }

    /// Returns the rule of OpenAI: an effort, with `none` to disable.
    pub fn openai(family: &Family) -> ThinkingRule {
        // An unknown model may accept an effort; one that does not reason refuses it.
        let effort = *family == Family::UNKNOWN || !family.efforts.is_empty();
        let on_is_effort = !family.efforts.is_empty();
        ThinkingRule { effort, on_is_effort, ..ThinkingRule::NONE }.with_family(family)
    }

    /// Whether the model will think, by the settings and the default. Effort alone does not enable
    /// thinking if there is a switch.
    pub fn is_on(&self, said: Option<&Thinking>) -> bool {
        let effort = said.and_then(|thinking| thinking.effort.as_deref());
        let by_effort = effort.filter(|_| !self.switch).map(|word| word != "none");
        let budget = said.is_some_and(|thinking| thinking.budget.is_some());
        let switch = said.and_then(|thinking| thinking.enabled);
        switch.or(by_effort).unwrap_or(budget || self.default_on)
    }
}
