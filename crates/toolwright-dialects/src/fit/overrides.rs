//! Last pass: removes request settings that are configured not to be sent.

use toolwright_core::Origin;
use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::Setting;

use super::Work;

pub(super) fn pass(work: &mut Work<'_>) {
    for setting in &work.profile.overrides.drop {
        for site in remove(work, *setting) {
            let why = "the upstream is configured not to get it";
            work.lose(Severity::Minor, site, "dropped", why);
        }
    }
}

/// Removes a setting; returns its sites.
fn remove(work: &mut Work<'_>, setting: Setting) -> Vec<Site> {
    let request = &mut work.request;
    let sampling = &mut request.sampling;
    let field = |was: bool, name: &'static str| {
        was.then(|| Site::field(&Origin::NONE, name)).into_iter().collect()
    };
    match setting {
        Setting::MaxTokens => field(sampling.max_tokens.take().is_some(), "max_tokens"),
        Setting::Temperature => field(sampling.temperature.take().is_some(), "temperature"),
        Setting::TopP => field(sampling.top_p.take().is_some(), "top_p"),
        Setting::TopK => field(sampling.top_k.take().is_some(), "top_k"),
        Setting::Stop => field(!std::mem::take(&mut sampling.stop).is_empty(), "stop"),
        Setting::Seed => field(sampling.seed.take().is_some(), "seed"),
        Setting::FrequencyPenalty => {
            field(sampling.frequency_penalty.take().is_some(), "frequency_penalty")
        }
        Setting::PresencePenalty => {
            field(sampling.presence_penalty.take().is_some(), "presence_penalty")
        }
        Setting::Answers => field(sampling.answers.take().is_some(), "answers"),
        Setting::Logprobs => {
            let mut sites: Vec<Site> = field(sampling.logprobs.take().is_some(), "logprobs");
            sites.extend(remove(work, Setting::TopLogprobs));
            sites
        }
        Setting::TopLogprobs => field(sampling.top_logprobs.take().is_some(), "top_logprobs"),
        Setting::User => field(request.user.take().is_some(), "user"),
        Setting::ToolChoice => field(request.tool_choice.take().is_some(), "tool_choice"),
        Setting::ParallelToolCalls => field(request.parallel.take().is_some(), "parallel"),
        Setting::Strict => {
            let strict = request
                .tools
                .iter_mut()
                .filter_map(|tool| tool.strict.take().map(|_| Site::field(&tool.origin, "strict")));
            strict.collect()
        }
        Setting::Reasoning => {
            let Some(thinking) = request.thinking.take() else { return Vec::new() };
            let said = [
                (thinking.enabled.is_some(), "thinking"),
                (thinking.effort.is_some(), "effort"),
                (thinking.budget.is_some(), "budget"),
                (thinking.show.is_some(), "show"),
            ];
            said.into_iter().flat_map(|(was, name)| field(was, name)).collect::<Vec<Site>>()
        }
        Setting::ReasoningSummary => {
            let thinking = request.thinking.as_mut();
            field(thinking.and_then(|own| own.show.take()).is_some(), "show")
        }
        Setting::ResponseFormat => field(request.format.take().is_some(), "format"),
    }
}
