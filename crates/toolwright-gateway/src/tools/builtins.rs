//! The built-in tools, and which of them need approval.

use std::collections::BTreeSet;

use toolwright_runtime::builtin::{self, Root};
use toolwright_runtime::call::{Policy, Rule, Verdict};
use toolwright_runtime::{Effect, Handler, Limits};

use super::config::{ToolSettings, default_limits};
use crate::config::{ConfigError, Result};

/// Why a tool with effects needs approval.
const GUARDED: &str = "It changes something.";

/// The built-in tools of a configuration.
pub struct Builtins {
    pub(super) handlers: Vec<Handler>,
    /// Those with effects that the configuration does not allow
    pub(super) guarded: BTreeSet<String>,
    pub(super) limits: Limits,
}

impl Builtins {
    /// Opens the folder of the tools, if the configuration has one.
    pub fn open(settings: Option<&ToolSettings>) -> Result<Builtins> {
        let Some(ToolSettings { root, allow, limits }) = settings else {
            let (handlers, guarded) = Default::default();
            return Ok(Builtins { handlers, guarded, limits: default_limits() });
        };
        let opened = Root::open(root);
        let opened = opened
            .map_err(|error| ConfigError::new("tools", format!("{}: {error}", root.display())))?;
        let handlers = builtin::handlers(opened);
        let effects = handlers.iter().filter(|own| own.settings().effect != Effect::None);
        let names = effects.map(|handler| handler.tool().name.clone());
        let guarded = names.filter(|own| !allow.contains(own)).collect();
        Ok(Builtins { handlers, guarded, limits: *limits })
    }

    /// Returns the tools that run without approval.
    pub fn runnable(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.iter().filter(|own| !self.guarded.contains(&own.tool().name))
    }

    /// Creates the policy of calls: guarded tools need approval.
    pub(super) fn policy(&self) -> Policy {
        if self.guarded.is_empty() {
            return Policy::default();
        }
        let names = self.guarded.iter().map(String::as_str);
        let rule = Rule::new(Verdict::Ask).with_tools(names).with_reason(GUARDED);
        Policy::default().with_rule(rule)
    }
}
