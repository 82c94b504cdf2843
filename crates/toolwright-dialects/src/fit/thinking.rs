//! Reasoning controls: a switch, an effort word, a token budget and a flag to show the thinking.
//! Each target supports some of them, and the others are converted.
//!
//! Effort and budget convert by [`BANDS`]. This pass runs before those that depend on whether the
//! model thinks: the tool choice, the thinking in the history, and the sampling settings.

use toolwright_core::Origin;
use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::ShowRule;
use toolwright_core::request::Thinking;
use toolwright_json::Number;

use super::Work;

/// The effort that disables thinking.
const OFF: &str = "none";

/// The effort that leaves the choice to the model.
const DEFAULT: &str = "default";

/// All effort words in use, from the least to the greatest.
const EFFORTS: [&str; 7] = [OFF, "minimal", "low", "medium", "high", "xhigh", "max"];

/// The default effort, if the target requires one.
const DEFAULT_EFFORT: &str = "medium";

/// The budget in tokens that corresponds to an effort, and the maximum budget that maps to that
/// word. `low`, `medium` and `high` are those of Gemini's OpenAI-compatible interface, the others
/// those of `CLIProxyAPI`; see `docs/dialects/models.md`.
pub const BANDS: [(&str, u64); 5] =
    [("minimal", 512), ("low", 1024), ("medium", 8192), ("high", 24_576), ("xhigh", 32_768)];

/// Returns the budget for an effort word; `None` for an unknown word.
fn budget_for(effort: &str) -> Option<u64> {
    let word = if effort == "max" { "xhigh" } else { effort };
    BANDS.iter().find(|(own, _)| *own == word).map(|(_, budget)| *budget)
}

/// Returns the effort word for a budget.
fn effort_for(budget: u64) -> &'static str {
    BANDS.iter().find(|(_, most)| budget <= *most).map_or("xhigh", |(word, _)| *word)
}

fn at(field: &'static str) -> Site {
    Site::field(&Origin::NONE, field)
}

const NO_SETTING: &str = "the target has no such setting";

pub(super) fn pass(work: &mut Work<'_>) {
    if let Some(mut thinking) = work.request.thinking.take() {
        thinking.effort.take_if(|word| word == DEFAULT && !work.profile.thinking.default_effort);
        if thinking.enabled == Some(false) || thinking.effort.as_deref() == Some(OFF) {
            switch_off(work, &mut thinking);
        } else {
            let wants_shown = thinking.enabled == Some(true) || thinking.budget.is_some();
            budget_to_effort(work, &mut thinking);
            effort_to_budget(work, &mut thinking);
            exclude(work, &mut thinking);
            if !work.is_own_words() {
                effort_word(work, &mut thinking);
            }
            show(work, &mut thinking, wants_shown);
            switch_on(work, &mut thinking);
        }
        work.request.thinking = Some(thinking).filter(|own| *own != Thinking::default());
    }
    tools_exclude(work);
}

