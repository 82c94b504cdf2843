//! Rules for thinking: what of it is sent back, and how it is asked for.

use super::family::Family;
use crate::model::request::Thinking;

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
    /// Whether thinking can be switched off
    pub can_disable: bool,
    /// Effort
    pub effort: bool,
    /// The words for effort, from the least to the greatest; none if every word is taken
    pub efforts: &'static [&'static str],
    /// A budget of tokens
    pub budget: bool,
    /// Least budget; `None` if budgets have no bounds
    pub least_budget: Option<u64>,
    /// Greatest budget
    pub most_budget: Option<u64>,
    /// Whether a budget must stay below the limit on tokens
    pub budget_within_limit: bool,
    /// Whether `default` is an effort, which asks for no more than its absence does
    pub default_effort: bool,
    /// Whether an effort and a budget exclude each other
    pub effort_or_budget: bool,
    /// Whether thinking can only be switched on with a budget
    pub on_needs_budget: bool,
    /// Whether effort and budget do nothing for thinking until it is switched on
    pub effort_needs_switch: bool,
    /// Whether the switch and the effort share one field
    pub one_field: bool,
    /// Whether "off" is said as an effort, `none`
    pub off_is_effort: bool,
    /// Whether "on" is said as an effort
    pub on_is_effort: bool,
    /// Whether it is on when nothing is said
    pub default_on: bool,
    /// Whether function tools require that it is off
    pub tools_exclude: bool,
    /// How a reply is made to show the thinking
    pub show: ShowRule,
}

/// How a reply is made to show the thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowRule {
    /// There is no setting
    None,
    /// It always shows the thinking
    Always,
    /// By the switch that asks for thinking
    Switch,
    /// By a field of its own
    Field {
        /// Whether the thinking is left out unless the field asks for it
        hides: bool,
        /// Whether the field can ask to leave it out
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

    /// Adds what a model family accepts.
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

    /// Claude's interface, at Anthropic and on Bedrock: `thinking` beside `output_config.effort`.
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

    /// OpenAI's interface: an effort, of which `none` switches off.
    pub fn openai(family: &Family) -> ThinkingRule {
        // An unknown model may take an effort; one that does not reason refuses it.
        let effort = *family == Family::UNKNOWN || !family.efforts.is_empty();
        let on_is_effort = !family.efforts.is_empty();
        ThinkingRule { effort, on_is_effort, ..ThinkingRule::NONE }.with_family(family)
    }

    /// Whether the model will think, by what was said and the default. Effort alone starts nothing
    /// where there is a switch.
    pub fn is_on(&self, said: Option<&Thinking>) -> bool {
        let effort = said.and_then(|thinking| thinking.effort.as_deref());
        let by_effort = effort.filter(|_| !self.switch).map(|word| word != "none");
        let budget = said.is_some_and(|thinking| thinking.budget.is_some());
        let switch = said.and_then(|thinking| thinking.enabled);
        switch.or(by_effort).unwrap_or(budget || self.default_on)
    }
}
