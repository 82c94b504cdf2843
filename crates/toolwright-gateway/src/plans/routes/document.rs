//! Documents of plans: read within the memory of the gateway, checked, and shown as workflows.

use std::sync::Arc;

use toolwright_core::json::Object;
use toolwright_core::{Fault, FaultClass, Json};
use toolwright_plan::{
    MAX_STEPS, Plan, PlanError, PlanReport, PlanRunError, PlanTools, View, blocking, check,
    plan_tools,
};

use super::{Asker, refusal};
use crate::fault;
use crate::http::{HttpRequest, Reply, Share};

/// How many times as much memory as its document a check of a plan needs: the document, the plan, its values in the
/// check.
pub(super) const CHECK_COPIES: usize = 3;

/// How many times as much memory as its document an answer needs: the document, the output, and what is recorded of it.
pub(super) const ANSWER_COPIES: usize = 4;

/// How many times as much memory as its values a reply needs: its document and its text.
pub(super) const REPORT_COPIES: usize = 2;

/// How many times as much memory as its document the view of a plan needs.
const VIEW_COPIES: usize = 4;

impl Asker {
    /// Finds everything that is wrong with a plan, beside the shape of its document.
    pub(super) async fn examine(
        &self,
        plan: Plan,
        malformed: Vec<PlanError>,
        share: &Arc<Share>,
    ) -> Result<PlanReport, Fault> {
        let mut tools = PlanTools::default();
        if plan.steps.len() <= MAX_STEPS {
            tools = plan_tools(&self.toolbox().await, plan.tool_names()).await;
        }
        work(share, move || check(&plan, &tools, MAX_STEPS).with_shape_errors(malformed)).await
    }

    pub(super) async fn check(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let (body, share) = read(request, CHECK_COPIES).await?;
        let (plan, malformed) = parse(body, &share).await?;
        let report = self.examine(plan, malformed, &share).await?;
        reply(share, move || report.to_json()).await
    }

    pub(super) async fn view(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let (body, share) = read(request, VIEW_COPIES).await?;
        let (plan, mut errors) = parse(body, &share).await?;
        if errors.is_empty() && plan.steps.len() > MAX_STEPS {
            errors = check(&plan, &PlanTools::default(), MAX_STEPS).errors;
        }
        if !errors.is_empty() {
            return Err(refusal(PlanRunError::Invalid(errors)));
        }
        let tools = plan_tools(&self.toolbox().await, plan.tool_names()).await;
        let view = work(&share, move || View::new(&plan, &tools)).await?;
        let view = view.map_err(|errors| refusal(PlanRunError::Invalid(errors)))?;
        reply(share, move || view.to_json()).await
    }
}

/// Reads a document, with a share of the memory budget for so many copies. It is to be held for as long as anything of
/// the document is.
pub(super) async fn read(request: HttpRequest, copies: usize) -> Result<(Json, Arc<Share>), Fault> {
    let (body, mut share) = request.body.read_document().await?;
    share.resize(share.size().saturating_mul(copies)).await?;
    let invalid = |error| Fault::new(FaultClass::Invalid, format!("The body is not JSON: {error}"));
    Ok((Json::parse_bytes(&body).map_err(invalid)?, Arc::new(share)))
}

/// Does work on a document on a thread that may block. The work holds the share of the document, because it goes on if
/// the client disconnects.
pub(super) async fn work<T: Send + 'static>(
    share: &Arc<Share>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let share = Arc::clone(share);
    let done = blocking(move || {
        let done = work();
        drop(share);
        done
    });
    done.await.map_err(refusal)
}

/// Replies with a document, which holds the share until it is sent.
pub(super) async fn reply(
    share: Arc<Share>,
    document: impl FnOnce() -> Object + Send + 'static,
) -> Result<Reply, Fault> {
    let text = work(&share, move || Json::from(document()).compact()).await?;
    let reply = fault::text(text);
    Ok(match Arc::into_inner(share) {
        Some(share) => reply.map(|body| body.held(share)),
        None => reply,
    })
}

/// Parses what can be read of a plan, with everything that is wrong with the shape of the document.
pub(super) async fn parse(
    document: Json,
    share: &Arc<Share>,
) -> Result<(Plan, Vec<PlanError>), Fault> {
    work(share, move || Plan::parse_partly(&document)).await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::http::Budget;

    #[test]
    fn a_plan_is_parsed_on_another_thread_that_holds_its_share() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            // The only thread for it is busy.
            let (free, busy) = std::sync::mpsc::channel::<()>();
            let thread = tokio::task::spawn_blocking(move || busy.recv());
            let share = Arc::new(Budget::new(1).share());
            let held = Arc::downgrade(&share);
            assert!(parse(Json::Null, &share).now_or_never().is_none());
            // The client has disconnected, and the work waits for the thread.
            drop(share);
            assert!(held.upgrade().is_some());
            drop(free);
            assert!(thread.await.unwrap().is_err());
            let share = Arc::new(Budget::new(1).share());
            assert!(!parse(Json::Null, &share).await.unwrap().1.is_empty());
            assert!(held.upgrade().is_none());
        });
    }
}
