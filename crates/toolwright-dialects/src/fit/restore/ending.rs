//! Restores the stop reason and usage in a form that the client's dialect can express.

use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::ReplyRule;
use toolwright_core::{Origin, Stop, StopReason, Usage};

use super::Restorer;
use crate::fit::extras;

impl Restorer {
    pub(super) fn stop(&mut self, mut stop: Stop) -> Stop {
        let dialect = self.profile.dialect;
        let rule = self.profile.reply;
        // A refusal part carries the refusal; the stop reason is then a plain end.
        let refused = self.refused && stop.reason == StopReason::Refusal;
        let is_told = refused && self.profile.content.refusal;
        let (is_said, is_explained) = (stop.has_reason_field(), stop.has_explanation());
        let site = Site::field(&Origin::NONE, "ending");
        self.forget_echoes(&mut stop.extra);
        extras::clear_at(&mut stop.extra, &site, dialect, &mut self.losses);
        let said = if is_told { stop.reason } else { nearest(&rule, stop.reason) };
        let word = if refused { StopReason::End } else { stop.reason };
        if is_said && !is_told && nearest(&self.source, said) != word {
            self.lose(Severity::Minor, "reason", "said in a nearby word", NO_REASON);
            let further = match word {
                StopReason::End | StopReason::ToolUse => None,
                StopReason::Failed => Some("failure"),
                _ => Some("cause"),
            };
            if let Some(field) = further.filter(|_| is_explained) {
                self.lose(Severity::Minor, field, "dropped", NO_REASON);
            }
        }
        stop.reason = said;
        if !rule.stop_sequence && stop.sequence.take().is_some() {
            self.lose(
                Severity::Minor,
                "sequence",
                "dropped",
                "the client's dialect does not tell it",
            );
        }
        if !rule.stop_details && stop.details.take().is_some() {
            self.lose(
                Severity::Minor,
                "details",
                "dropped",
                "the client's dialect does not tell them",
            );
        }
        stop
    }

    /// Adds an input count to the plain count, if the client has no field for it.
    fn merged(&mut self, count: u64, field: &'static str) {
        if count == 0 {
            return;
        }
        self.lose(Severity::Minor, field, "counted as plain input", NO_COUNT);
        for field in &PARTIAL[..2] {
            self.lose(Severity::Minor, field, "includes what caches gave", NO_COUNT);
        }
    }

    pub(super) fn usage(&mut self, mut usage: Usage) -> Usage {
        let rule = self.profile.reply;
        let site = Site::field(&Origin::NONE, "usage");
        extras::clear_at(&mut usage.extra, &site, self.profile.dialect, &mut self.losses);
        // The total input stays the same: counts that the client's dialect lacks are added to the
        // plain count.
        if !rule.cache_read
            && let Some(read) = usage.cache_read.take()
        {
            usage.input = Some(usage.input.unwrap_or(0).saturating_add(read));
            self.merged(read, "cache_read");
        }
        if !rule.cache_write
            && let Some(write) = usage.cache_write.take()
        {
            usage.input = Some(usage.input.unwrap_or(0).saturating_add(write));
            self.merged(write, "cache_write");
        }
        if !rule.reasoning_tokens && usage.reasoning.take().is_some_and(|count| count > 0) {
            self.lose(Severity::Minor, "reasoning_tokens", "dropped", NO_COUNT);
            self.lose(Severity::Minor, PARTIAL[2], "includes thinking", NO_COUNT);
        }
        // A stream may report some counts first and others later, which must not be reset.
        if rule.counts_required && !self.counted {
            self.counted = true;
            let Usage { input, cache_read, cache_write, output, reasoning, .. } = &mut usage;
            for count in [input, cache_read, cache_write, output, reasoning] {
                count.get_or_insert(0);
            }
        }
        usage
    }
}

/// Returns the reason itself, or the nearest one that a reply can express.
fn nearest(rule: &ReplyRule, reason: StopReason) -> StopReason {
    use StopReason::{ContextWindow, End, Failed, Filtered, MalformedCall, MaxTokens, Refusal};
    let near: &[StopReason] = match reason {
        Refusal => &[Refusal, Filtered],
        Filtered => &[Filtered, Refusal, Failed],
        MalformedCall => &[MalformedCall, Failed],
        ContextWindow => &[ContextWindow, MaxTokens],
        ref own => std::slice::from_ref(own),
    };
    near.iter().find(|own| rule.stops.contains(own)).copied().unwrap_or(End)
}

/// Counts without cached or thinking tokens. Not every dialect has them.
const PARTIAL: [&str; 3] = ["uncached_input", "uncached_total", "unthought_output"];

const NO_REASON: &str = "the client's dialect lacks it";

const NO_COUNT: &str = "the client's dialect has no such count";
