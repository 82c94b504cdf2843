//! Hosted tools: translated if the target's vendor has an equivalent one. Otherwise the request is
//! refused if it depends on the tool, or the tool is removed.

use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::{HostedChoice, HostedMark, HostedParameter, HostedRule};
use toolwright_core::{Origin, Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, object};

use super::extras::leaves;
use super::{Refusal, Work};
use crate::codec::Target;
use crate::dialect;

pub(super) fn pass(work: &mut Work<'_>) {
    let refuses_hosted = work.is_native() && work.profile.known_types_only;
    if work.is_meant() && !refuses_hosted {
        return;
    }
    let is_hosted = |tool: &Tool| matches!(tool.kind, ToolKind::Hosted(_));
    let alone = work.request.tools.iter().all(is_hosted);
    if !work.request.tools.iter().any(is_hosted) {
        return;
    }
    let codec = work.source.and_then(dialect::codec);
    let rules = codec.map_or(&[][..], |own| own.profile(&Target::default()).tools.hosted);
    let mut left_out: Vec<(Tool, bool)> = Vec::new();
    for tool in std::mem::take(&mut work.request.tools) {
        let ToolKind::Hosted(wire) = &tool.kind else {
            work.request.tools.push(tool);
            continue;
        };
        let own: Vec<&HostedRule> = rules.iter().filter(|rule| rule.mark.is_in(wire)).collect();
        if let Some(refusal) = own.iter().find_map(|rule| malformed(rule, wire, &tool)) {
            work.refusal = Some(refusal);
            return;
        }
        let forced = is_forced(work.request.tool_choice.as_ref(), wire, &tool.name);
        let found = own.iter().filter_map(|rule| Some((*rule, counterpart(work, rule, alone)?)));
        let found: Vec<(&HostedRule, &HostedRule)> = found.collect();
        for (from, to) in &found {
            if forced {
                force(work, to);
            }
            let translated = translate(work, &tool, from, to);
            work.request.tools.push(translated);
        }
        if found.is_empty() {
            left_out.push((tool, forced));
        }
    }
    leave_out(work, left_out);
}

/// Returns the target's rule for the same tool, if it can be used with the other tools.
fn counterpart(work: &Work<'_>, rule: &HostedRule, alone: bool) -> Option<&'static HostedRule> {
    let tools = work.profile.tools;
    let own = tools.hosted.iter().find(|own| own.kind == rule.kind);
    own.filter(|_| alone || !tools.hosted_alone)
}

/// Whether the choice forces this tool.
fn is_forced(choice: Option<&ToolChoice>, wire: &Json, name: &str) -> bool {
    match choice {
        Some(ToolChoice::Tool(own)) => own == name,
        Some(ToolChoice::Other(own)) => {
            own.get("type").is_some_and(|own| wire.get("type") == Some(own))
        }
        _ => false,
    }
}

/// Forces a call of the target's tool.
fn force(work: &mut Work<'_>, rule: &HostedRule) {
    work.request.tool_choice = None;
    match rule.choice {
        HostedChoice::Name(name) => {
            work.request.tool_choice = Some(ToolChoice::Tool(name.to_owned()));
        }
        HostedChoice::Type(name) => {
            work.hosted_choice = Some(ToolChoice::Other(Json::Object(object! {"type": name})));
        }
        HostedChoice::None => {
            let site = Site::field(&Origin::NONE, "tool_choice");
            let why = "the target cannot force its own tools";
            work.lose(Severity::Major, site, "a call is asked for but not forced", why);
        }
    }
}

/// Refuses a request that forces a call of a tool which the target lacks, or removes the tool.
fn leave_out(work: &mut Work<'_>, tools: Vec<(Tool, bool)>) {
    let nothing_left = work.request.tools.is_empty();
    let any_forced = matches!(
        work.request.tool_choice,
        Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. })
    );
    for (tool, forced) in tools {
        if work.refusal.is_none() && (forced || (any_forced && nothing_left)) {
            let what = format!(
                "the target has no tool like the hosted tool '{}'; leave it out, or ask a model of its \
                 own vendor",
                tool.name
            );
            work.refusal = Some(Refusal { site: Site::of(&tool.origin.element()), what });
        }
        let what = format!("hosted tool '{}' not offered", tool.name);
        work.withhold(Severity::Major, &tool, what, "the target has no such tool");
        if nothing_left {
            drop_choice(work);
        }
    }
}

