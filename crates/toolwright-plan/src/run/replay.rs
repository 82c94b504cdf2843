//! A run as its journal tells it: recorded results are applied, the other calls come next.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use toolwright_core::Json;

use crate::plan::{Interpreter, PlannedCall, StepError, StepResult, StepState, StepStatus};

use super::journal::{Entry, EntryEvent, Question, StepAnswer};
use super::scope::{call_id, is_within, join, split};

/// A step, and the item of its `each`.
pub(crate) type Place = (usize, Option<usize>);

/// Memory, in bytes, of the arguments of calls that wait for a person, from which on no further call is made.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// A run that is being continued, or only looked at.
pub(crate) struct Replay {
    pub(crate) interpreter: Interpreter,
    recorded: HashMap<Place, Recorded>,
    /// Calls that wait for a person
    waiting: HashMap<Place, Waiting>,
    /// How much memory their arguments have
    waiting_bytes: usize,
    pub(crate) statuses: Vec<StepStatus>,
    started_ms: u64,
    /// Whether the run is being driven, so that a call that was started is in progress
    is_live: bool,
    /// Whether a report shows the arguments of calls
    pub(super) has_inputs: bool,
    /// How long the run was driven, if that is recorded
    pub(crate) driven_ms: u64,
    /// The drive that is being read: its start, and when something happened in it last
    drive: Option<(u64, u64)>,
    /// Why the run as a whole failed
    pub(super) error: Option<StepError>,
    /// Number of attempts so far
    pub(crate) calls: u64,
    /// How often the host has continued the run by itself since a drive of it has ended
    pub(super) resumed: u32,
}

/// A call that waits for a person.
struct Waiting {
    call: PlannedCall,
    question: Question,
    /// How much memory its arguments have
    bytes: usize,
}

/// What the journal has of a call.
#[derive(Default)]
struct Recorded {
    result: Option<Result<Arc<Json>, StepError>>,
    /// Whether it was started and may not be repeated
    is_uncertain: bool,
    question: Option<Question>,
    answer: Option<StepAnswer>,
}

impl Recorded {
    fn apply(&mut self, event: EntryEvent) {
        match event {
            EntryEvent::Intent => {
                self.is_uncertain = true;
                // The answer was about this start of the call.
                (self.question, self.answer) = (None, None);
            }
            EntryEvent::Withdrawn => self.is_uncertain = false,
            EntryEvent::Succeeded { output, .. } => self.result = Some(Ok(output)),
            EntryEvent::Failed { error, .. } => self.result = Some(Err(error)),
            // An earlier answer was about another question.
            EntryEvent::Asked(question) => (self.question, self.answer) = (Some(question), None),
            // Without a question it would be taken for the answer to a later one.
            EntryEvent::Answered { answer, .. } => {
                self.answer = self.question.is_some().then_some(answer);
            }
            EntryEvent::Resumed | EntryEvent::DriveStarted | EntryEvent::DriveEnded { .. } => {}
        }
    }
}

/// A question of a call within a call of the run.
pub(crate) struct NestedQuestion {
    /// The path of the step, as `outer/inner`
    pub(crate) step: String,
    pub(crate) item: Option<usize>,
    pub(crate) question: Question,
    /// Whether the question is in the journal
    pub(crate) is_recorded: bool,
}

/// What happened within the calls of a run, by their paths.
pub(crate) type NestedEntries = BTreeMap<String, Vec<Entry>>;

/// Separates what happened to the steps of a run from what happened within their calls. Calls with a result are left
/// out.
pub(crate) fn split_entries(entries: Vec<Entry>) -> (Vec<Entry>, NestedEntries) {
    let (mut own, mut nested) = (Vec::new(), NestedEntries::new());
    for mut entry in entries {
        let (call, step) = split(&entry.step);
        if matches!(entry.event, EntryEvent::Succeeded { .. } | EntryEvent::Failed { .. }) {
            remove_within(&mut nested, &join(call, &call_id(step, entry.item)));
        }
        if call.is_empty() {
            own.push(entry);
        } else {
            let (call, step) = (call.to_owned(), step.to_owned());
            entry.step = step;
            nested.entry(call).or_default().push(entry);
        }
    }
    (own, nested)
}

/// Removes what happened within a call.
pub(crate) fn remove_within(nested: &mut NestedEntries, call: &str) {
    nested.retain(|own, _| !is_within(own, call));
}

