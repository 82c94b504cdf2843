//! Calls that were made, as a plan: one step for each call, and an edge for each argument that came from an earlier
//! result.
//!
//! A handle in an argument says exactly where its value came from. Any other value is looked up in the outputs of the
//! calls of earlier turns: if one place has it, an edge leads there; if several do, it stays as it is, with a note.
//! Calls of one turn have no edges between them, because the model wrote them before any of them had a result.

mod arguments;
mod note;
mod sources;

use std::collections::HashSet;

use toolwright_core::schema::schemas_at;
use toolwright_core::tool::split_name;
use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

pub use note::{RecordNote, RecordNoteKind};

use self::arguments::Arguments;
use self::sources::{Found, SearchBudget, Sources, is_trivial};
use super::check::check;
use super::document::{Plan, Step, id_problem};
use super::graph::{Edge, EdgeKind, Graph};
use super::template::{Reference, ReferenceForm, Source, Template};
use super::tools::PlanTools;

/// Maximum number of characters of an id that is made of a tool's name, without its number.
const MAX_NAME_CHARS: usize = 48;

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCall {
    /// The tool
    pub tool: String,
    /// The arguments as the model wrote them, with handles in them
    pub arguments: Json,
    /// The number of the model's response; calls with the same number were written together
    pub turn: usize,
    /// How the call ended
    pub result: RecordedResult,
    /// The handles in the arguments
    pub handles: Vec<RecordedHandle>,
}

/// How a recorded call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedResult {
    /// It succeeded; the complete output, as the output of a step
    Output(Json),
    /// It succeeded, or was not made; the output is not known
    Unknown,
    /// It failed
    Failed,
}

/// A handle in the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedHandle {
    /// JSON Pointer into the arguments
    pub path: String,
    /// The position of the call whose output it stands for, and the JSON Pointer into that output; none if no call of
    /// the record returned it
    pub source: Option<(usize, String)>,
    /// Whether the tool receives the value or the handle
    pub form: ReferenceForm,
}

/// A plan that was made of calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    /// The plan
    pub plan: Plan,
    /// What the plan does not repeat, and why
    pub notes: Vec<RecordNote>,
}

impl Recording {
    /// Returns the JSON form: `{plan, notes}`.
    pub fn to_json(&self) -> Object {
        let notes: Vec<Object> = self.notes.iter().map(RecordNote::to_json).collect();
        object! {"plan": self.plan.to_json(), "notes": notes}
    }
}

/// Makes a plan of calls, in the order in which they were made. `prompt` is what the user wrote: a value that it
/// contains is no result. The time grows with the square of the number of calls; a plan that runs has at most
/// [`MAX_STEPS`](super::MAX_STEPS).
///
/// ```
/// use toolwright_plan::{PlanTools, RecordedCall, RecordedResult, record};
/// use toolwright_core::{Json, object};
///
/// let search = RecordedCall {
///     tool: "search".to_owned(),
///     arguments: object! {"city": "北京"}.into(),
///     turn: 0,
///     result: RecordedResult::Output(object! {"id": "PEK-1029"}.into()),
///     handles: Vec::new(),
/// };
/// let arguments = object! {"flight": "PEK-1029", "seats": 2u64}.into();
/// let book = RecordedCall { tool: "book".to_owned(), arguments, turn: 1, ..search.clone() };
/// let recording = record(&[search, book], "Book two seats to 北京", &PlanTools::default());
/// let book = Json::Object(recording.plan.steps[1].to_json());
/// assert_eq!(book.pointer("/args").unwrap().compact(), r#"{"flight":{"$from":"search/id"},"seats":2}"#);
/// ```
pub fn record(calls: &[RecordedCall], prompt: &str, tools: &PlanTools) -> Recording {
    let recorder = Recorder::new(calls, prompt, tools);
    let recording = recorder.plan(&HashSet::new());
    // An edge that the check refuses was a coincidence.
    let report = check(&recording.plan, tools, usize::MAX);
    let refused: HashSet<String> = report.errors.into_iter().map(|error| error.path).collect();
    if refused.is_empty() { recording } else { recorder.plan(&refused) }
}

struct Recorder<'c> {
    calls: &'c [RecordedCall],
    prompt: &'c str,
    tools: &'c PlanTools,
    arguments: Vec<Arguments>,
    sources: Sources<'c>,
    /// The id of the step of each call; none for one that is left out
    ids: Vec<Option<String>>,
}

