//! Reports of runs on request.

use std::sync::Arc;

use toolwright_json::Object;

use super::{Loaded, LocalEngine};
use crate::run::engine::PlanRunError;
use crate::run::report::RunReport;
use crate::run::start::blocking;

impl LocalEngine {
    /// Returns the report of a run without its outputs, which may be large.
    pub async fn progress(&self, run: &str) -> Result<RunReport, PlanRunError> {
        self.look(run, false).await
    }

    /// Reports a run, within the memory of the host.
    pub(super) async fn look(
        &self,
        run: &str,
        has_outputs: bool,
    ) -> Result<RunReport, PlanRunError> {
        let loaded = self.load(run).await?;
        let running = self.live().get(run).map(|live| Arc::clone(&live.running));
        let prepare = move || {
            let mut loaded = loaded;
            let replay = &mut loaded.replay;
            replay.prepare_report(running.is_some());
            let running = running.map(|calls| calls.lock().clone()).unwrap_or_default();
            for ((step, _), started_ms) in running {
                replay.start(step, started_ms);
            }
            let weight = if has_outputs { replay.interpreter.outputs_weight() } else { 0 };
            (loaded, weight)
        };
        let (loaded, weight) = blocking(prepare).await?;
        let Loaded { record, replay, nested_questions, memory, .. } = loaded;
        let outputs = match memory.grow(weight).await {
            Ok(()) if has_outputs => None,
            Ok(()) => Some(Ok(Object::new())),
            Err(error) if memory.may_fit(weight) => return Err(PlanRunError::TooLarge(error)),
            Err(error) => Some(Err(error)),
        };
        let report = move || {
            let error = replay.error.clone();
            RunReport::new(record, &replay, nested_questions, outputs, error, Some(memory))
        };
        blocking(report).await
    }
}
