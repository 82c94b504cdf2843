//! Requests that generate nothing: token counts and model descriptions. An upstream of the client's
//! dialect answers them; the gateway answers for every other.

use http::{HeaderName, HeaderValue};
use toolwright_core::part::MediaKind;
use toolwright_core::{Fault, FaultClass, Json, object};
use toolwright_dialects::dialect::{Dialect, Target};
use toolwright_runtime::upstream::Incoming;

use super::{Answer, Exchange};
use crate::fault;
use crate::http::Reply;
use crate::models::route::{Backend, Candidate};
use crate::models::routes as models;
use crate::proxy::endpoint::Purpose;
use crate::proxy::fallback::Fallback;
use crate::proxy::send::Failure;
use crate::proxy::{prepare, tokens};

/// The header of a token count that the gateway estimated.
const ESTIMATED: HeaderName = HeaderName::from_static("toolwright-estimated");

/// The side that answers.
enum Inquired {
    /// The upstream
    Upstream(Incoming),
    /// The gateway, for a candidate
    Gateway(Candidate),
}

impl Exchange {
    /// Answers a request that generates nothing.
    pub(super) async fn inquire(mut self) -> Reply {
        let candidate = match self.ask_upstream().await {
            Ok(Inquired::Upstream(incoming)) => return self.untouched(incoming),
            Ok(Inquired::Gateway(candidate)) => candidate,
            Err(failure) => return self.fail(failure),
        };
        // No upstream took part in this reply.
        self.finalizer.recorder.record.upstream = None;
        if self.inbound.endpoint.purpose == Purpose::ShowModel {
            let reply = fault::document(&describe(&candidate));
            return self.finish(reply);
        }
        match self.estimate().await {
            Ok(document) => {
                let mut reply = fault::document(&document);
                reply.headers_mut().insert(ESTIMATED, HeaderValue::from_static("true"));
                self.finish(reply)
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// Asks the candidates in order, up to the first that has no such endpoint.
    async fn ask_upstream(&mut self) -> Result<Inquired, Box<Failure>> {
        let candidates = self.candidates().map_err(|fault| self.not_found(fault))?;
        let mut fallback = Fallback::from(&candidates, 0);
        while let Some((candidate, patience)) = fallback.advance() {
            let native = match &candidate.backend {
                Backend::Remote(remote) => prepare::is_native(&self.inbound, remote, candidate),
                Backend::Offline => false,
            };
            if !native {
                return Ok(Inquired::Gateway(candidate.clone()));
            }
            match self.ask_one(candidate, patience).await {
                Ok(Answer::Untouched(incoming)) => return Ok(Inquired::Upstream(incoming)),
                Ok(_) => return Ok(Inquired::Gateway(candidate.clone())),
                Err(failure) if lacks_endpoint(&failure) => {
                    return Ok(Inquired::Gateway(candidate.clone()));
                }
                Err(failure) => fallback.failed(failure)?,
            }
        }
        Err(fallback.over())
    }

    /// Words an unknown model as Ollama does, because its clients look for that text.
    fn not_found(&self, mut fault: Fault) -> Fault {
        if self.inbound.endpoint.purpose == Purpose::ShowModel
            && fault.class == FaultClass::NotFound
        {
            fault.message = format!("model '{}' not found", self.inbound.model);
        }
        fault
    }

    /// Estimates the number of tokens, in the client's dialect.
    async fn estimate(&mut self) -> Result<Json, Box<Failure>> {
        self.reserve_memory(self.inbound.weight()).await?;
        let request = self.read()?;
        let counted = tokio::task::spawn_blocking(move || tokens::estimate(&request)).await;
        let total = counted.map_err(|_| {
            Fault::new(FaultClass::Internal, "The tokens of this request cannot be counted.")
        })? as u64;
        Ok(Json::Object(match self.inbound.endpoint.dialect {
            Dialect::Gemini => {
                let details = object! {"modality": "TEXT", "tokenCount": total};
                let details = Json::Array(vec![Json::Object(details)]);
                object! {"totalTokens": total, "promptTokensDetails": details}
            }
            _ => object! {"input_tokens": total},
        }))
    }
}

/// Describes a model in Ollama's form.
fn describe(candidate: &Candidate) -> Json {
    let vision = match &candidate.backend {
        Backend::Offline => false,
        Backend::Remote(remote) => {
            let target = Target { model: Some(&candidate.model), version: remote.version() };
            let profile = remote.codec().profile(&target);
            profile.content.media.base64.contains(&MediaKind::Image)
        }
    };
    models::description(candidate.upstream(), &candidate.model, vision)
}

/// Whether an upstream of the client's dialect lacks the endpoint: it rejects the path, and not the
/// model, for which the dialect has a specific error.
fn lacks_endpoint(failure: &Failure) -> bool {
    let Some(error) = &failure.error else { return false };
    let own = || Json::parse_bytes(&error.body).is_ok_and(|body| body.get("error").is_some());
    match error.status.as_u16() {
        404 => !own(),
        405 | 501 => true,
        _ => false,
    }
}