/// Whether an answer of a person is the last that happened to a call.
pub(crate) fn has_answer<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> bool {
    let mut last: HashMap<(&str, Option<usize>), bool> = HashMap::new();
    for entry in entries {
        let is_answer = matches!(entry.event, EntryEvent::Answered { .. });
        last.insert((&entry.step, entry.item), is_answer);
    }
    last.into_values().any(|is_answer| is_answer)
}

/// Returns the questions within calls. If the run is being driven, a call that was started is in progress.
pub(crate) fn nested_questions(nested: &NestedEntries, is_live: bool) -> Vec<NestedQuestion> {
    let mut questions = Vec::new();
    for (call, entries) in nested {
        let mut calls: BTreeMap<(&str, Option<usize>), Recorded> = BTreeMap::new();
        for entry in entries {
            calls.entry((&entry.step, entry.item)).or_default().apply(entry.event.clone());
        }
        for ((step, item), recorded) in calls {
            let is_recorded = recorded.question.is_some();
            let is_uncertain = recorded.is_uncertain && !is_live;
            let question = recorded.question.or(is_uncertain.then_some(Question::Uncertain));
            let is_open = recorded.result.is_none() && recorded.answer.is_none();
            if let Some(question) = question.filter(|_| is_open) {
                let step = join(call, step);
                questions.push(NestedQuestion { step, item, question, is_recorded });
            }
        }
    }
    questions
}

/// What comes next.
pub(crate) enum Next {
    /// A call, and the answer of a person about it
    Call(PlannedCall, Option<(Question, StepAnswer)>),
    /// A person is asked about a call for the first time
    Ask(Place, Question),
    /// A person gave the output of a call
    Output(Place, Arc<Json>),
}

impl Replay {
    /// Applies the entries of a run to the interpreter of its plan. Times of steps count from the start of the run.
    pub(crate) fn new(started_ms: u64, entries: Vec<Entry>, interpreter: Interpreter) -> Replay {
        let plan = Arc::clone(interpreter.plan());
        let mut replay = Replay {
            statuses: vec![StepStatus::default(); plan.steps.len()],
            interpreter,
            recorded: HashMap::new(),
            waiting: HashMap::new(),
            waiting_bytes: 0,
            started_ms,
            is_live: false,
            has_inputs: false,
            driven_ms: 0,
            drive: None,
            error: None,
            calls: 0,
            resumed: 0,
        };
        let positions: HashMap<&str, usize> =
            plan.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
        for entry in entries {
            replay.count_time(&entry);
            if let Some(&step) = positions.get(entry.step.as_str()) {
                replay.read(step, entry);
            }
        }
        replay.end_drive(None);
        replay
    }

    /// Counts the time of drives. One that was interrupted lasted until something happened in it last.
    fn count_time(&mut self, entry: &Entry) {
        match &entry.event {
            EntryEvent::DriveStarted => {
                self.end_drive(None);
                self.error = None;
                self.drive = Some((entry.time_ms, entry.time_ms));
            }
            EntryEvent::Resumed => self.resumed += 1,
            EntryEvent::DriveEnded { error } => {
                self.resumed = 0;
                self.end_drive(Some(entry.time_ms));
                self.error.clone_from(error);
            }
            EntryEvent::Asked(_) | EntryEvent::Answered { .. } => self.error = None,
            _ => {
                self.error = None;
                if let Some((_, last)) = &mut self.drive {
                    *last = entry.time_ms.max(*last);
                }
            }
        }
    }

    fn end_drive(&mut self, ended_ms: Option<u64>) {
        if let Some((started, last)) = self.drive.take() {
            self.driven_ms += ended_ms.unwrap_or(last).saturating_sub(started);
        }
    }

    fn read(&mut self, step: usize, entry: Entry) {
        if let EntryEvent::Succeeded { started_ms, attempts, .. }
        | EntryEvent::Failed { started_ms, attempts, .. } = entry.event
        {
            self.start(step, started_ms);
            self.end(step, entry.time_ms, attempts);
        }
        self.recorded.entry((step, entry.item)).or_default().apply(entry.event);
    }

    /// Notes that a call of a step has started.
    pub(crate) fn start(&mut self, step: usize, time_ms: u64) {
        let time = time_ms.saturating_sub(self.started_ms);
        let status = &mut self.statuses[step];
        status.state = StepState::Running;
        status.started_ms = Some(status.started_ms.map_or(time, |known| known.min(time)));
    }

