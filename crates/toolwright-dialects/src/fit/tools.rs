//! Tool definitions: kinds and fields that the target lacks.

use std::collections::BTreeSet;

use toolwright_core::loss::{Severity, Site};
use toolwright_core::profile::Strictness;
use toolwright_core::tool::split_name;
use toolwright_core::{Body, Origin, Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, object};

use super::Work;

/// The placeholder if a target requires tools because the history has calls (case 14).
pub(super) const PLACEHOLDER: &str = "no_tool_available";

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.tools;
    let tools = std::mem::take(&mut work.request.tools);
    // Tools that the choice names are kept in preference to others.
    let chosen = chosen(work);
    let mut reserved = tools.iter().filter(|tool| chosen.contains(&tool.name)).count();
    for mut tool in tools {
        let is_chosen = chosen.contains(&tool.name);
        reserved -= usize::from(is_chosen);
        if kind(work, &mut tool) {
            namespace(work, &mut tool);
            fields(work, &mut tool);
            let taken = work.request.tools.len() + if is_chosen { 0 } else { reserved };
            if rule.max.is_some_and(|max| taken >= max) {
                let why = "the target takes no more tools than it has by now";
                work.withhold(Severity::Major, &tool, "tool not offered", why);
            } else {
                work.request.tools.push(tool);
            }
        }
    }
    strictness(work);
    limit_strictness(work);
    if rule.required_by_history && work.request.tools.is_empty() && history_has_calls(work) {
        work.request.tools.push(placeholder());
        work.request.tool_choice = None;
        work.aliases.placeholder = true;
        work.add(
            "tools",
            "a placeholder, because the history has calls and the target wants tools",
        );
    }
}

/// Returns the tools that the choice names.
fn chosen(work: &Work<'_>) -> BTreeSet<String> {
    match &work.request.tool_choice {
        Some(ToolChoice::Tool(name)) => BTreeSet::from([name.clone()]),
        Some(ToolChoice::Allowed { names, .. }) => names.iter().cloned().collect(),
        _ => BTreeSet::new(),
    }
}

/// Changes a tool of a kind that the target lacks; returns whether it can be offered.
fn kind(work: &mut Work<'_>, tool: &mut Tool) -> bool {
    let rule = work.profile.tools;
    match &tool.kind {
        ToolKind::Function(None) if rule.parameters_required => {
            let empty = object! {"type": "object", "properties": Object::new()};
            tool.kind = ToolKind::Function(Some(Json::Object(empty)));
            true
        }
        ToolKind::Custom(format) if !rule.custom => {
            if let Some(words) = format.as_ref().and_then(grammar) {
                let site = Site::extra(&tool.origin, "format");
                let what = "grammar goes into the description and is not enforced";
                work.lose(Severity::Minor, site, what, NO_FREE_TEXT);
                append(&mut tool.description, &words);
            } else if format.is_some() {
                let site = Site::extra(&tool.origin, "format");
                work.lose(Severity::Note, site, "format dropped", NO_FREE_TEXT);
            }
            let what = "becomes a function with one text parameter";
            work.lose(Severity::Note, Site::of(&tool.origin.element()), what, NO_FREE_TEXT);
            work.aliases.free.push(tool.name.clone());
            tool.kind = ToolKind::Function(Some(free_text()));
            true
        }
        _ => true,
    }
}

const NO_FREE_TEXT: &str = "the target has no free-text tools";

/// Describes a grammar to a model that does not enforce it.
fn grammar(format: &Json) -> Option<String> {
    let grammar = format.get("grammar")?;
    let word = |key| grammar.get(key).and_then(Json::as_str);
    let (syntax, definition) = (word("syntax")?, word("definition")?.trim_end());
    let syntax = if syntax == "regex" { "regular expression" } else { syntax };
    Some(format!("`input` must match this {syntax} grammar:\n```\n{definition}\n```"))
}

/// Adds a paragraph to a description.
fn append(description: &mut Option<String>, words: &str) {
    match description {
        Some(text) if !text.is_empty() => *text = format!("{text}\n\n{words}"),
        _ => *description = Some(words.to_owned()),
    }
}

/// For targets without namespaces or deferred tools: offers the tools as plain functions. The first
/// tool of a namespace describes it; the alias pass names them.
fn namespace(work: &mut Work<'_>, tool: &mut Tool) {
    if work.profile.tools.namespaces {
        return;
    }
    if std::mem::take(&mut tool.loaded) {
        let site = Site::of(&tool.origin.outermost());
        let what = "its tools are offered with all others";
        work.lose_once(Severity::Note, site, what, "the target has one list of tools");
    }
    let Some(own) = tool.namespace.take() else { return };
    let Some(description) = own.description.filter(|text| !text.is_empty()) else { return };
    let why = "the target has no namespaces";
    let site = Site::field(&own.origin, "description");
    work.lose(Severity::Note, site, "stands in the description of its first tool", why);
    let what = "ends with the description of its namespace";
    work.lose(Severity::Note, Site::field(&tool.origin, "description"), what, why);
    let (namespace, _) = split_name(&tool.name);
    let words = format!("Namespace `{}`: {description}", namespace.unwrap_or_default());
    append(&mut tool.description, &words);
}

