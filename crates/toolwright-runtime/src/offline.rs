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
//! user's message, a part of the tools), and the numbers of clauses, tools and parameters are
//! limited. It runs on a blocking thread.

mod arguments;
mod estimate;
mod parameters;
mod pick;
mod pieces;
mod speak;
mod vocabulary;

use std::collections::HashMap;

use toolwright_core::{
    Arguments, Call, Fault, FaultClass, Json, Message, Outcome, Part, Request, Response, Role,
    Tool, ToolChoice, ToolKind,
};

pub use estimate::usage as estimate_usage;

use crate::handle::Handle;
use crate::model::{Model, Upstream};
use arguments::Found;
use pick::{Index, Wish, wishes};
use pieces::clauses;
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
        |message: &Message| message.role == Role::User && !message.text().trim().is_empty();
    let position = request.messages.iter().rposition(spoken);
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
    if completed.iter().any(|(_, outcome)| outcome.is_some_and(Outcome::is_error)) {
        return vec![Part::text(language.answer(&sentences))];
    }
    let index = Index::new(allowed(request));
    let (mut wishes, unsure) = wanted(request, text, &index);
    for (call, _) in &completed {
        if let Some(place) = wishes.iter().position(|wish| wish.tool.name == call.name) {
            wishes.remove(place);
        }
    }
    let handle = last_handle(&request.messages);
    let mut open = wishes.into_iter().map(|wish| Found::new(wish, handle.as_deref()));
    match open.next() {
        Some(first) if first.missing.is_empty() => {
            let is_parallel = request.parallel != Some(false);
            let more = open.take_while(|found| is_parallel && found.is_independent);
            let before = request.messages.iter().flat_map(Message::calls).count();
            let calls = std::iter::once(first).chain(more).zip(before + 1..);
            let calls = calls.map(|(found, number)| {
                let arguments = Arguments::from_json(&Json::Object(found.arguments));
                Part::call(Call::new(format!("call_{number}"), &*found.tool.name, arguments))
            });
            return calls.collect();
        }
        Some(first) => sentences.push(language.ask(&first.tool.name, &first.missing)),
        None if !unsure.is_empty() => sentences.push(language.which(&unsure)),
        None if sentences.is_empty() => sentences.push(language.nothing(&index.tools())),
        None => {}
    }
    vec![Part::text(language.answer(&sentences))]
}

/// Truncates a text.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
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
    let clauses = clauses(text);
    match (&request.tool_choice, &index.tools()[..]) {
        (Some(ToolChoice::Tool(_)), [tool]) => {
            let pieces = clauses.into_iter().flat_map(|clause| clause.pieces).collect();
            (vec![Wish { tool, pieces, then: false }], vec![])
        }
        _ => wishes(clauses, index),
    }
}

/// Returns the last handle in an outcome.
fn last_handle(messages: &[Message]) -> Option<String> {
    const LENGTH: usize = "tw:".len() + 32;
    let outcomes: Vec<&Outcome> = messages.iter().flat_map(Message::outcomes).collect();
    outcomes.iter().rev().find_map(|outcome| {
        let text = outcome.words();
        let found = text.match_indices("tw:").filter_map(|(at, _)| text.get(at..at + LENGTH));
        found.filter(|found| found.parse::<Handle>().is_ok()).last().map(str::to_owned)
    })
}
