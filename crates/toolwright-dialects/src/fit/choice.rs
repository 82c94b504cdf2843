//! Tool choice and the parallel switch: a restriction that the target cannot express is enforced by
//! other means, and never widened without a report (case 21).

use toolwright_core::loss::{Severity, Site};
use toolwright_core::request::{Format, SchemaFormat};
use toolwright_core::{Origin, Tool, ToolChoice};
use toolwright_json::{Json, Object, object};

use super::{Work, thinking};

pub(super) fn pass(work: &mut Work<'_>) {
    parallel(work);
    choice(work);
    work.request.tool_choice = work.hosted_choice.take().or(work.request.tool_choice.take());
    if !work.profile.choice.holds_parallel || work.request.parallel.is_none() {
        return;
    }
    // The switch is a member of the choice, and is not allowed with `none`.
    if work.request.tool_choice.is_none() {
        work.request.tool_choice = Some(ToolChoice::Auto);
    }
    if work.request.tool_choice == Some(ToolChoice::None)
        && work.request.parallel.take() == Some(false)
    {
        let site = Site::field(&Origin::NONE, "parallel");
        work.lose(Severity::Note, site, "switch dropped", "without calls it has no place");
    }
}

fn choice(work: &mut Work<'_>) {
    let Some(choice) = work.request.tool_choice.take() else { return };
    let rule = work.profile.choice;
    let site = || Site::field(&Origin::NONE, "tool_choice");
    let thinking = thinks(work, &choice);
    work.request.tool_choice = match choice {
        // The default of every target.
        ToolChoice::Auto => rule.auto.then_some(ToolChoice::Auto),
        ToolChoice::None if rule.none => Some(ToolChoice::None),
        ToolChoice::None => {
            // If strictness applies to all tools at once, removing tools removes it.
            let strict = work.request.tools.iter().find(|tool| tool.strict == Some(true));
            let strict = strict.map(|tool| Site::field(&tool.origin, "strict"));
            keep_only(work, &[]);
            if let Some(site) = strict {
                work.lose(Severity::Note, site, "strictness dropped", "no tool is offered");
            }
            work.lose(Severity::Note, site(), "enforced by offering no tools", NO_WORD);
            None
        }
        ToolChoice::Required if rule.required && !thinking => Some(ToolChoice::Required),
        ToolChoice::Required => widened(work),
        ToolChoice::Tool(name) => one(work, name, thinking),
        ToolChoice::Allowed { names, required } => allowed(work, names, required, thinking),
        // The foreign form concerned hosted tools of another vendor.
        ToolChoice::Other(wire) => {
            if work.is_meant() {
                Some(ToolChoice::Other(wire))
            } else {
                work.lose(
                    Severity::Major,
                    site(),
                    "dropped",
                    "only its own dialect has such a choice",
                );
                None
            }
        }
    };
}

/// Whether thinking prevents a forced call. If it can be disabled, the call takes precedence.
fn thinks(work: &mut Work<'_>, choice: &ToolChoice) -> bool {
    use ToolChoice::{Allowed, Required, Tool};
    let forced = matches!(choice, Required | Tool(_) | Allowed { required: true, .. });
    let rule = work.profile.thinking;
    if !forced
        || !work.profile.choice.forced_excludes_thinking
        || !rule.is_on(work.request.thinking.as_ref())
    {
        return false;
    }
    let why = "the target cannot think while a call is forced";
    !thinking::suspend(work, Severity::Minor, why)
}

const NO_WORD: &str = "the target has no such choice";

fn one(work: &mut Work<'_>, name: String, thinking: bool) -> Option<ToolChoice> {
    let rule = work.profile.choice;
    if rule.tool && !thinking {
        return Some(ToolChoice::Tool(name));
    }
    keep_only(work, std::slice::from_ref(&name));
    if rule.required && !thinking {
        let site = Site::field(&Origin::NONE, "tool_choice");
        work.lose(Severity::Note, site, "enforced by offering this tool alone", NO_WORD);
        return Some(ToolChoice::Required);
    }
    widened(work)
}