/// Disables thinking, or requests the minimum if it cannot be disabled.
fn switch_off(work: &mut Work<'_>, thinking: &mut Thinking) {
    let rule = work.profile.thinking;
    let field = if thinking.enabled == Some(false) { "thinking" } else { "effort" };
    let effort = thinking.effort.take().filter(|word| word != OFF);
    let has_switch = rule.switch && rule.can_disable && !rule.off_is_effort;
    let keeps_effort = has_switch && rule.effort && !rule.one_field && !rule.effort_or_budget;
    for (lost, field) in [
        (thinking.budget.take().is_some(), "budget"),
        (thinking.show.take().is_some(), "show"),
        (effort.is_some() && !keeps_effort, "effort"),
    ] {
        if lost {
            let why = "the target takes none beside it";
            work.lose(Severity::Note, at(field), "dropped, as thinking is off", why);
        }
    }
    thinking.enabled = None;
    let takes_word = rule.effort && (rule.efforts.is_empty() || rule.efforts.contains(&OFF));
    if has_switch {
        thinking.enabled = Some(false);
        thinking.effort = effort.filter(|_| keeps_effort);
        if !work.is_own_words() {
            effort_word(work, thinking);
            cap_effort(work, thinking);
        }
    } else if rule.off_is_effort || (!rule.switch && takes_word) {
        thinking.effort = Some(OFF.to_owned());
    } else if let Some(least) = rule.efforts.first().filter(|_| rule.effort && !rule.can_disable) {
        thinking.effort = Some((*least).to_owned());
        let what = format!("becomes effort '{least}'");
        work.lose(Severity::Minor, at(field), what, "the model always thinks");
    } else if let Some(least) = rule.least_budget.filter(|_| rule.budget) {
        thinking.budget = Some(Number::from(least));
        let what = "becomes the least budget";
        work.lose(Severity::Minor, at(field), what, "the model always thinks");
    } else {
        let severity = if rule.default_on { Severity::Minor } else { Severity::Note };
        work.lose(severity, at(field), "dropped", NO_SETTING);
    }
}

/// Claude's effort also governs the reply, and may not exceed `high` while thinking is disabled.
fn cap_effort(work: &mut Work<'_>, thinking: &mut Thinking) {
    if !work.profile.thinking.effort_needs_switch {
        return;
    }
    if let Some(word) = thinking.effort.take_if(|word| rank(word) > rank("high")) {
        thinking.effort = Some("high".to_owned());
        let why = "the target takes no greater effort while thinking is off";
        work.lose(Severity::Minor, at("effort"), format!("'{word}' becomes 'high'"), why);
    }
}

/// Converts a budget to an effort, if there are no budgets.
fn budget_to_effort(work: &mut Work<'_>, thinking: &mut Thinking) {
    let rule = work.profile.thinking;
    let Some(budget) = thinking.budget.take_if(|_| !rule.budget) else { return };
    let own = budget.as_u64().map(effort_for).and_then(|own| nearest(own, rule.efforts));
    match own.filter(|_| rule.effort && thinking.effort.is_none()) {
        Some(own) => {
            thinking.effort = Some(own.to_owned());
            let what = format!("becomes effort '{own}'");
            work.lose(Severity::Minor, at("budget"), what, "the target has no budgets");
            work.add("effort", "an effort in place of a budget");
        }
        None => work.lose(Severity::Minor, at("budget"), "budget dropped", NO_SETTING),
    }
}

/// Converts an effort to a budget, if there are no efforts or thinking requires a budget.
fn effort_to_budget(work: &mut Work<'_>, thinking: &mut Thinking) {
    let rule = work.profile.thinking;
    let Some(own) = &thinking.effort else { return };
    if rule.effort && !rule.on_needs_budget {
        return;
    }
    let budget = budget_for(own).filter(|_| rule.budget && thinking.budget.is_none());
    if let Some(budget) = budget {
        thinking.budget = Some(Number::from(budget));
        work.derived_budget = true;
        work.add("budget", "a budget in place of an effort");
    }
    if !rule.effort {
        thinking.effort = None;
        if budget.is_some() {
            work.lose(Severity::Note, at("effort"), "becomes a budget", "the target has no effort");
        } else {
            work.lose(Severity::Minor, at("effort"), "effort dropped", NO_SETTING);
        }
    }
}

/// Keeps the effort if a target accepts either an effort or a budget.
fn exclude(work: &mut Work<'_>, thinking: &mut Thinking) {
    if work.profile.thinking.effort_or_budget
        && thinking.effort.is_some()
        && thinking.budget.take().is_some()
    {
        let why = "the target takes an effort or a budget, not both";
        work.lose(Severity::Minor, at("budget"), "budget dropped", why);
    }
}

