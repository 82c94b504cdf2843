//! Limits of numbers and counts that follow from other limits.

use toolwright_json::{Json, Number};

use super::given::Given;
use super::type_set::Types;

impl Given<'_> {
    /// Whether a limit of numbers follows.
    pub(super) fn implies_limit(&self, keyword: &str, limit: &Number) -> bool {
        let any = |keyword: &str, implies: &dyn Fn(&Number) -> bool| {
            self.keyword(keyword).any(|value| matches!(value, Json::Number(own) if implies(own)))
        };
        match keyword {
            "minimum" => {
                any("minimum", &|own| own.compare(limit).is_ge())
                    || any("exclusiveMinimum", &|own| own.compare(limit).is_ge())
            }
            "exclusiveMinimum" => {
                any("minimum", &|own| own.compare(limit).is_gt())
                    || any("exclusiveMinimum", &|own| own.compare(limit).is_ge())
            }
            "maximum" => {
                any("maximum", &|own| own.compare(limit).is_le())
                    || any("exclusiveMaximum", &|own| own.compare(limit).is_le())
            }
            "exclusiveMaximum" => {
                any("maximum", &|own| own.compare(limit).is_lt())
                    || any("exclusiveMaximum", &|own| own.compare(limit).is_le())
            }
            "multipleOf" => {
                let is_multiple =
                    |own: &Number| own.decimal().is_multiple_of(&limit.decimal()) == Some(true);
                let is_integer = (self.types & Types::NUMBER).is_within(Types::INTEGER);
                any("multipleOf", &is_multiple) || is_integer && is_multiple(&Number::from(1_u64))
            }
            _ => false,
        }
    }

    /// Whether a limit of a count follows from a limit of the same kind.
    pub(super) fn implies_count(&self, keyword: &str, limit: u64) -> bool {
        if keyword.starts_with("min") {
            self.at_least(keyword) >= limit
        } else {
            self.at_most(keyword).is_some_and(|own| own <= limit)
        }
    }
}
