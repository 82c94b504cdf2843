//! Rules for sampling, and for the format of the answer.

/// Which limits and sampling fields exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingRule {
    /// What to say if no limit was given and the vendor requires one
    pub default_max_tokens: Option<u64>,
    /// Temperature
    pub temperature: bool,
    /// The greatest temperature
    pub max_temperature: Option<u64>,
    /// Nucleus
    pub top_p: bool,
    /// Candidates
    pub top_k: bool,
    /// Stop texts
    pub stop: bool,
    /// Seed
    pub seed: bool,
}

impl SamplingRule {
    /// What everybody has: a temperature, a nucleus and stop texts, without bounds.
    pub const PLAIN: SamplingRule = SamplingRule {
        default_max_tokens: None,
        temperature: true,
        max_temperature: None,
        top_p: true,
        top_k: false,
        stop: true,
        seed: false,
    };
}

/// Which answer formats exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatRule {
    /// Any JSON object
    pub json: bool,
    /// JSON by a schema
    pub schema: bool,
    /// Plain text, said explicitly
    pub text: bool,
    /// A name, a description and a strict flag for the schema
    pub named: bool,
}

impl FormatRule {
    /// No field for it.
    pub const NONE: FormatRule =
        FormatRule { json: false, schema: false, text: false, named: false };
}
