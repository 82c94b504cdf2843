//! Rules for hosted tools: those that a vendor runs, and that several vendors have.

use toolwright_json::Json;

/// A hosted tool that several vendors have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostedKind {
    /// Web search
    WebSearch,
    /// Fetching pages by URL
    WebFetch,
    /// Code execution in a sandbox
    CodeExecution,
}

/// The form of a hosted tool in a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostedRule {
    /// The tool
    pub kind: HostedKind,
    /// How a definition is recognized
    pub mark: HostedMark,
    /// The definition without parameters, as JSON
    pub definition: &'static str,
    /// Parameters that several vendors have, by their path in the definition
    pub parameters: &'static [(HostedParameter, &'static [&'static str])],
    /// How a call of it is forced
    pub choice: HostedChoice,
}

/// How the definition of a hosted tool is recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedMark {
    /// By the prefix of its `type`
    Type(&'static str),
    /// By a member of this name
    Member(&'static str),
}

impl HostedMark {
    /// Whether a definition is that of the tool.
    pub fn is_in(self, wire: &Json) -> bool {
        match self {
            HostedMark::Type(start) => {
                wire.get("type").and_then(Json::as_str).is_some_and(|own| own.starts_with(start))
            }
            HostedMark::Member(name) => wire.get(name).is_some_and(|own| !own.is_null()),
        }
    }
}

/// A parameter of hosted tools that several vendors have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedParameter {
    /// Allowed domains of results: a list of strings
    AllowedDomains,
    /// Blocked domains of results: a list of strings
    BlockedDomains,
    /// Maximum number of uses: a number
    MaxUses,
    /// The location of the user: an object with `type`, `city`, `region`, `country` and `timezone`
    UserLocation,
}

/// How a call of a hosted tool is forced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedChoice {
    /// By its name, as for any tool
    Name(&'static str),
    /// By its type
    Type(&'static str),
    /// Not at all
    None,
}
