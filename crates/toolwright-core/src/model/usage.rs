//! Token usage, by one convention.

use crate::model::extra::Extra;

/// Token counts. Input is split into three that add up; output includes reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input that was neither read from nor written to a cache, or that the vendor does not split
    pub input: Option<u64>,
    /// Input read from a prompt cache
    pub cache_read: Option<u64>,
    /// Input written to a prompt cache
    pub cache_write: Option<u64>,
    /// Output, including reasoning
    pub output: Option<u64>,
    /// Reasoning, as a part of output
    pub reasoning: Option<u64>,
    /// Counts without a canonical name
    pub extra: Extra,
}

impl Usage {
    /// Returns the number of all input tokens.
    pub fn input_total(&self) -> u64 {
        self.input
            .unwrap_or(0)
            .saturating_add(self.cache_read.unwrap_or(0))
            .saturating_add(self.cache_write.unwrap_or(0))
    }

    /// Returns the number of input and output tokens.
    pub fn total(&self) -> u64 {
        self.input_total().saturating_add(self.output.unwrap_or(0))
    }

    /// Sets input and output from sums in `OpenAI`'s convention: input includes cached tokens,
    /// output includes reasoning. Vendors with another convention are recognized by their numbers:
    /// Grok on Azure reports more cached tokens than input, and xAI counts reasoning only in the
    /// total. Set cached tokens and reasoning before.
    pub fn set_sums(&mut self, input: Option<u64>, output: Option<u64>, total: Option<u64>) {
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        self.input = input.map(|input| input.checked_sub(cached).unwrap_or(input));
        let reasoning = self.reasoning.unwrap_or(0);
        let apart = |input: u64, output: u64| input.checked_add(output)?.checked_add(reasoning);
        let is_apart = reasoning > 0
            && total.is_some()
            && input.zip(output).and_then(|(input, output)| apart(input, output)) == total;
        self.output = output.map(|output| if is_apart { output + reasoning } else { output });
    }

    /// Adds the usage of another response. Extra counts are those of one response and are not
    /// added.
    pub fn add(&mut self, other: &Usage) {
        let sum = |own: &mut Option<u64>, more: Option<u64>| {
            *own = match (*own, more) {
                (Some(own), Some(more)) => Some(own.saturating_add(more)),
                (own, more) => own.or(more),
            };
        };
        sum(&mut self.input, other.input);
        sum(&mut self.cache_read, other.cache_read);
        sum(&mut self.cache_write, other.cache_write);
        sum(&mut self.output, other.output);
        sum(&mut self.reasoning, other.reasoning);
        self.extra = Extra::NONE;
    }

    /// Replaces counts by those of a later report.
    pub fn update(&mut self, later: Usage) {
        let Usage { input, cache_read, cache_write, output, reasoning, extra } = later;
        self.input = input.or(self.input);
        self.cache_read = cache_read.or(self.cache_read);
        self.cache_write = cache_write.or(self.cache_write);
        self.output = output.or(self.output);
        self.reasoning = reasoning.or(self.reasoning);
        self.extra.update(extra);
    }
}