impl<'c> Recorder<'c> {
    fn new(calls: &'c [RecordedCall], prompt: &'c str, tools: &'c PlanTools) -> Recorder<'c> {
        let arguments: Vec<Arguments> =
            (0..calls.len()).map(|at| Arguments::new(calls, at, tools)).collect();
        let sources = Sources::new(calls, &arguments);
        Recorder { calls, prompt, tools, arguments, sources, ids: ids(calls) }
    }

    /// Makes the plan, without the edges at the refused places.
    fn plan(&self, refused: &HashSet<String>) -> Recording {
        let mut out = Recording::default();
        let (mut budget, mut prompt_budget) = (SearchBudget::default(), SearchBudget::default());
        for (at, call) in self.calls.iter().enumerate() {
            let Some(id) = &self.ids[at] else {
                out.notes.push(self.left_out(at));
                continue;
            };
            let mut step = Step { id: id.clone(), tool: call.tool.clone(), ..Step::default() };
            let (steps, Arguments { values, handles }) =
                (Path::ROOT.key("steps"), &self.arguments[at]);
            let of_step = steps.key(id);
            let mut writer = Writer {
                recorder: self,
                at,
                handles,
                schema: self.tools.get(&call.tool).and_then(|tool| tool.tool.parameters()),
                base: of_step.key("args").pointer(),
                refused,
                notes: &mut out.notes,
                budget: &mut budget,
                prompt_budget: &mut prompt_budget,
            };
            for (name, value) in values.iter() {
                let template = writer.template(value, &Path::ROOT.key(name)).simplified();
                step.args.push((name.to_owned(), template));
            }
            out.plan.steps.push(step);
        }
        let results = "the results are too large to find all values that are parts of their texts";
        let prompt =
            "the prompt is too large to look for all values in it; the others stay as they are";
        for (budget, message) in [(budget, results), (prompt_budget, prompt)] {
            if budget.is_exceeded {
                let kind = RecordNoteKind::NotSearched;
                out.notes.push(RecordNote::new(kind, String::new(), message.to_owned()));
            }
        }
        let graph = Graph::new(&out.plan, self.tools);
        self.keep_order(&mut out.plan, &graph);
        out.plan.outputs = final_outputs(&out.plan, &graph);
        out
    }

    /// Lets steps wait for steps of earlier turns, unless both only read: what one of them changes may matter to the
    /// other.
    fn keep_order(&self, plan: &mut Plan, graph: &Graph) {
        let turns: Vec<usize> = (self.calls.iter().zip(&self.ids))
            .filter_map(|(call, id)| id.as_ref().map(|_| call.turn))
            .collect();
        let reads =
            |at: usize| self.tools.get(&plan.steps[at].tool).is_some_and(|tool| tool.is_read_only);
        let mut waits: Vec<Vec<bool>> = Vec::with_capacity(turns.len());
        let mut added = vec![Vec::new(); turns.len()];
        for at in 0..turns.len() {
            let mut own = vec![false; at];
            let join = |own: &mut Vec<bool>, from: usize, waits: &[Vec<bool>]| {
                own[from] = true;
                for (earlier, is_before) in waits[from].iter().enumerate() {
                    own[earlier] |= is_before;
                }
            };
            for &from in graph.before(at) {
                join(&mut own, from, &waits);
            }
            for from in (0..at).rev() {
                if turns[from] < turns[at] && !own[from] && !(reads(from) && reads(at)) {
                    added[at].insert(0, plan.steps[from].id.clone());
                    join(&mut own, from, &waits);
                }
            }
            waits.push(own);
        }
        for (step, after) in plan.steps.iter_mut().zip(added) {
            step.after = after;
        }
    }

    fn left_out(&self, at: usize) -> RecordNote {
        let tool = &self.calls[at].tool;
        let later = self.calls.iter().zip(&self.ids).skip(at + 1);
        let is_repeated = later.into_iter().any(|(call, id)| call.tool == *tool && id.is_some());
        let why = match (is_repeated, matches!(self.calls[at].arguments, Json::Object(_))) {
            (_, false) => "has arguments that could not be read",
            (true, _) => "failed, and a later call of the tool succeeded",
            (false, _) => "failed",
        };
        let message = format!("call {} of '{tool}' is left out: it {why}", at + 1);
        RecordNote::new(RecordNoteKind::LeftOut, String::new(), message)
    }
}

/// Writes the arguments of one step.
struct Writer<'w, 'c> {
    recorder: &'w Recorder<'c>,
    /// The position of the call
    at: usize,
    handles: &'w [RecordedHandle],
    schema: Option<&'w Json>,
    /// JSON Pointer to the arguments in the plan
    base: String,
    refused: &'w HashSet<String>,
    notes: &'w mut Vec<RecordNote>,
    /// For the results
    budget: &'w mut SearchBudget,
    prompt_budget: &'w mut SearchBudget,
}

impl Writer<'_, '_> {
    /// Returns a value with references in it. The path is that in the arguments.
    fn template(&mut self, value: &Json, path: &Path<'_>) -> Template {
        let pointer = path.pointer();
        if let Some(handle) = self.handles.iter().find(|handle| handle.path == pointer) {
            return self.handle(handle, value);
        }
        let below = pointer.clone() + "/";
        if self.handles.iter().any(|handle| handle.path.starts_with(&below)) {
            return self.inside(value, path);
        }
        if is_trivial(value, self.recorder.prompt, self.prompt_budget)
            || self.is_choice(value, &pointer)
        {
            return Template::Literal(value.clone());
        }
        let recorder = self.recorder;
        let found = recorder.sources.find(value, self.at, &recorder.ids, self.budget);
        let plan_path = format!("{}{pointer}", self.base);
        let (kind, problem, references) = match found {
            Found::Nowhere => return self.inside(value, path),
            Found::One(reference) if self.refused.contains(&plan_path) => {
                let problem = format!("also at '{reference}', which cannot feed this parameter");
                (RecordNoteKind::Refused, problem, vec![reference])
            }
            Found::One(reference) => return Template::Reference(Box::new(reference)),
            Found::Several(references) => {
                (RecordNoteKind::Ambiguous, "in several results".to_owned(), references)
            }
            Found::InText(reference) => {
                let problem =
                    format!("a part of the text at '{reference}', to which no reference can lead");
                (RecordNoteKind::PartOfText, problem, vec![reference])
            }
        };
        let message = format!("the value is {problem}; it stays as it is");
        self.note(kind, plan_path, message, references);
        Template::Literal(value.clone())
    }

