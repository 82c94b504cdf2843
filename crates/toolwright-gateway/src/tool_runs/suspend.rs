//! Suspends a run: asks for the approval of its calls, saves it, and tells the client.

use toolwright_core::{Fault, Part, Response, Stop};
use toolwright_runtime::call::Approval;
use toolwright_runtime::run::RunError;

use super::saved_runs::Record;
use super::{RunStores, ToolRun, failed};
use crate::approvals::{self, ApprovalRecord};

impl ToolRun {
    /// Resumes the run with the recorded answers. Without any answer, returns the pending approvals.
    pub(super) async fn ask_for_approval(&mut self) -> Result<Vec<ApprovalRecord>, Fault> {
        let waiting: Vec<Approval> = self.run.waiting().cloned().collect();
        let (mut pending, now) = (Vec::new(), approvals::seconds());
        for call in &waiting {
            let asked = self.stores.approvals.request(&self.caller, &self.conversation, call).await;
            let asked = asked.map_err(|error| approvals::unavailable(&error))?;
            match asked.outcome(now) {
                Some(answer) => self.run.answer(&call.id, answer).map_err(failed)?,
                None => pending.push(asked),
            }
        }
        if pending.len() < waiting.len() {
            pending.clear();
        }
        Ok(pending)
    }

    /// Returns the reply of a run that waits for approval: the last text of the model in this request, and
    /// separately the approvals.
    pub(super) fn notice(&mut self) -> (Response, Vec<Part>) {
        self.run_record.use_reply_usage(self.paid);
        let ids: Vec<&str> = self.pending.iter().map(|own| own.id.as_str()).collect();
        // The head of a stream may have been sent already.
        let _sent = self.approval.set(ids.join(", "));
        let mut response = std::mem::take(&mut self.last);
        let mut notices = Vec::new();
        let mut others = Vec::new();
        for record in &self.pending {
            match self.named.approval(record) {
                Some(part) => notices.push(part),
                None => others.push(record.clone()),
            }
        }
        if !others.is_empty() {
            notices.insert(0, Part::text(approvals::notice(&others)));
        }
        response.stop = Stop::default();
        response.usage = self.view.unreported(self.run.usage());
        (response, notices)
    }

    /// Saves the run so far, if it may be retried or waits for approval.
    pub(super) async fn save(&mut self) -> Result<(), Fault> {
        if self.claim.is_none() && !self.is_saved {
            return Ok(());
        }
        let record = Record {
            digest: self.claim.as_ref().map(|claim| claim.digest().to_owned()).unwrap_or_default(),
            given: self.given,
            upstream: self.run_record.upstream(),
            effects: self.effects.list(),
            run: self.run.save(),
        };
        if self.is_saved {
            let RunStores { saved, .. } = &*self.stores;
            saved.save_waiting(&self.caller, &self.conversation, record.clone()).await?;
        }
        match &self.claim {
            Some(claim) => claim.save(record).await,
            None => Ok(()),
        }
    }

    /// Saves the finished run for plans, and for retries. If this fails, the last response is requested again on a
    /// retry.
    pub(super) async fn save_finished(&mut self) {
        self.leave_conversation().await;
        if self.run.messages().iter().any(|message| message.outcomes().next().is_some()) {
            self.stores.saved.save_finished(&self.caller, self.run.id(), &self.run.save()).await;
        }
        let _logged = self.save().await;
    }

    /// Returns the fault of an error. A run at its limits would fail in every request of its conversation,
    /// so the next one begins another run.
    pub(super) async fn give_up(&mut self, error: RunError) -> Fault {
        if matches!(error, RunError::Limit(_) | RunError::Stuck { .. }) {
            self.leave_conversation().await;
        }
        failed(error)
    }

    /// Removes the run from its conversation, which it no longer continues.
    async fn leave_conversation(&mut self) {
        if std::mem::replace(&mut self.is_saved, false) {
            self.stores.saved.remove_waiting(&self.caller, &self.conversation).await;
        }
    }
}