/// Converts an effort to a word of the target.
fn effort_word(work: &mut Work<'_>, thinking: &mut Thinking) {
    let rule = work.profile.thinking;
    let Some(said) = thinking.effort.take() else { return };
    if rule.efforts.is_empty() || rule.efforts.contains(&said.as_str()) {
        thinking.effort = Some(said);
        return;
    }
    let why = "the target has no such word";
    match nearest(&said, rule.efforts) {
        Some(own) => {
            work.lose(Severity::Minor, at("effort"), format!("becomes '{own}'"), why);
            thinking.effort = Some(own.to_owned());
        }
        None => work.lose(Severity::Minor, at("effort"), "effort dropped", why),
    }
}

/// Requests that the reply show the thinking, in the target's form.
fn show(work: &mut Work<'_>, thinking: &mut Thinking, wants_shown: bool) {
    let rule = work.profile.thinking;
    let said = thinking.show.take();
    match (rule.show, said) {
        (ShowRule::Field { hides, .. }, None) => {
            // A model that cannot reason refuses the field.
            let thinks = rule.switch || rule.on_is_effort || thinking.effort.is_some();
            if wants_shown && hides && thinks {
                thinking.show = Some(true);
                work.add("show", "the thinking is asked for, and left out otherwise");
            }
        }
        (ShowRule::Field { can_hide, .. }, Some(shown)) if shown || can_hide => {
            thinking.show = Some(shown);
        }
        (ShowRule::Switch, Some(true)) => {
            thinking.enabled = Some(true);
            work.add("thinking", "switched on to show the thinking");
        }
        (ShowRule::Always, Some(true)) | (_, None) => {}
        (_, Some(_)) => {
            work.lose(Severity::Note, at("show"), "dropped", NO_SETTING);
        }
    }
}

/// Enables thinking if the other settings require it, or converts the switch to an effort.
fn switch_on(work: &mut Work<'_>, thinking: &mut Thinking) {
    let rule = work.profile.thinking;
    let why = "the target has one field for the switch and the effort";
    if rule.switch {
        let asks = thinking.budget.is_some()
            || thinking.show == Some(true)
            || (thinking.effort.is_some() && rule.effort_needs_switch);
        if thinking.enabled.is_none() && asks && rule.effort_needs_switch {
            thinking.enabled = Some(true);
            work.add("thinking", "switched on: the target ignores its settings otherwise");
        }
        if thinking.enabled == Some(true) && rule.on_needs_budget && thinking.budget.is_none() {
            thinking.budget = budget_for(DEFAULT_EFFORT).map(Number::from);
            work.derived_budget = true;
            work.add("budget", "a budget, without which the target does not think");
        }
        if rule.one_field && thinking.enabled == Some(true) && thinking.effort.is_some() {
            thinking.enabled = None;
            work.lose(Severity::Note, at("thinking"), "said by the effort alone", why);
        }
        return;
    }
    if thinking.enabled.take().is_none() {
        return;
    }
    let own = nearest(DEFAULT_EFFORT, rule.efforts).filter(|_| rule.effort);
    match (&thinking.effort, own) {
        (Some(_), _) => {
            work.lose(Severity::Note, at("thinking"), "said by the effort alone", NO_SETTING);
        }
        (None, Some(own)) if rule.on_is_effort => {
            thinking.effort = Some(own.to_owned());
            let what = format!("becomes effort '{own}'");
            work.lose(Severity::Note, at("thinking"), what, NO_SETTING);
            work.add("effort", "an effort in place of the switch");
        }
        _ => work.lose(Severity::Minor, at("thinking"), "switch for thinking dropped", NO_SETTING),
    }
}

/// Disables reasoning if the target refuses it together with function tools.
fn tools_exclude(work: &mut Work<'_>) {
    let rule = work.profile.thinking;
    let said = work.request.thinking.as_ref();
    let can_disable = rule.efforts.contains(&OFF);
    if !(rule.tools_exclude && can_disable && rule.is_on(said)) || work.request.tools.is_empty() {
        return;
    }
    let is_said = said.is_some_and(|own| own.effort.is_some());
    work.request.thinking.get_or_insert_default().effort = Some(OFF.to_owned());
    if is_said {
        let why = "the model takes no reasoning beside tools here; use the Responses API";
        work.lose(Severity::Minor, at("effort"), "reasoning switched off", why);
    } else {
        work.add("effort", "reasoning switched off, which the model requires beside tools here");
    }
}