/// Returns the schema of a free-text tool as a function.
fn free_text() -> Json {
    Json::Object(object! {
        "type": "object",
        "properties": object! {"input": object! {"type": "string"}},
        "required": vec!["input"],
    })
}

fn fields(work: &mut Work<'_>, tool: &mut Tool) {
    let rule = work.profile.tools;
    let mut lost: Vec<(&'static str, &'static str)> = Vec::new();
    if let Some(mark) = tool.cache.take_if(|_| !rule.cache) {
        let site = Site::cache(&tool.origin, &mark);
        work.lose(
            Severity::Minor,
            site,
            "cache breakpoint dropped",
            "the target has none on tools",
        );
    }
    if !rule.output && tool.output.take().is_some() {
        lost.push(("output", "schema of the result dropped"));
    }
    if !rule.examples && !tool.examples.is_empty() {
        tool.examples.clear();
        lost.push(("examples", "examples dropped"));
    }
    if !rule.annotations {
        if tool.title.take().is_some() {
            lost.push(("title", "title dropped"));
        }
        if tool.annotations.take().is_some() {
            lost.push(("annotations", "behaviour hints dropped"));
        }
    }
    if let (Some(max), Some(text)) = (rule.max_description, &mut tool.description)
        && let Some((end, _)) = text.char_indices().nth(max)
    {
        text.truncate(end);
        lost.push(("description", "cut to the target's limit"));
    }
    for (field, what) in lost {
        let site = Site::field(&tool.origin, field);
        work.lose(Severity::Minor, site, what, "the target has no such field on a tool");
    }
}

fn strictness(work: &mut Work<'_>) {
    let every = work.request.tools.iter().all(|tool| tool.strict == Some(true));
    let uniform = work.request.tools.windows(2).all(|pair| pair[0].strict == pair[1].strict);
    let why = match work.profile.tools.strict {
        Strictness::PerTool => return,
        Strictness::PerRequest if every || uniform => return,
        Strictness::PerRequest => "the target is strict for all tools or for none",
        Strictness::None => "the target cannot be held to a schema",
    };
    let mut lost = Vec::new();
    for tool in &mut work.request.tools {
        // Not strict is the default.
        if tool.strict.take() == Some(true) {
            lost.push(Site::field(&tool.origin, "strict"));
        }
    }
    for site in lost {
        work.lose(Severity::Major, site, "strictness dropped", why);
    }
}

/// Removes strictness from tools that exceed the target's limits for strict tools.
fn limit_strictness(work: &mut Work<'_>) {
    let Some(limits) = work.profile.tools.strict_limits.filter(|_| !work.is_own_words()) else {
        return;
    };
    let (mut tools, mut unions, mut optional) = (0, 0, 0);
    let mut lost = Vec::new();
    for tool in work.request.tools.iter_mut().filter(|tool| tool.strict == Some(true)) {
        let (own_unions, own_optional) = tool.parameters().map_or((0, 0), complexity);
        let fits = tools < limits.tools
            && unions + own_unions <= limits.unions
            && optional + own_optional <= limits.optional;
        if fits {
            tools += 1;
            unions += own_unions;
            optional += own_optional;
        } else {
            tool.strict = None;
            lost.push(Site::field(&tool.origin, "strict"));
        }
    }
    for site in lost {
        let why = "the target takes no more strict tools, unions or optional parameters";
        work.lose(Severity::Minor, site, "strictness dropped", why);
    }
}

/// Returns the number of parameters with several types, and of optional ones.
fn complexity(schema: &Json) -> (usize, usize) {
    let is_union = ["anyOf", "oneOf"].iter().any(|key| schema.get(key).is_some())
        || schema.get("type").and_then(Json::as_array).is_some();
    let required = schema.get("required").and_then(Json::as_array);
    let is_required =
        |name: &str| required.is_some_and(|list| list.iter().any(|own| own.as_str() == Some(name)));
    let properties = schema.get("properties").and_then(Json::as_object);
    let names = properties.into_iter().flat_map(Object::keys);
    let mut sum = (usize::from(is_union), names.filter(|name| !is_required(name)).count());
    let lists = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array());
    let groups = ["properties", "$defs", "definitions"].iter();
    let groups = groups.filter_map(|key| schema.get(key)?.as_object());
    let below = lists.flatten().chain(schema.get("items"));
    let below = below.chain(groups.flat_map(|group| group.iter().map(|(_, own)| own)));
    for own in below {
        let (unions, optional) = complexity(own);
        sum = (sum.0 + unions, sum.1 + optional);
    }
    sum
}

fn history_has_calls(work: &Work<'_>) -> bool {
    let parts = work.request.messages.iter().flat_map(|message| &message.parts);
    parts.into_iter().any(|part| matches!(part.body, Body::Call(_) | Body::Outcome(_)))
}

fn placeholder() -> Tool {
    let schema = Json::Object(object! {"type": "object", "properties": Object::new()});
    let mut tool = Tool::function(PLACEHOLDER, schema)
        .with_description("No tool is available in this turn. Do not call this.");
    tool.origin = Origin::NONE;
    tool
}
