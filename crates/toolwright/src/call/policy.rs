//! Who may call what, as data. It is asked when the arguments are known to be right.
//!
//! Rules are tried in order and the first that matches decides; the default decides the rest. As a
//! document, every field of a rule but `effect` may be left out, and then matches everything:
//!
//! ```json
//! {
//!   "default": "allow",
//!   "rules": [
//!     {"effect": "allow", "tools": ["git_commit"], "callers": ["release-bot"]},
//!     {"effect": "ask", "tools": ["git_commit"], "reason": "Commits need a person's word."},
//!     {"effect": "deny", "tools": ["file_*"], "tenants": ["guest*"]},
//!     {"effect": "deny", "tools": ["transfer"],
//!      "arguments": [{"path": "/currency", "one_of": ["BTC", "XTS"]}]}
//!   ]
//! }
//! ```
//!
//! `tools`, `callers` and `tenants` are lists of names, where `*` stands for any text and `?` for
//! any character; one of them must match. All conditions on `arguments` must hold:
//!
//! | condition | holds if the value at `path` (a JSON Pointer) |
//! |---|---|
//! | `{"path": …, "equals": v}` | is `v`, numbers by value |
//! | `{"path": …, "one_of": [v, …]}` | is one of these |
//! | `{"path": …, "prefix": "…"}` | is a string that starts so |
//! | `{"path": …, "glob": "…"}` | is a string of this form |
//! | `{"path": …, "absent": true}` | is not there |
//! | `{"path": …, "absent": false}` | is there |
//!
//! A segment `*` of a path stands for each item of an array: a rule that denies or asks matches if
//! the condition holds for any of them, a rule that allows only if it holds for all. Conditions see
//! text, not meaning: `/data/../etc` starts with `/data/`, so a tool that takes paths must guard its
//! root itself.

mod condition;
mod document;
mod glob;

pub use condition::{Condition, Test};
pub use glob::Glob;
use toolwright_core::json::Object;

use crate::session::Caller;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Verdict {
    /// It runs
    #[default]
    Allow,
    /// It is refused
    Deny,
    /// A person is asked
    Ask,
}

/// Which calls are judged how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// What happens to calls that match
    pub effect: Verdict,
    /// The tools; none listed means all
    pub tools: Vec<Glob>,
    /// The ids of callers; none listed means all
    pub callers: Vec<Glob>,
    /// The tenants; none listed means all
    pub tenants: Vec<Glob>,
    /// What the arguments must be like
    pub arguments: Vec<Condition>,
    /// Why, in words that the model or the person may read
    pub reason: Option<String>,
}

/// Who may call what. By default everybody may call everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The rules; the first that matches decides
    pub rules: Vec<Rule>,
    /// What happens to a call that no rule matches
    pub default: Verdict,
}

/// What a policy says to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judged<'p> {
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<&'p str>,
    /// Whether other arguments might be judged otherwise
    pub(crate) by_arguments: bool,
}

impl Rule {
    /// A rule for every call.
    pub fn new(effect: Verdict) -> Rule {
        Rule { effect, ..Rule::default() }
    }

    /// For these tools.
    #[must_use]
    pub fn for_tools<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Rule {
        self.tools.extend(names.into_iter().map(Glob::new));
        self
    }

    /// For these callers.
    #[must_use]
    pub fn for_callers<'n>(mut self, ids: impl IntoIterator<Item = &'n str>) -> Rule {
        self.callers.extend(ids.into_iter().map(Glob::new));
        self
    }

    /// For callers of these tenants.
    #[must_use]
    pub fn for_tenants<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Rule {
        self.tenants.extend(names.into_iter().map(Glob::new));
        self
    }

    /// For arguments that meet a condition, as well as those before it.
    #[must_use]
    pub fn where_argument(mut self, path: impl Into<String>, test: Test) -> Rule {
        self.arguments.push(Condition { path: path.into(), test });
        self
    }

    /// With a reason, which the model or the person will read.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Rule {
        self.reason = Some(reason.into());
        self
    }

    fn concerns(&self, tool: &str, caller: &Caller) -> bool {
        let has = |globs: &[Glob], name: &str| {
            globs.is_empty() || globs.iter().any(|glob| glob.matches(name))
        };
        has(&self.tools, tool)
            && has(&self.callers, &caller.id)
            && has(&self.tenants, &caller.tenant)
    }
}

impl Policy {
    /// A policy of one verdict for everything.
    pub fn new(default: Verdict) -> Policy {
        Policy { rules: Vec::new(), default }
    }

    /// With a further rule after the others.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Policy {
        self.rules.push(rule);
        self
    }

    /// What happens to a call.
    pub fn judge(&self, tool: &str, caller: &Caller, arguments: &Object) -> Verdict {
        self.judged(tool, caller, arguments).verdict
    }

    pub(crate) fn judged(&self, tool: &str, caller: &Caller, arguments: &Object) -> Judged<'_> {
        let mut by_arguments = false;
        for rule in self.rules.iter().filter(|rule| rule.concerns(tool, caller)) {
            by_arguments |= !rule.arguments.is_empty();
            let every = rule.effect == Verdict::Allow;
            if rule.arguments.iter().all(|condition| condition.holds(arguments, every)) {
                let reason = rule.reason.as_deref();
                return Judged { verdict: rule.effect, reason, by_arguments };
            }
        }
        Judged { verdict: self.default, reason: None, by_arguments }
    }

    /// Whether there may be arguments with which a caller can call a tool. A tool of which this is
    /// false is not shown to the model.
    pub fn shows(&self, tool: &str, caller: &Caller) -> bool {
        self.barred(tool, caller).is_none()
    }

    /// Why no arguments would do, if none would.
    pub(crate) fn barred(&self, tool: &str, caller: &Caller) -> Option<Judged<'_>> {
        let no = |reason| Some(Judged { verdict: Verdict::Deny, reason, by_arguments: false });
        for rule in self.rules.iter().filter(|rule| rule.concerns(tool, caller)) {
            match (rule.effect, rule.arguments.is_empty()) {
                (Verdict::Deny, true) => return no(rule.reason.as_deref()),
                (Verdict::Deny, false) => {}
                (Verdict::Allow | Verdict::Ask, _) => return None,
            }
        }
        if self.default == Verdict::Deny { no(None) } else { None }
    }
}