/// Disables thinking for this request, because the target cannot think here; returns whether it can
/// be disabled.
pub(super) fn suspend(work: &mut Work<'_>, severity: Severity, why: &'static str) -> bool {
    let rule = work.profile.thinking;
    if !rule.switch || !rule.can_disable {
        return false;
    }
    let is_added = |field: &str| work.additions.iter().any(|own| own.field == field);
    let (added, shown) = (is_added("thinking"), is_added("show"));
    let thinking = work.request.thinking.get_or_insert_default();
    let said = thinking.enabled.replace(false).is_some() && !added;
    let budget = thinking.budget.take().is_some();
    let show = thinking.show.take().is_some() && !shown;
    work.additions.retain(|own| !matches!(own.field, "thinking" | "budget" | "show"));
    if !said {
        work.add("thinking", "switched off: the target cannot think here");
    }
    let from = if work.derived_budget { "effort" } else { "budget" };
    for (field, lost) in [("thinking", said), (from, budget), ("show", show)] {
        if lost {
            work.lose(severity, at(field), "thinking switched off for this turn", why);
        }
    }
    if let Some(mut thinking) = work.request.thinking.take() {
        cap_effort(work, &mut thinking);
        work.request.thinking = Some(thinking);
    }
    true
}

/// Limits a budget to the target's bounds and below the token limit; a budget derived from an
/// effort leaves a part of the limit to the reply.
pub(super) fn bound_budget(work: &mut Work<'_>) {
    let rule = work.profile.thinking;
    let Some(mut thinking) = work.request.thinking.take() else { return };
    let said = thinking.budget.as_ref().and_then(Number::as_u64);
    if let (Some(said), Some(least)) = (said, rule.least_budget) {
        let limit = work.request.sampling.max_tokens.as_ref().and_then(Number::as_u64);
        let share =
            |limit: u64| if work.derived_budget { limit / 5 * 4 } else { limit.saturating_sub(1) };
        let limit = limit.filter(|_| rule.budget_within_limit).map_or(u64::MAX, share);
        let most = rule.most_budget.unwrap_or(u64::MAX).min(limit);
        let field = if work.derived_budget { "effort" } else { "budget" };
        if most < least {
            thinking.budget = None;
            // If thinking requires a budget, it must stay disabled.
            thinking.enabled = thinking.enabled.filter(|_| !rule.on_needs_budget);
            let why = "the limit on tokens is below the target's least budget";
            work.lose(Severity::Minor, at(field), "budget for thinking dropped", why);
        } else if said != said.clamp(least, most) {
            thinking.budget = Some(Number::from(said.clamp(least, most)));
            let why = "it is out of the target's bounds, or leaves no room for the answer";
            work.lose(Severity::Minor, at(field), "moved into the target's bounds", why);
        }
    }
    work.request.thinking = Some(thinking).filter(|own| *own != Thinking::default());
}

fn rank(word: &str) -> Option<usize> {
    EFFORTS.iter().position(|own| *own == word)
}

/// Returns the greatest word that does not exceed an effort, or else the least; the effort itself
/// if every word is accepted, and `None` for an unknown effort. Only `none` maps to `none`.
fn nearest<'w>(effort: &'w str, words: &[&'static str]) -> Option<&'w str> {
    if words.is_empty() {
        return Some(effort);
    }
    let most = rank(effort)?;
    let mut words = words.iter().copied().filter(|word| *word != OFF || effort == OFF);
    let least = words.clone().next();
    words.rfind(|word| rank(word).is_some_and(|own| own <= most)).or(least)
}
