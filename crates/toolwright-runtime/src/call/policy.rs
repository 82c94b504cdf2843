//! Decides which caller may call which tool. A call that is denied whatever its arguments is refused before they are
//! read; rules that look at arguments are evaluated after the check.
//!
//! Rules are tried in order, and the first match decides; `default` applies if none matches. In the
//! JSON form every field of a rule except `effect` is optional, and an absent field matches
//! everything:
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
//! | `{"path": …, "prefix": "…"}` | is a string with this prefix |
//! | `{"path": …, "glob": "…"}` | is a string that matches this pattern |
//! | `{"path": …, "absent": true}` | is absent |
//! | `{"path": …, "absent": false}` | is present |
//!
//! A function of a built-in prefab, such as `builtin-files/write_file`, also has the name of its tool: a rule for
//! `write_file` matches both.
//!
//! A path segment `*` stands for each item of an array: a rule that denies or asks matches if the
//! condition holds for any item, a rule that allows only if it holds for all. Conditions compare
//! text: `/data/../etc` starts with `/data/`, so a tool that takes paths must restrict them itself.

mod condition;
mod document;
mod glob;

pub use condition::{Condition, Test};
pub use glob::Glob;
use toolwright_json::Object;

use crate::session::Caller;

toolwright_json::words! {
    /// The decision about a call.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Verdict: as_str, from_name {
        /// The call runs
        #[default]
        Allow = "allow",
        /// The call is refused
        Deny = "deny",
        /// The call waits for approval
        Ask = "ask",
    }
}

/// A verdict for the calls that match all conditions.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The verdict for matching calls
    pub effect: Verdict,
    /// The tools; empty means all
    pub tools: Vec<Glob>,
    /// The ids of callers; empty means all
    pub callers: Vec<Glob>,
    /// The tenants; empty means all
    pub tenants: Vec<Glob>,
    /// Conditions on the arguments
    pub arguments: Vec<Condition>,
    /// The reason, for the model or the person
    pub reason: Option<String>,
}

/// Decides which caller may call which tool. By default every caller may call every tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The rules; the first match decides
    pub rules: Vec<Rule>,
    /// The verdict for calls that no rule matches
    pub default: Verdict,
}

/// The decision of a policy about one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judged<'p> {
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<&'p str>,
    /// Whether other arguments may have another verdict
    pub(crate) by_arguments: bool,
}

impl Rule {
    /// Creates a rule for every call.
    pub fn new(effect: Verdict) -> Rule {
        Rule { effect, ..Rule::default() }
    }

    /// Restricts the rule to tools, by glob patterns.
    pub fn with_tools<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Rule {
        self.tools.extend(names.into_iter().map(Glob::new));
        self
    }

    /// Restricts the rule to callers, by glob patterns.
    pub fn with_callers<'n>(mut self, ids: impl IntoIterator<Item = &'n str>) -> Rule {
        self.callers.extend(ids.into_iter().map(Glob::new));
        self
    }

    /// Adds a condition on an argument.
    pub fn with_argument(mut self, path: impl Into<String>, test: Test) -> Rule {
        self.arguments.push(Condition { path: path.into(), test });
        self
    }

    /// Sets the reason, which the model or the person reads.
    pub fn with_reason(mut self, reason: impl Into<String>) -> Rule {
        self.reason = Some(reason.into());
        self
    }

    fn concerns(&self, tool: &str, caller: &Caller) -> bool {
        let has = |globs: &[Glob], name: &str| {
            globs.is_empty() || globs.iter().any(|glob| glob.matches(name))
        };
        (has(&self.tools, tool) || builtin_name(tool).is_some_and(|own| has(&self.tools, own)))
            && has(&self.callers, &caller.id)
            && has(&self.tenants, &caller.tenant)
    }
}

/// What the ids of built-in prefabs begin with.
pub const BUILTIN_PREFIX: &str = "builtin-";

/// Returns the name of the built-in tool that is a function of a built-in prefab.
fn builtin_name(tool: &str) -> Option<&str> {
    tool.strip_prefix(BUILTIN_PREFIX)?.split_once('/').map(|(_, name)| name)
}

impl Policy {
    /// Creates a policy with one verdict for every call.
    pub fn new(default: Verdict) -> Policy {
        Policy { rules: Vec::new(), default }
    }

    /// Adds a rule after the others.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Policy {
        self.rules.push(rule);
        self
    }

    /// The verdict for a call.
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

    /// Whether a caller may call a tool with some arguments. Other tools are not shown to the model.
    pub fn shows(&self, tool: &str, caller: &Caller) -> bool {
        self.barred(tool, caller).is_none()
    }

    /// The denial of a tool that the caller may not call with any arguments.
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