/// Removes choice and parallel switch, which are refused without tools.
fn drop_choice(work: &mut Work<'_>) {
    let choice = work.request.tool_choice.take().is_some();
    let parallel = work.request.parallel.take().is_some();
    for (field, lost) in [("tool_choice", choice), ("parallel", parallel)] {
        if lost {
            let site = Site::field(&Origin::NONE, field);
            work.lose(Severity::Note, site, "dropped", "no tool is offered");
        }
    }
}

/// Returns the value of a parameter in a definition.
fn value<'w>(wire: &'w Json, path: &[&str]) -> Option<&'w Json> {
    path.iter().try_fold(wire, |own, key| own.get(key)).filter(|own| !own.is_null())
}

/// Returns why a definition is malformed.
fn malformed(rule: &HostedRule, wire: &Json, tool: &Tool) -> Option<Refusal> {
    let wrong = rule.parameters.iter().find_map(|(parameter, path)| {
        let own = value(wire, path)?;
        let is_text = |own: &Json| own.as_str().is_some();
        let (right, what) = match parameter {
            HostedParameter::AllowedDomains | HostedParameter::BlockedDomains => {
                (own.as_array().is_some_and(|own| own.iter().all(is_text)), "a list of strings")
            }
            HostedParameter::MaxUses => (own.as_u64().is_some(), "a whole number"),
            HostedParameter::UserLocation => (own.as_object().is_some(), "an object"),
        };
        (!right).then(|| (format!("/{}", path.join("/")), what))
    });
    let member = match rule.mark {
        HostedMark::Member(name) if wire.get(name).and_then(Json::as_object).is_none() => {
            Some((format!("/{name}"), "an object"))
        }
        _ => None,
    };
    let (below, what) = wrong.or(member)?;
    let site = Site::of(&tool.origin.element()).below(below);
    Some(Refusal { site, what: format!("a hosted tool is malformed: expected {what}") })
}

/// Encodes a tool in the target's form, with the parameters that the target has.
fn translate(work: &mut Work<'_>, tool: &Tool, from: &HostedRule, to: &HostedRule) -> Tool {
    let ToolKind::Hosted(wire) = &tool.kind else { return tool.clone() };
    let mut own = Json::parse(to.definition).unwrap_or_default();
    let mut carried = Vec::new();
    for (parameter, path) in from.parameters {
        let target = to.parameters.iter().find(|(own, _)| own == parameter);
        if let (Some(value), Some((_, target))) = (value(wire, path), target) {
            insert(&mut own, target, value.clone());
            carried.push(format!("/{}", path.join("/")));
        }
    }
    lose_rest(work, tool, from, &carried);
    let name = own.get("name").or(own.get("type")).and_then(Json::as_str).unwrap_or(&tool.name);
    Tool {
        name: name.to_owned(),
        kind: ToolKind::Hosted(own),
        origin: tool.origin.clone(),
        ..Tool::default()
    }
}

fn insert(own: &mut Json, path: &[&str], value: Json) {
    let Some((last, above)) = path.split_last() else { return };
    let mut object = own.as_object_mut();
    for key in above {
        object = object.and_then(|object| {
            if !object.contains_key(key) {
                object.insert((*key).to_owned(), Object::new());
            }
            object.get_mut(key)?.as_object_mut()
        });
    }
    if let Some(object) = object {
        object.insert((*last).to_owned(), value);
    }
}

/// Reports the parameters that are not carried over, and an unusual version.
fn lose_rest(work: &mut Work<'_>, tool: &Tool, rule: &HostedRule, carried: &[String]) {
    let ToolKind::Hosted(wire) = &tool.kind else { return };
    let usual = Json::parse(rule.definition).unwrap_or_default();
    let mut lost = Vec::new();
    leaves(wire, "", &mut |pointer, value| {
        let is_carried =
            carried.iter().any(|own| pointer == *own || pointer.starts_with(&format!("{own}/")));
        let is_usual = value.is_null() || usual.pointer(pointer) == Some(value);
        if !is_carried && !is_usual {
            lost.push(pointer.to_owned());
        }
    });
    for pointer in lost {
        let severity = if pointer == "/type" { Severity::Note } else { Severity::Minor };
        let site = Site::of(&tool.origin.element()).below(pointer);
        work.lose(severity, site, "dropped", "the target's tool has no such parameter");
    }
}