    /// Notes that a call of a step has ended.
    pub(crate) fn end(&mut self, step: usize, time_ms: u64, attempts: u32) {
        let time = time_ms.saturating_sub(self.started_ms);
        self.calls += u64::from(attempts);
        let status = &mut self.statuses[step];
        status.attempts += attempts;
        status.ended_ms = Some(status.ended_ms.map_or(time, |known| known.max(time)));
    }

    /// Applies all recorded results, for a report with the arguments of calls; what comes next is not made. If the run
    /// is being driven, a call that was started is in progress. Returns the places of questions that are not recorded
    /// yet.
    pub(crate) fn prepare_report(&mut self, is_live: bool) -> Vec<Place> {
        (self.has_inputs, self.is_live) = (true, is_live);
        let next = std::iter::from_fn(|| self.next());
        let asked = next.filter_map(|next| match next {
            Next::Ask(place, _) => Some(place),
            _ => None,
        });
        asked.collect()
    }

    /// Returns how much memory the arguments of the next call take, after recorded results are applied.
    pub(crate) fn next_weight(&mut self) -> usize {
        loop {
            self.apply_results();
            let weight = self.interpreter.next_weight();
            let place = self.interpreter.next_place();
            // The call with the weight may be another one, and have a result.
            if !place.is_some_and(|place| self.has_result(place)) {
                return weight.unwrap_or_default();
            }
        }
    }

    fn has_result(&self, place: Place) -> bool {
        self.recorded.get(&place).is_some_and(|own| own.result.is_some())
    }

    /// Takes the next call without its arguments. Returns its place.
    pub(crate) fn take_next(&mut self) -> Option<Place> {
        let place = self.interpreter.next_place()?;
        self.interpreter.take_next();
        Some(place)
    }

    /// Applies the recorded results of the next calls.
    fn apply_results(&mut self) {
        while let Some(place) = self.interpreter.next_place() {
            let recorded = self.recorded.get_mut(&place).and_then(|own| own.result.take());
            let Some(result) = recorded else { return };
            self.interpreter.take_next();
            self.apply(place, result);
        }
    }

    /// Applies the result of a call.
    pub(crate) fn apply(&mut self, (step, item): Place, result: Result<Arc<Json>, StepError>) {
        match result {
            Ok(output) => self.interpreter.succeed(step, item, output),
            Err(error) => self.fail(step, item, error),
        }
    }

    /// Returns what comes next. Recorded results are applied on the way.
    pub(crate) fn next(&mut self) -> Option<Next> {
        loop {
            self.apply_results();
            self.interpreter.next_weight()?;
            let place = self.interpreter.next_place()?;
            if self.has_result(place) {
                continue;
            }
            let call = if self.has_inputs {
                // A report makes no calls.
                self.interpreter.take_next();
                PlannedCall { step: place.0, item: place.1, ..PlannedCall::default() }
            } else {
                self.interpreter.next_call()?
            };
            let recorded = self.recorded.remove(&place).unwrap_or_default();
            let is_new = recorded.question.is_none();
            if is_new && recorded.is_uncertain && self.is_live {
                self.statuses[call.step].state = StepState::Running;
                continue;
            }
            let question =
                recorded.question.or(recorded.is_uncertain.then_some(Question::Uncertain));
            match (question, recorded.answer) {
                (None, _) => return Some(Next::Call(call, None)),
                (Some(question), Some(answer)) => return Some(answered(call, question, answer)),
                (Some(question), None) => {
                    self.wait(call, question.clone());
                    if is_new {
                        return Some(Next::Ask(place, question));
                    }
                }
            }
        }
    }

    /// Applies the failure of a call. Nothing is asked about items after one that lets the step fail: a run that is
    /// continued later does not reach them either.
    fn fail(&mut self, step: usize, item: Option<usize>, error: StepError) {
        self.interpreter.fail(step, item, error);
        let Some(failed) = self.interpreter.failed_item(step) else { return };
        let mut abandoned = 0;
        self.waiting.retain(|(own, item), waiting| {
            let is_later = *own == step && item.is_some_and(|item| item > failed);
            abandoned += usize::from(is_later);
            self.waiting_bytes -= if is_later { waiting.bytes } else { 0 };
            !is_later
        });
        for _ in 0..abandoned {
            self.interpreter.abandon(step);
        }
    }

