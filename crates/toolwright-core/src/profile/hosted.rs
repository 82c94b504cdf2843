//! Rules for hosted tools: those that a vendor runs itself, and that several vendors have.

/// A hosted tool that several vendors have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedKind {
    /// Search on the web
    WebSearch,
    /// Reading pages by their address
    WebFetch,
    /// Running code in a sandbox
    CodeExecution,
}

/// How a dialect writes one hosted tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostedRule {
    /// Which tool it is
    pub kind: HostedKind,
    /// How a definition is recognised
    pub mark: HostedMark,
    /// The definition without parameters, as JSON
    pub definition: &'static str,
    /// Parameters that several vendors have, by their path in the definition
    pub parameters: &'static [(HostedParameter, &'static [&'static str])],
    /// How a call of it is forced
    pub choice: HostedChoice,
}

/// How the definition of a hosted tool is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedMark {
    /// By the beginning of its `type`
    Type(&'static str),
    /// By a member of this name
    Member(&'static str),
}

/// A parameter of hosted tools that several vendors have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedParameter {
    /// Domains that results may come from: a list of strings
    AllowedDomains,
    /// Domains that results may not come from: a list of strings
    BlockedDomains,
    /// How often the tool may be used: a number
    MaxUses,
    /// Where the user is: an object with `type`, `city`, `region`, `country` and `timezone`
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