fn allowed(
    work: &mut Work<'_>,
    names: Vec<String>,
    required: bool,
    thinking: bool,
) -> Option<ToolChoice> {
    let rule = work.profile.choice;
    if let ([name], true, false) = (names.as_slice(), required, rule.allowed_one)
        && rule.allowed_required
        && !thinking
    {
        let site = Site::field(&Origin::NONE, "tool_choice");
        work.lose(Severity::Note, site, "said as the choice of that tool", NO_WORD);
        return Some(ToolChoice::Tool(name.clone()));
    }
    let said = if required { rule.allowed_required && !thinking } else { rule.allowed_auto };
    if said {
        return Some(ToolChoice::Allowed { names, required });
    }
    keep_only(work, &names);
    if required && (!rule.required || thinking) {
        return widened(work);
    }
    let site = Site::field(&Origin::NONE, "tool_choice");
    work.lose(Severity::Note, site, "enforced by offering these tools alone", NO_WORD);
    if required { Some(ToolChoice::Required) } else { rule.auto.then_some(ToolChoice::Auto) }
}

/// A call cannot be forced; the model may answer without one.
fn widened(work: &mut Work<'_>) -> Option<ToolChoice> {
    let site = Site::field(&Origin::NONE, "tool_choice");
    if work.profile.choice.forced_by_format && !work.request.tools.is_empty() {
        work.aliases.forced = true;
        work.lose(Severity::Note, site, "enforced by the format of the answer", NO_WORD);
        return None;
    }
    let why = if work.profile.choice.required {
        "the target cannot force a call while it thinks"
    } else {
        "the target cannot force a call"
    };
    work.lose(Severity::Major, site, "a call is asked for but not forced", why);
    work.profile.choice.auto.then_some(ToolChoice::Auto)
}

/// The members of a reply that replaces a forced call.
pub(super) const FORCED_NAME: &str = "name";
pub(super) const FORCED_ARGUMENTS: &str = "arguments";

/// Sets the format in which a reply is a call of one of the tools. Runs after tools and their names
/// are final; [`restore`](super::restore) decodes the reply.
pub(super) fn force_by_format(work: &mut Work<'_>) {
    if !work.aliases.forced {
        return;
    }
    let call = |tool: &Tool| {
        let name = object! {"type": "string", "enum": vec![tool.name.as_str()]};
        let any = || Json::Object(object! {"type": "object"});
        let arguments = tool.parameters().cloned().unwrap_or_else(any);
        let mut properties = Object::new();
        properties.insert(FORCED_NAME, name);
        properties.insert(FORCED_ARGUMENTS, arguments);
        Json::Object(object! {
            "type": "object",
            "properties": properties,
            "required": vec![FORCED_NAME, FORCED_ARGUMENTS],
        })
    };
    let mut calls: Vec<Json> = work.request.tools.iter().map(call).collect();
    let schema = match calls.len() {
        1 => calls.remove(0),
        _ => Json::Object(object! {"anyOf": calls}),
    };
    let format = SchemaFormat { name: None, description: None, schema, strict: None };
    let said = work.request.format.replace(Format::Schema(format));
    if let Some(said) = said.filter(|said| *said != Format::Text) {
        let why = "a call is forced, and the target has one format for both";
        for field in ["format", "format_schema"] {
            if field == "format" || matches!(said, Format::Schema(_)) {
                let site = Site::field(&Origin::NONE, field);
                work.lose(Severity::Note, site, "answer format dropped", why);
            }
        }
    }
}

fn keep_only(work: &mut Work<'_>, names: &[String]) {
    let kept: Vec<_> = std::mem::take(&mut work.request.tools);
    for tool in kept {
        if names.contains(&tool.name) {
            work.request.tools.push(tool);
        } else {
            let why = "the choice excludes it, and leaving it out is how the target is told";
            work.withhold(Severity::Note, &tool, "tool not offered", why);
        }
    }
}

fn parallel(work: &mut Work<'_>) {
    let Some(parallel) = work.request.parallel.filter(|_| !work.profile.parallel_switch) else {
        return;
    };
    work.request.parallel = None;
    // Parallel calls are the default of every target.
    if !parallel {
        let site = Site::field(&Origin::NONE, "parallel");
        work.aliases.single_call = true;
        let what = "enforced on the answer: the first call of a turn is kept";
        work.lose(Severity::Note, site, what, "the target has no such switch");
    }
}