    /// Whether an earlier item lets the step of an item fail, or the step has ended.
    pub(crate) fn is_abandoned(&self, step: usize, item: Option<usize>) -> bool {
        if self.interpreter.result(step).is_some() {
            return true;
        }
        let failed = self.interpreter.failed_item(step);
        failed.is_some_and(|failed| item.is_some_and(|item| item > failed))
    }

    /// Forgets the failures of calls that had no effect, so that they are made again.
    pub(crate) fn forget_failures(&mut self) {
        for recorded in self.recorded.values_mut() {
            if !recorded.is_uncertain && matches!(recorded.result, Some(Err(_))) {
                recorded.result = None;
            }
        }
    }

    /// Returns the recorded output of a step, or of the last item that has one.
    pub(crate) fn recorded_output(&self, step: usize) -> Option<&Json> {
        let places = self.recorded.iter().filter(|((own, _), _)| *own == step);
        let outputs = places.filter_map(|((_, item), recorded)| {
            Some((item, recorded.result.as_ref()?.as_ref().ok()?))
        });
        outputs.max_by_key(|(item, _)| **item).map(|(_, output)| &**output)
    }

    /// Lets a call wait for a person.
    pub(crate) fn wait(&mut self, call: PlannedCall, question: Question) {
        self.statuses[call.step].state = StepState::Waiting;
        let (place, bytes) = ((call.step, call.item), call.arguments.weight());
        self.waiting_bytes += bytes;
        if let Some(earlier) = self.waiting.insert(place, Waiting { call, question, bytes }) {
            self.waiting_bytes -= earlier.bytes;
        }
    }

    /// Whether so much waits for people that no further call may be made until some of it is answered.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes >= MAX_WAITING_BYTES
    }

    /// Continues with a call that a person has answered; none if it does not wait. The answer to a recorded question
    /// that was not reached yet is kept for it.
    pub(crate) fn answer(&mut self, place: Place, answer: StepAnswer) -> Option<Next> {
        if let Some(Waiting { call, question, bytes }) = self.waiting.remove(&place) {
            self.waiting_bytes -= bytes;
            return Some(answered(call, question, answer));
        }
        let recorded = self.recorded.get_mut(&place).filter(|own| own.question.is_some())?;
        recorded.answer.get_or_insert(answer);
        None
    }

    /// Continues with a call, because a person has answered a question within it; none if it does not wait.
    pub(crate) fn continue_call(&mut self, place: Place) -> Option<Next> {
        self.waiting.get(&place).filter(|own| own.question == Question::Within)?;
        let Waiting { call, bytes, .. } = self.waiting.remove(&place)?;
        self.waiting_bytes -= bytes;
        Some(Next::Call(call, None))
    }

    /// Whether calls wait for a person.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the questions to a person, in order, without those within calls.
    pub(crate) fn questions(&self) -> Vec<(Place, &Question)> {
        let questions = self.waiting.iter().map(|(place, own)| (*place, &own.question));
        let mut questions: Vec<_> =
            questions.filter(|(_, question)| **question != Question::Within).collect();
        questions.sort_by_key(|(place, _)| *place);
        questions
    }

    /// Returns the state of each step.
    pub(crate) fn statuses(&self) -> Vec<StepStatus> {
        let mut statuses = self.statuses.clone();
        let waiting: Vec<usize> = self.waiting.keys().map(|(step, _)| *step).collect();
        for (step, status) in statuses.iter_mut().enumerate() {
            let items = self.interpreter.items(step);
            status.items = items.map(|(done, total)| (done as u64, total as u64));
            status.state = match self.interpreter.result(step) {
                Some(StepResult::Succeeded(_)) => StepState::Succeeded,
                Some(StepResult::Skipped { .. }) => StepState::Skipped,
                Some(StepResult::Failed { .. }) => StepState::Failed,
                Some(StepResult::Blocked { .. }) => StepState::Blocked,
                None if waiting.contains(&step) => StepState::Waiting,
                None => status.state,
            };
        }
        statuses
    }
}

fn answered(call: PlannedCall, question: Question, answer: StepAnswer) -> Next {
    match answer {
        StepAnswer::Output(output) => Next::Output((call.step, call.item), output),
        answer => Next::Call(call, Some((question, answer))),
    }
}