    fn inside(&mut self, value: &Json, path: &Path<'_>) -> Template {
        match value {
            Json::Array(items) => {
                let items = items.iter().enumerate();
                Template::Array(
                    items.map(|(at, own)| self.template(own, &path.index(at))).collect(),
                )
            }
            Json::Object(members) => {
                let members = members.iter();
                let member = |(name, own)| (key(name), self.template(own, &path.key(name)));
                Template::Object(members.map(member).collect())
            }
            other => Template::Literal(other.clone()),
        }
    }

    fn handle(&mut self, handle: &RecordedHandle, value: &Json) -> Template {
        let source = handle.source.as_ref();
        let id = source.and_then(|(call, _)| self.recorder.ids.get(*call)?.clone());
        if let (Some((_, pointer)), Some(id)) = (source, id) {
            let mut reference = Reference::new(Source::Step(id), pointer.as_str());
            reference.form = handle.form;
            return Template::Reference(Box::new(reference));
        }
        let path = format!("{}{}", self.base, handle.path);
        let message = "no recorded call returned the data behind this handle; replace it by a value or a reference";
        self.note(RecordNoteKind::UnknownHandle, path, message.to_owned(), Vec::new());
        Template::Literal(value.clone())
    }

    /// Whether the schema lists the value, so that the model chose it there.
    fn is_choice(&self, value: &Json, pointer: &str) -> bool {
        let Some(schema) = self.schema else { return false };
        schemas_at(schema, pointer).into_iter().any(|schema| {
            let listed = schema.get("enum").and_then(Json::as_array).unwrap_or_default();
            listed.iter().chain(schema.get("const")).any(|own| own.equals(value))
        })
    }

    fn note(&mut self, kind: RecordNoteKind, path: String, message: String, from: Vec<Reference>) {
        let candidates = from.iter().map(ToString::to_string).collect();
        self.notes.push(RecordNote { candidates, ..RecordNote::new(kind, path, message) });
    }
}

/// Returns the ids of the steps, by call: the names of the tools, numbered if they are repeated.
fn ids(calls: &[RecordedCall]) -> Vec<Option<String>> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut id = |call: &RecordedCall| {
        if call.result == RecordedResult::Failed || !matches!(call.arguments, Json::Object(_)) {
            return None;
        }
        step_id(&call.tool, &mut taken)
    };
    calls.iter().map(&mut id).collect()
}

/// Returns an id for a step that is not taken: the name of its tool, with a number if necessary.
pub(super) fn step_id(tool: &str, taken: &mut HashSet<String>) -> Option<String> {
    let name = split_name(tool).1;
    let name = name.rsplit('/').next().unwrap_or(name);
    let is_inner = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let name = name.replace(|letter: char| !is_inner(letter), "_");
    let name = if id_problem(&name).is_some() { format!("step_{name}") } else { name };
    let numbered = (2..).map(|number: usize| format!("{name}_{number}"));
    let id = std::iter::once(name.clone()).chain(numbered).find(|id| !taken.contains(id))?;
    taken.insert(id.clone());
    Some(id)
}

/// Returns outputs for a plan: those of the steps from which no other step takes data.
pub(super) fn final_outputs(plan: &Plan, graph: &Graph) -> Vec<(String, Template)> {
    let is_data = |edge: &&Edge| matches!(edge.kind, EdgeKind::Data { .. } | EdgeKind::Slot(_));
    let taken: HashSet<usize> =
        graph.edges().iter().filter(is_data).map(|edge| edge.from).collect();
    let last = plan.steps.iter().enumerate().filter(|(at, _)| !taken.contains(at));
    last.map(|(_, step)| (step.id.clone(), whole(&step.id))).collect()
}

fn whole(id: &str) -> Template {
    Template::Reference(Box::new(Reference::new(Source::Step(id.to_owned()), "")))
}
