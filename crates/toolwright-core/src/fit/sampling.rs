//! Limits, sampling, thinking and the form of the answer.

use super::{Severity, Site, Work};
use crate::dialect::Dialect;
use crate::json::Number;
use crate::origin::Origin;
use crate::request::{Format, Thinking};

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
    if !rule.stop && !sampling.stop.is_empty() {
        sampling.stop.clear();
        lost.push("stop");
    }
    for field in lost {
        work.lose(Severity::Minor, at(field), "dropped", "the target refuses or lacks it");
    }
    limits(work);
    thinking(work);
    format(work);
}

fn at(field: &'static str) -> Site {
    Site::field(&Origin::NONE, field)
}

fn limits(work: &mut Work<'_>) {
    let rule = work.profile.sampling;
    if let (None, Some(limit)) = (&work.request.sampling.max_tokens, rule.default_max_tokens) {
        // Thinking counts against it, and must leave room for the answer.
        let budget = work.request.thinking.as_ref().and_then(|own| own.budget.as_ref());
        let budget = budget.filter(|_| work.profile.thinking.budget).and_then(Number::as_u64);
        let limit = limit.saturating_add(budget.unwrap_or(0));
        work.request.sampling.max_tokens = Some(Number::from(limit));
        work.add("max_tokens", "a limit, which the target requires");
    }
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

/// The effort that says "off".
const OFF: &str = "none";

/// All the words that vendors have for effort, from the least to the greatest.
const EFFORTS: [&str; 7] = [OFF, "minimal", "low", "medium", "high", "xhigh", "max"];

fn thinking(work: &mut Work<'_>) {
    let rule = work.profile.thinking;
    let Some(mut thinking) = work.request.thinking.take() else { return };
    let why = "the target has no such setting";
    if rule.switch && !rule.off_is_effort && thinking.effort.as_deref() == Some(OFF) {
        thinking.enabled = Some(false);
        thinking.effort = None;
    }
    if !rule.switch && thinking.enabled.take().is_some() {
        work.lose(Severity::Minor, at("thinking"), "switch for thinking dropped", why);
    }
    if !rule.effort && thinking.effort.take().is_some() {
        work.lose(Severity::Minor, at("effort"), "effort dropped", why);
    }
    if !rule.budget && thinking.budget.take().is_some() {
        work.lose(Severity::Minor, at("budget"), "budget for thinking dropped", why);
    }
    // A vendor's own words are its own business; rows share a dialect and not their words.
    if !work.is_native() || work.profile.dialect == Dialect::OpenaiChat {
        effort(work, &mut thinking);
        budget(work, &mut thinking);
    }
    let why = "the target has one field for the switch and the effort";
    match (thinking.enabled, &thinking.effort) {
        (Some(true), Some(_)) if rule.one_field => {
            thinking.enabled = None;
            work.lose(Severity::Note, at("thinking"), "said by the effort alone", why);
        }
        (Some(false), effort) if rule.one_field || rule.off_is_effort => {
            if effort.is_some() {
                work.lose(Severity::Note, at("effort"), "dropped, as thinking is off", why);
            }
            let off = Some(OFF.to_owned()).filter(|_| rule.off_is_effort);
            thinking.enabled = thinking.enabled.filter(|_| off.is_none());
            thinking.effort = off;
        }
        _ => {}
    }
    let said = thinking.enabled.is_some() || thinking.effort.is_some() || thinking.budget.is_some();
    work.request.thinking = said.then_some(thinking);
}

/// Says an effort in a word of the target, and not beside what excludes it.
fn effort(work: &mut Work<'_>, thinking: &mut Thinking) {
    let rule = work.profile.thinking;
    let Some(said) = thinking.effort.take() else { return };
    if rule.effort_or_budget && thinking.enabled == Some(false) {
        let why = "the target takes no effort beside it";
        work.lose(Severity::Note, at("effort"), "dropped, as thinking is off", why);
        return;
    }
    if rule.effort_or_budget && thinking.budget.take().is_some() {
        let why = "the target takes an effort or a budget, not both";
        work.lose(Severity::Minor, at("budget"), "budget for thinking dropped", why);
    }
    if rule.efforts.is_empty() || rule.efforts.contains(&said.as_str()) {
        thinking.effort = Some(said);
        return;
    }
    let why = "the target has no such word";
    match nearest(&said, rule.efforts) {
        Some(own) => {
            work.lose(Severity::Minor, at("effort"), format!("said as '{own}'"), why);
            thinking.effort = Some(own.to_owned());
        }
        None => work.lose(Severity::Minor, at("effort"), "effort dropped", why),
    }
}

/// The greatest of some words that is not above an effort, else their least; none for an effort
/// that nobody else knows.
fn nearest(effort: &str, words: &[&'static str]) -> Option<&'static str> {
    let place = |word: &str| EFFORTS.iter().position(|own| *own == word);
    let most = place(effort)?;
    let below = words.iter().rev().find(|word| place(word).is_some_and(|own| own <= most));
    below.or(words.first()).copied()
}

/// Keeps a budget between the target's least and the limit on tokens.
fn budget(work: &mut Work<'_>, thinking: &mut Thinking) {
    let Some(least) = work.profile.thinking.least_budget else { return };
    let Some(said) = thinking.budget.as_ref().and_then(Number::as_u64) else { return };
    let limit = work.request.sampling.max_tokens.as_ref().and_then(Number::as_u64);
    let most = limit.map_or(u64::MAX, |limit| limit.saturating_sub(1));
    if most < least {
        thinking.budget = None;
        let why = "the limit on tokens is below the target's least budget";
        work.lose(Severity::Minor, at("budget"), "budget for thinking dropped", why);
    } else if said != said.clamp(least, most) {
        thinking.budget = Some(Number::from(said.clamp(least, most)));
        let why = "it is below the target's least, or leaves no room for the answer";
        work.lose(Severity::Minor, at("budget"), "moved into the target's bounds", why);
    }
}

fn format(work: &mut Work<'_>) {
    let rule = work.profile.format;
    let Some(mut format) = work.request.format.take() else { return };
    let why = "the target has no such answer format";
    let kept = match &mut format {
        Format::Text => rule.text,
        Format::Json => rule.json,
        Format::Schema(schema) => {
            if rule.schema && !rule.named {
                let mut lost = Vec::new();
                if schema.name.take().is_some() {
                    lost.push("/name");
                }
                if schema.description.take().is_some() {
                    lost.push("/description");
                }
                if schema.strict.take().is_some() {
                    lost.push("/strict");
                }
                for below in lost {
                    let site = at("format_schema").below(below);
                    work.lose(
                        Severity::Note,
                        site,
                        "dropped",
                        "the target's schemas have no such field",
                    );
                }
            }
            rule.schema
        }
    };
    if kept {
        work.request.format = Some(format);
        return;
    }
    let severity = if format == Format::Text { Severity::Note } else { Severity::Major };
    work.lose(severity, at("format"), "answer format dropped", why);
    if matches!(format, Format::Schema(_)) {
        work.lose(severity, at("format_schema"), "schema of the answer dropped", why);
    }
}
