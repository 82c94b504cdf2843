//! The progress of a run: a line that changes on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use toolwright_gateway::terminal::{Escaped, counted, width, without_advice};
use toolwright_plan::{Observer, Plan, PlanEvent, PlanEventKind, StepState};

/// Number of characters of the bar.
const BAR: usize = 20;

/// Maximum number of columns of the line, so that it does not wrap on a narrow terminal.
const MAX_COLUMNS: usize = 78;

/// The progress of a run.
struct Progress {
    total: usize,
    ended: usize,
    /// Calls in progress, by step
    running: BTreeMap<String, usize>,
    /// Finished items, by step
    items: BTreeMap<String, usize>,
    is_terminal: bool,
}

/// Shows the progress of a run on stderr.
pub(super) fn observer(plan: &Plan) -> Observer {
    let progress = Mutex::new(Progress {
        total: plan.steps.len(),
        ended: 0,
        running: BTreeMap::new(),
        items: BTreeMap::new(),
        is_terminal: io::stderr().is_terminal(),
    });
    Arc::new(move |event: &PlanEvent| {
        let text = progress.lock().take(&event.kind);
        // A closed stderr does not end the run.
        drop(io::stderr().lock().write_all(text.as_bytes()));
    })
}

impl Progress {
    /// Takes an event and returns what to write.
    fn take(&mut self, event: &PlanEventKind) -> String {
        let mut line = None;
        match event {
            PlanEventKind::CallStarted { step, attempt: 1, .. } => {
                *self.running.entry(step.clone()).or_default() += 1;
            }
            PlanEventKind::CallStarted { step, item, attempt } => {
                line = Some(format!("{}: attempt {attempt}", place(step, *item)));
            }
            PlanEventKind::CallEnded { step, item, error, .. } => {
                self.leave(step);
                if item.is_some() {
                    *self.items.entry(step.clone()).or_default() += 1;
                }
                if let (Some(item), Some(error)) = (item, error) {
                    line = Some(format!(
                        "{}: {}",
                        place(step, Some(*item)),
                        Escaped(without_advice(&error.message))
                    ));
                }
            }
            PlanEventKind::Asked { step, item, reason } => {
                self.leave(step);
                line = Some(format!("{} waits: {}", place(step, *item), Escaped(reason)));
            }
            PlanEventKind::StepEnded { step, state, reason } => {
                self.ended += 1;
                let items = self
                    .items
                    .remove(step)
                    .map(|items| format!(", {}", counted(items, "item", "items")));
                let reason =
                    reason.as_ref().map(|reason| format!(": {}", Escaped(without_advice(reason))));
                line = Some(format!(
                    "{} {} {}{}{}",
                    symbol(*state),
                    Escaped(step),
                    state.as_str(),
                    items.unwrap_or_default(),
                    reason.unwrap_or_default()
                ));
            }
            _ => {}
        }
        let is_over = matches!(event, PlanEventKind::RunEnded { .. });
        match (self.is_terminal, line) {
            (false, line) => line.map(|line| line + "\n").unwrap_or_default(),
            (true, _) if is_over => "\r\x1b[K".to_owned(),
            (true, Some(line)) => format!("\r\x1b[K{line}\n{}", self.bar()),
            (true, None) => format!("\r\x1b[K{}", self.bar()),
        }
    }

    fn leave(&mut self, step: &str) {
        if let Some(count) = self.running.get_mut(step) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(step);
            }
        }
    }

    /// The bar, and the steps that are running.
    fn bar(&self) -> String {
        let full = BAR * self.ended / self.total.max(1);
        let mut out =
            format!("{}{} {}/{}", "█".repeat(full), "░".repeat(BAR - full), self.ended, self.total);
        for (step, count) in &self.running {
            let items = match (count, self.items.get(step)) {
                (_, Some(items)) => format!(" ({})", counted(*items, "item", "items")),
                (1, None) => String::new(),
                (count, None) => format!(" ×{count}"),
            };
            let next = format!("  {}{items}", Escaped(step));
            if width(&out) + width(&next) > MAX_COLUMNS {
                out.push('…');
                break;
            }
            out.push_str(&next);
        }
        out
    }
}

fn place(step: &str, item: Option<usize>) -> String {
    match item {
        Some(item) => format!("{} item {item}", Escaped(step)),
        None => Escaped(step).to_string(),
    }
}

fn symbol(state: StepState) -> char {
    match state {
        StepState::Succeeded => '✓',
        StepState::Failed => '✗',
        _ => '–',
    }
}

#[cfg(test)]
mod tests {
    use toolwright_plan::StepError;

    use super::*;

    fn progress(is_terminal: bool) -> Progress {
        let (running, items) = (BTreeMap::new(), BTreeMap::new());
        Progress { total: 2, ended: 0, running, items, is_terminal }
    }

    #[test]
    fn elsewhere_each_step_is_a_plain_line() {
        let mut progress = progress(false);
        let (step, item) = ("读取".to_owned(), Some(1));
        let started = PlanEventKind::CallStarted { step: step.clone(), item, attempt: 1 };
        assert_eq!(progress.take(&started), "");
        let error = Some(StepError::new("failed", "no\u{1b}[2J"));
        let ended = PlanEventKind::CallEnded { step: step.clone(), item, duration_ms: 1, error };
        assert_eq!(progress.take(&ended), "读取 item 1: no\\u{1b}[2J\n");
        let state = StepState::Succeeded;
        let ended = PlanEventKind::StepEnded { step, state, reason: None };
        assert_eq!(progress.take(&ended), "✓ 读取 succeeded, 1 item\n");
    }

    #[test]
    fn on_a_terminal_the_bar_fits_its_line() {
        let mut progress = progress(true);
        for at in 0..30 {
            let step = format!("步骤{at}");
            let text = progress.take(&PlanEventKind::CallStarted { step, item: None, attempt: 1 });
            let bar = text.strip_prefix("\r\x1b[K").unwrap();
            assert!(width(bar) <= MAX_COLUMNS + 1, "{bar}");
        }
        let state = StepState::Skipped;
        let step = "a".to_owned();
        let text =
            progress.take(&PlanEventKind::StepEnded { step, state, reason: Some("why".into()) });
        assert!(text.starts_with("\r\x1b[K– a skipped: why\n██████████░"), "{text:?}");
    }
}
