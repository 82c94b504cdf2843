//! Rules for sampling, and for the format of the answer.

use super::family::{Family, FixedSampling};

/// Which limits and sampling fields exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingRule {
    /// What to say if no limit was given and the vendor requires one
    pub default_max_tokens: Option<u64>,
    /// Maximum number of output tokens that the model accepts as a limit
    pub max_output: Option<u64>,
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
    /// Frequency and presence penalties
    pub penalties: bool,
    /// Several answers
    pub answers: bool,
    /// Log probabilities
    pub logprobs: bool,
    /// The most likely tokens beside the log probabilities
    pub top_logprobs: bool,
    /// The id of the end user
    pub user: bool,
    /// When temperature, nucleus and candidates must keep their defaults
    pub fixed: FixedSampling,
    /// Whether temperature and nucleus exclude each other
    pub one_of: bool,
}

impl SamplingRule {
    /// What everybody has: a temperature, a nucleus and stop texts, without bounds.
    pub const PLAIN: SamplingRule = SamplingRule {
        default_max_tokens: None,
        max_output: None,
        temperature: true,
        max_temperature: None,
        top_p: true,
        top_k: false,
        stop: true,
        seed: false,
        penalties: false,
        answers: false,
        logprobs: false,
        top_logprobs: false,
        user: false,
        fixed: FixedSampling::Never,
        one_of: false,
    };

    /// Adds the restrictions of a model family.
    #[must_use]
    pub const fn with_family(mut self, family: &Family) -> SamplingRule {
        self.max_output = family.max_output;
        self.stop = self.stop && family.stop;
        self.fixed = family.fixed_sampling;
        self.one_of = family.one_of_sampling;
        self
    }
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
