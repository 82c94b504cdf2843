//! Rules for sampling and response formats.

use super::family::{Family, FixedSampling};

/// Supported limits and sampling fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingRule {
    /// The limit to send if none was set and the vendor requires one
    pub default_max_tokens: Option<u64>,
    /// Maximum number of output tokens that the model accepts as a limit
    pub max_output: Option<u64>,
    /// Temperature
    pub temperature: bool,
    /// Maximum temperature
    pub max_temperature: Option<u64>,
    /// Nucleus sampling
    pub top_p: bool,
    /// Number of candidate tokens
    pub top_k: bool,
    /// Stop sequences
    pub stop: bool,
    /// Seed
    pub seed: bool,
    /// Frequency and presence penalties
    pub penalties: bool,
    /// Several responses
    pub answers: bool,
    /// Log probabilities
    pub logprobs: bool,
    /// The most likely tokens beside the log probabilities
    pub top_logprobs: bool,
    /// The id of the end user
    pub user: bool,
    /// When temperature, `top_p` and `top_k` must keep their defaults
    pub fixed: FixedSampling,
    /// Whether temperature and `top_p` exclude each other
    pub one_of: bool,
}

impl SamplingRule {
    /// The common fields: temperature, `top_p` and stop sequences, without bounds.
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

/// Supported response formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatRule {
    /// Any JSON object
    pub json: bool,
    /// JSON with a schema
    pub schema: bool,
    /// Plain text, explicitly
    pub text: bool,
    /// A name, a description and a strict flag for the schema
    pub named: bool,
}

impl FormatRule {
    /// No field.
    pub const NONE: FormatRule =
        FormatRule { json: false, schema: false, text: false, named: false };
}
