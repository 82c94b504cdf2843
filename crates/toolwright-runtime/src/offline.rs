//! The model `offline/rules`: a rule-based stand-in that needs no network and no key.
//!
//! ```text
//! last user message → clauses → a tool for each, by shared words → arguments from the text
//! ```
//!
//! It calls a tool only on strong evidence, asks for missing arguments, passes a handle from one
//! outcome to the next call, and repeats the outcomes of its calls. It supports English and
//! Chinese. Equal requests get equal responses. Every response says that it is not from a language
//! model.
//!
//! The work is bounded for any request: only the beginning of a text is read (16 KiB of the
//! user's message, a part of the tools), and the number of attempts is limited. It
//! runs on a blocking thread.

mod arguments;
mod estimate;
mod parameters;
mod pick;
mod pieces;
mod speak;
mod vocabulary;

use std::borrow::Cow;
use std::collections::HashMap;

use toolwright_core::part::Reasoning;
use toolwright_core::{
    Arguments, Body, Call, Fault, FaultClass, Json, Message, Outcome, Part, Request, Response,
    Role, Tool, ToolChoice, ToolKind,
};

pub use estimate::usage as estimate_usage;

use crate::model::{Model, Upstream};
use arguments::{Found, Source};
use pick::{Index, Wish, wishes};
use pieces::{Piece, clauses};
use speak::{CHINESE, ENGLISH};

/// The name of the rules.
pub const OFFLINE: &str = "offline/rules";

/// Maximum number of bytes of the last user message that are read.
const READ: usize = 16 * 1024;

/// The rules. See [`Model::offline`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Model {
    /// Creates the offline rules, a stand-in for a model.
    pub fn offline() -> Model {
        Model::with_upstream(Offline, OFFLINE)
    }
}

impl Upstream for Offline {
    async fn respond(&self, request: Request) -> Result<Response, Fault> {
        let answered = tokio::task::spawn_blocking(move || answer(&request)).await;
        answered.map_err(|_| Fault::new(FaultClass::Internal, "The offline rules failed."))
    }
}

fn answer(request: &Request) -> Response {
    let parts = parts(request);
    let mut response = Response { model: Some(OFFLINE.to_owned()), ..Response::new(parts) };
    response.usage = Some(estimate::usage(request, &response));
    response
}

fn parts(request: &Request) -> Vec<Part> {
    let spoken =
        |message: &&Message| message.role == Role::User && !message.text().trim().is_empty();
    let position = request.messages.iter().rposition(|message| spoken(&message));
    let text = position.map(|at| request.messages[at].text()).unwrap_or_default();
    let text = cut(&text, READ);
    let since = &request.messages[position.map_or(0, |at| at + 1)..];
    let is_chinese = text.contains(vocabulary::is_chinese);
    let language = if is_chinese { &CHINESE } else { &ENGLISH };
    let completed = completed(since);
    let mut sentences: Vec<String> = completed
        .iter()
        .filter_map(|(call, outcome)| Some(language.outcome(&call.name, (*outcome)?)))
        .collect();
    let say = |sentences: &[String]| vec![Part::text(language.answer(sentences))];
    if completed.iter().any(|(_, outcome)| outcome.is_some_and(Outcome::is_error)) {
        return say(&sentences);
    }
    let index = Index::new(allowed(request));
    let (mut wishes, unsure) = wanted(request, text, &index);
    for (call, _) in &completed {
        if let Some(place) = wishes.iter().position(|wish| wish.tool.name == call.name) {
            wishes.remove(place);
        }
    }
    match next(request, text, wishes) {
        Next::Calls(calls) => {
            let why: Vec<String> = calls
                .iter()
                .map(|(wish, _)| language.because(&wish.tool.name, &wish.words))
                .collect();
            let thought = Part::new(Body::Reasoning(Reasoning::text(why.join("\n"))));
            let before = request.messages.iter().flat_map(Message::calls).count();
            let calls = calls.into_iter().enumerate().map(|(at, (wish, found))| {
                let arguments = Arguments::from_json(&Json::Object(found.arguments));
                let id = format!("call_{}", before + at + 1);
                Part::call(Call::new(id, &*wish.tool.name, arguments))
            });
            return [thought].into_iter().chain(calls).collect();
        }
        Next::Ask(wish, found) => sentences.push(language.ask(&wish.tool.name, &found.missing)),
        Next::Done if !unsure.is_empty() => sentences.push(language.which(&unsure)),
        Next::Done if sentences.is_empty() => sentences.push(language.nothing(&index.tools())),
        Next::Done => {}
    }
    say(&sentences)
}

