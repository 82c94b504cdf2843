//! Runs that were in progress when their host ended.

use super::{Loaded, LocalEngine};
use crate::plan::StepError;
use crate::run::engine::{Engine, PlanRunError};
use crate::run::event::Observer;
use crate::run::journal::{EntryEvent, Question, RunStatus};
use crate::run::report::{RunReport, StepQuestion};

/// The kind of the error of a run that was not continued.
const INTERRUPTED: &str = "interrupted";

/// Number of starts of a host in a row at which a run may be in progress before it is not continued by itself.
const MAX_STARTS: u32 = 3;

impl LocalEngine {
    /// Continues a run that was in progress when the host ended. If that needs a person, the run stays interrupted, and
    /// the reason is recorded and returned: the host refuses it for this reason, its tools have changed, the outcome of
    /// a call is unknown, it does not fit into the memory of the host, or it was in progress at three starts in a row,
    /// so that it may be what ends the host. It waits for memory that others have.
    pub async fn resume(
        &self,
        run: &str,
        refused: Option<&str>,
        observer: Option<Observer>,
    ) -> Result<Result<RunReport, String>, PlanRunError> {
        let engine = LocalEngine { waits_for_memory: true, ..self.clone() };
        let loaded = match engine.load(run).await {
            // It does not fit into the memory of the host.
            Err(error @ PlanRunError::TooLarge(_)) if !self.stop.is_cancelled() => {
                return self.interrupt(run, &error.to_string()).await.map(Err);
            }
            loaded => loaded?,
        };
        let Loaded { record, tools, mut replay, nested_questions, memory, .. } = loaded;
        let known = replay.error.as_ref().filter(|error| error.kind == INTERRUPTED);
        if let Some(known) = known {
            return Ok(Err(known.message.clone()));
        }
        let mut reason = refused.map(str::to_owned);
        if let Err(error) = self.check_record(&record, &tools) {
            reason.get_or_insert(error.to_string());
        }
        if replay.resumed + 1 >= MAX_STARTS {
            let why = "it was in progress at three starts in a row; resume it to try again";
            reason.get_or_insert(why.to_owned());
        }
        replay.prepare_report(false);
        let questions = StepQuestion::all(&record.plan, &replay, nested_questions);
        if let Some(open) = questions.iter().find(|own| own.question == Question::Uncertain) {
            let why = format!("it is unknown whether the call '{}' had its effect", open.step);
            reason.get_or_insert(why);
        }
        if let Some(reason) = reason {
            return self.interrupt(run, &reason).await.map(Err);
        }
        drop((replay, memory));
        self.note(run, EntryEvent::Resumed).await?;
        engine.drive(run, observer).await.map(Ok)
    }

    /// Leaves a run that nothing drives as interrupted, with a reason, which is returned.
    async fn interrupt(&self, run: &str, reason: &str) -> Result<String, PlanRunError> {
        // An answer waits until the reason is recorded; it would be refused while the run is claimed.
        let _turn = self.answering.lock().await;
        let _claim = self.journal.claim(run).await?;
        let error = Some(StepError::new(INTERRUPTED, reason));
        self.note(run, EntryEvent::DriveEnded { error }).await?;
        self.journal.set_status(run, RunStatus::Interrupted, None).await?;
        Ok(reason.to_owned())
    }
}
