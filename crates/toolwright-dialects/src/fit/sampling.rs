//! Limits and sampling.

use toolwright_core::Origin;
use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::FixedSampling;
use toolwright_json::Number;

use super::{Work, thinking};

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.sampling;
    let sampling = &mut work.request.sampling;
    let mut lost = Vec::new();
    let mut drop = |slot: &mut Option<Number>, kept: bool, field: &'static str| {
        if !kept && slot.take().is_some() {
            lost.push(field);
        }
    };
    drop(&mut sampling.temperature, rule.temperature, "temperature");
    drop(&mut sampling.top_p, rule.top_p, "top_p");
    drop(&mut sampling.top_k, rule.top_k, "top_k");
    drop(&mut sampling.seed, rule.seed, "seed");
    let is = |own: &Number, value: f64| (own.as_f64() - value).abs() < f64::EPSILON;
    // An explicit default is dropped without a loss.
    let mut drop_unless = |slot: &mut Option<Number>, default: f64, kept: bool, field| {
        slot.take_if(|own| !kept && is(own, default));
        drop(slot, kept, field);
    };
    drop_unless(&mut sampling.frequency_penalty, 0.0, rule.penalties, "frequency_penalty");
    drop_unless(&mut sampling.presence_penalty, 0.0, rule.penalties, "presence_penalty");
    drop_unless(&mut sampling.answers, 1.0, rule.answers, "answers");
    drop_unless(&mut sampling.top_logprobs, 0.0, rule.top_logprobs, "top_logprobs");
    if !rule.logprobs && sampling.logprobs.take() == Some(true) {
        lost.push("logprobs");
    }
    if !rule.user && work.request.user.take().is_some() {
        lost.push("user");
    }
    if !rule.stop && !sampling.stop.is_empty() {
        sampling.stop.clear();
        lost.push("stop");
    }
    for field in lost {
        work.lose(Severity::Minor, at(field), "dropped", "the target refuses or lacks it");
    }
    write_whole(work);
    restrict(work);
    max_temperature(work);
    max_tokens(work);
    thinking::bound_budget(work);
}

/// Writes counts such as `40.0` without a fraction, which several vendors refuse.
fn write_whole(work: &mut Work<'_>) {
    if work.is_own_words() {
        return;
    }
    let sampling = &mut work.request.sampling;
    for slot in [
        &mut sampling.max_tokens,
        &mut sampling.top_k,
        &mut sampling.seed,
        &mut sampling.answers,
        &mut sampling.top_logprobs,
    ] {
        let text = slot.as_ref().map(Number::as_str).unwrap_or_default();
        if let Some((whole, fraction)) = text.split_once('.')
            && fraction.bytes().all(|byte| byte == b'0')
        {
            *slot = Number::parse(whole);
        }
    }
}

fn at(field: &'static str) -> Site {
    Site::field(&Origin::NONE, field)
}

/// Removes settings that the model family refuses: all of them, or one of two that exclude each
/// other.
fn restrict(work: &mut Work<'_>) {
    if work.is_own_words() {
        return;
    }
    let rule = work.profile.sampling;
    let is_fixed = match rule.fixed {
        FixedSampling::Never => false,
        FixedSampling::Always => true,
        FixedSampling::WhileThinking => work.profile.thinking.is_on(work.request.thinking.as_ref()),
    };
    let sampling = &mut work.request.sampling;
    let is_default = |number: &Number| matches!(number.as_str(), "1" | "1.0");
    let mut lost = Vec::new();
    if is_fixed {
        for (slot, field) in [
            (&mut sampling.temperature, "temperature"),
            (&mut sampling.top_p, "top_p"),
            (&mut sampling.top_k, "top_k"),
        ] {
            lost.extend(slot.take().map(|own| (own, field)));
        }
    } else if rule.one_of
        && let (Some(temperature), Some(_)) = (&sampling.temperature, &sampling.top_p)
    {
        // The default has no effect.
        let (slot, field) = if is_default(temperature) {
            (&mut sampling.temperature, "temperature")
        } else {
            (&mut sampling.top_p, "top_p")
        };
        lost.extend(slot.take().map(|own| (own, field)));
    }
    let why = if is_fixed {
        "the model takes its default only"
    } else {
        "the model takes temperature or top_p, not both"
    };
    for (number, field) in lost {
        let is_silent = field != "top_k" && is_default(&number);
        let severity = if is_silent { Severity::Note } else { Severity::Minor };
        work.lose(severity, at(field), "dropped", why);
    }
}

/// Adds a limit on output tokens if one is configured or required, and lowers one that exceeds the
/// model's maximum.
fn max_tokens(work: &mut Work<'_>) {
    let rule = work.profile.sampling;
    let Some(said) = &work.request.sampling.max_tokens else {
        let configured = work.profile.overrides.max_tokens;
        // Thinking counts against the limit, and must leave tokens for the reply.
        let thinking = work.request.thinking.as_ref().filter(|_| work.profile.thinking.budget);
        let budget = thinking.and_then(|own| own.budget.as_ref()).and_then(Number::as_u64);
        let most = rule.max_output.unwrap_or(u64::MAX);
        let required = rule.default_max_tokens;
        let required = required.map(|limit| limit.saturating_add(budget.unwrap_or(0)).min(most));
        let Some(limit) = configured.or(required) else { return };
        work.request.sampling.max_tokens = Some(Number::from(limit));
        work.add(
            "max_tokens",
            match configured {
                Some(_) => "the limit that is configured for the upstream",
                None => "a limit, which the target requires",
            },
        );
        return;
    };
    let most = rule.max_output.filter(|most| said.as_u64().is_some_and(|said| said > *most));
    if let Some(most) = most.filter(|_| !work.is_own_words()) {
        work.request.sampling.max_tokens = Some(Number::from(most));
        let what = format!("lowered to {most}");
        work.lose(Severity::Minor, at("max_tokens"), what, "it is the model's maximum");
    }
}

fn max_temperature(work: &mut Work<'_>) {
    let rule = work.profile.sampling;
    if let (Some(max), Some(own)) = (rule.max_temperature, &work.request.sampling.temperature) {
        #[allow(clippy::cast_precision_loss)]
        let over = own.as_f64() > max as f64;
        if over {
            work.request.sampling.temperature = Some(Number::from(max));
            work.lose(
                Severity::Minor,
                at("temperature"),
                "lowered to the target's greatest",
                "it is above",
            );
        }
    }
}