/// Truncates a text.
fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the calls of messages with their outcomes.
fn completed(messages: &[Message]) -> Vec<(&Call, Option<&Outcome>)> {
    let mut outcomes: HashMap<Option<&str>, &Outcome> = HashMap::new();
    for outcome in messages.iter().flat_map(Message::outcomes) {
        outcomes.entry(outcome.call_id.as_deref()).or_insert(outcome);
    }
    let calls = messages.iter().flat_map(Message::calls);
    calls.map(|call| (call, outcomes.get(&call.id.as_deref()).copied())).collect()
}

/// Returns the tools that may be called: functions, as far as the request allows them.
fn allowed(request: &Request) -> impl Iterator<Item = &Tool> {
    request.tools.iter().filter(|tool| {
        let chosen = match &request.tool_choice {
            Some(ToolChoice::None) => false,
            Some(ToolChoice::Tool(name)) => *name == tool.name,
            Some(ToolChoice::Allowed { names, .. }) => names.contains(&tool.name),
            _ => true,
        };
        chosen && matches!(tool.kind, ToolKind::Function(_))
    })
}

/// Finds what the message asks for, and the tools that could not be distinguished. A tool that the request forces is
/// always included.
fn wanted<'a, 't>(
    request: &Request,
    text: &'a str,
    index: &Index<'t>,
) -> (Vec<Wish<'a, 't>>, Vec<&'t Tool>) {
    let (clauses, tools) = (clauses(text), index.tools());
    let is_forced = match &request.tool_choice {
        Some(ToolChoice::Tool(_)) => true,
        Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. }) => tools.len() == 1,
        _ => false,
    };
    match tools.first() {
        Some(tool) if is_forced => {
            let pieces = clauses.into_iter().flat_map(|clause| clause.pieces).collect();
            (vec![Wish { tool, pieces, then: false, words: vec![] }], vec![])
        }
        _ => wishes(clauses, index),
    }
}

/// The next action.
enum Next<'a, 't> {
    /// Make these calls concurrently
    Calls(Vec<(Wish<'a, 't>, Found<'t>)>),
    /// Ask for the missing arguments of the first wish
    Ask(Wish<'a, 't>, Found<'t>),
    /// Nothing is left to do
    Done,
}

/// Returns the calls that can be made now: the first open wish, and later ones that have all
/// arguments in their own clause and are not marked as following.
fn next<'a, 't>(request: &Request, text: &str, open: Vec<Wish<'a, 't>>) -> Next<'a, 't> {
    let handle = last_handle(&request.messages);
    let mut source = Source::new(text, handle.as_deref());
    let find = |wish: Wish<'a, 't>| {
        let found = source.arguments(wish.tool, &wish.pieces);
        (wish, found)
    };
    let mut found: Vec<(Wish<'a, 't>, Found<'t>)> = open.into_iter().map(find).collect();
    let all: Vec<Piece<'_>> = clauses(text).into_iter().flat_map(|clause| clause.pieces).collect();
    for (wish, found) in &mut found {
        source.complete(wish.tool, &all, found);
    }
    let mut found = found.into_iter();
    let Some((wish, first)) = found.next() else { return Next::Done };
    if !first.missing.is_empty() {
        return Next::Ask(wish, first);
    }
    let mut calls = vec![(wish, first)];
    if request.parallel != Some(false) {
        let is_ready = |(wish, found): &(Wish<'_, '_>, Found<'_>)| {
            !wish.then
                && found.missing.is_empty()
                && !found.is_passed
                && (found.is_own || is_read_only(wish.tool))
        };
        calls.extend(found.take_while(is_ready));
    }
    Next::Calls(calls)
}

/// Whether a tool is marked as read-only.
fn is_read_only(tool: &Tool) -> bool {
    let hint = tool.annotations.as_ref().and_then(|own| own.get("readOnlyHint"));
    hint.and_then(Json::as_bool).unwrap_or(false)
}

/// Returns the last handle in an outcome.
fn last_handle(messages: &[Message]) -> Option<String> {
    const LENGTH: usize = "tw:".len() + 32;
    let parts = messages.iter().flat_map(Message::outcomes).flat_map(|outcome| &outcome.content);
    let parts: Vec<&Part> = parts.collect();
    parts.iter().rev().find_map(|part| {
        let text = match &part.body {
            Body::Text(text) => Cow::Borrowed(text.as_str()),
            Body::Json(value) => Cow::Owned(value.compact()),
            _ => return None,
        };
        let found = text.match_indices("tw:").filter_map(|(at, _)| text.get(at..at + LENGTH));
        found.filter(|own| own.parse::<crate::handle::Handle>().is_ok()).last().map(str::to_owned)
    })
}
