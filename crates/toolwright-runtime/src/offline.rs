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

mod clause;
mod concept;
mod estimate;
mod extract;
mod pick;
mod piece;
mod slot;
mod speak;
mod wish;
mod word;

use std::borrow::Cow;
use std::collections::HashMap;

use toolwright_core::part::{Body, Reasoning};
use toolwright_core::{
    Arguments, Call, Fault, FaultClass, Json, Message, Outcome, Part, Request, Response, Role,
    Tool, ToolChoice, ToolKind,
};

pub use estimate::usage as estimate_usage;

use crate::model::{Model, Upstream};
use extract::{Found, Source};
use pick::Index;
use speak::Language;
use wish::{Wish, Wishes};

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

/// A call since the last user message, with its outcome.
struct CompletedCall<'a> {
    call: &'a Call,
    outcome: Option<&'a Outcome>,
}

fn parts(request: &Request) -> Vec<Part> {
    let spoken =
        |message: &&Message| message.role == Role::User && !message.text().trim().is_empty();
    let position = request.messages.iter().rposition(|message| spoken(&message));
    let text = position.map(|at| request.messages[at].text()).unwrap_or_default();
    let text = cut(&text, READ);
    let since = &request.messages[position.map_or(0, |at| at + 1)..];
    let language = if word::is_chinese(text) { Language::Chinese } else { Language::English };

    let made = made(since);
    let mut sentences: Vec<String> = made
        .iter()
        .filter_map(|made| Some(language.outcome(&made.call.name, made.outcome?)))
        .collect();
    let failed = made.iter().any(|made| made.outcome.is_some_and(Outcome::is_error));
    let say = |sentences: &[String]| vec![Part::text(language.answer(sentences))];
    if failed {
        return say(&sentences);
    }

    let index = Index::new(allowed(request));
    let wishes = wanted(request, text, &index);
    let open = open(&wishes.list, &made);
    match batch(request, text, &open) {
        Next::Calls(calls) => {
            let why: Vec<String> = calls
                .iter()
                .map(|(wish, _)| language.because(&wish.tool.name, &wish.words))
                .collect();
            let thought = Part::new(Body::Reasoning(Reasoning::text(why.join("\n"))));
            let before = request.messages.iter().flat_map(Message::calls).count();
            let call = |(at, (wish, found)): (usize, (&Wish<'_>, Found<'_>))| {
                let arguments = Arguments::from_json(&Json::Object(found.arguments));
                Part::call(Call::new(
                    format!("call_{}", before + at + 1),
                    &*wish.tool.name,
                    arguments,
                ))
            };
            let mut parts = vec![thought];
            parts.extend(calls.into_iter().enumerate().map(call));
            return parts;
        }
        Next::Ask(wish, found) => sentences.push(language.ask(&wish.tool.name, &found.missing)),
        Next::Done if !wishes.unsure.is_empty() => sentences.push(language.which(&wishes.unsure)),
        Next::Done if sentences.is_empty() => {
            sentences.push(language.nothing(&index.tools().collect::<Vec<_>>()));
        }
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
fn made(messages: &[Message]) -> Vec<CompletedCall<'_>> {
    let mut outcomes: HashMap<Option<&str>, &Outcome> = HashMap::new();
    for outcome in messages.iter().flat_map(Message::outcomes) {
        outcomes.entry(outcome.call_id.as_deref()).or_insert(outcome);
    }
    let of = |call: &Call| outcomes.get(&call.id.as_deref()).copied();
    messages
        .iter()
        .flat_map(Message::calls)
        .map(|call| CompletedCall { call, outcome: of(call) })
        .collect()
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

/// Finds what the message asks for. A tool that the request forces is always included.
fn wanted<'a>(request: &Request, text: &str, index: &Index<'a>) -> Wishes<'a> {
    let demanded = match &request.tool_choice {
        Some(ToolChoice::Tool(_)) => true,
        Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. }) => {
            index.tools().count() == 1
        }
        _ => false,
    };
    match index.tools().next() {
        Some(tool) if demanded => {
            let wish = Wish { tool, range: 0..text.len(), then: false, words: vec![] };
            Wishes { list: vec![wish], unsure: vec![] }
        }
        _ => wish::wishes(text, index),
    }
}

/// Returns the wishes without a call.
fn open<'w, 'a>(wishes: &'w [Wish<'a>], made: &[CompletedCall<'_>]) -> Vec<&'w Wish<'a>> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for made in made {
        *left.entry(&made.call.name).or_default() += 1;
    }
    let mut open = Vec::new();
    for wish in wishes {
        match left.get_mut(wish.tool.name.as_str()).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => open.push(wish),
        }
    }
    open
}

/// The next action.
enum Next<'w, 'a> {
    /// Make these calls concurrently
    Calls(Vec<(&'w Wish<'a>, Found<'a>)>),
    /// Ask for the missing arguments of the first wish
    Ask(&'w Wish<'a>, Found<'a>),
    /// Nothing is left to do
    Done,
}

/// Returns the calls that can be made now: the first open wish, and later ones that have all
/// arguments in their own clause and are not marked as following.
fn batch<'w, 'a>(request: &Request, text: &str, open: &[&'w Wish<'a>]) -> Next<'w, 'a> {
    let handle = last_handle(&request.messages);
    let mut source = Source::new(text, handle.as_deref());
    let mut found: Vec<(&'w Wish<'a>, Found<'a>)> =
        open.iter().map(|wish| (*wish, source.arguments(wish.tool, wish.range.clone()))).collect();
    for (wish, found) in &mut found {
        source.complete(wish.tool, found);
    }
    let mut found = found.into_iter();
    let Some((wish, first)) = found.next() else { return Next::Done };
    if !first.missing.is_empty() {
        return Next::Ask(wish, first);
    }
    let mut calls = vec![(wish, first)];
    if request.parallel != Some(false) {
        let ready = |(wish, found): &(&Wish<'_>, Found<'_>)| {
            !wish.then
                && found.missing.is_empty()
                && !found.passed
                && (found.own || is_read_only(wish.tool))
        };
        calls.extend(found.take_while(ready));
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
