//! Whoever answers requests, and a model there by its name.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::offline::OFFLINE;
use futures_util::Stream;
use toolwright_core::event::split;
use toolwright_core::{Event, Fault, Request, Response};

/// The events of an answer as it arrives. Dropping it gives the answer up.
pub type EventStream = Pin<Box<dyn Stream<Item = Event> + Send>>;

/// Somebody who answers requests: a vendor over HTTP, a script, the offline rules.
pub trait Upstream: Send + Sync + 'static {
    /// The whole answer.
    fn respond(&self, request: Request) -> impl Future<Output = Result<Response, Fault>> + Send;

    /// The answer as it arrives. By default it arrives at once, when it is whole.
    fn stream(&self, request: Request) -> impl Future<Output = Result<EventStream, Fault>> + Send {
        let answer = self.respond(request);
        async move {
            let answer = answer.await?;
            Ok(ready(split::split(answer)))
        }
    }
}

/// A stream of what is there already.
pub fn ready(events: Vec<Event>) -> EventStream {
    Box::pin(Ready(events.into_iter()))
}

struct Ready(std::vec::IntoIter<Event>);

impl Stream for Ready {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Event>> {
        Poll::Ready(self.0.next())
    }
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// [`Upstream`] for any type.
trait AnyUpstream: Send + Sync {
    fn respond(&self, request: Request) -> Answer<'_, Response>;
    fn stream(&self, request: Request) -> Answer<'_, EventStream>;
}

impl<U: Upstream> AnyUpstream for U {
    fn respond(&self, request: Request) -> Answer<'_, Response> {
        Box::pin(Upstream::respond(self, request))
    }

    fn stream(&self, request: Request) -> Answer<'_, EventStream> {
        Box::pin(Upstream::stream(self, request))
    }
}

/// A model at an upstream. Clones are the same model.
#[derive(Clone)]
pub struct Model {
    name: Arc<str>,
    upstream: Arc<dyn AnyUpstream>,
}

/// No upstream is known for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no upstream is known for the model '{model}'{}; one that needs neither key nor network is offline/rules",
    suggestion.as_ref().map(|own| format!("; did you mean '{own}'?")).unwrap_or_default()
)]
pub struct UnknownModel {
    /// The name that was asked for
    pub model: String,
    /// One that may be meant
    pub suggestion: Option<String>,
}

impl UnknownModel {
    /// No upstream is known for this model.
    pub fn new(model: impl Into<String>) -> UnknownModel {
        UnknownModel { model: model.into(), suggestion: None }
    }

    /// With a name that may be meant.
    #[must_use]
    pub fn with_suggestion(mut self, name: impl Into<String>) -> UnknownModel {
        self.suggestion = Some(name.into());
        self
    }
}

/// There is no model by a name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Nobody is known to have it
    #[error(transparent)]
    Unknown(#[from] UnknownModel),
    /// Its upstream cannot be used
    #[cfg(feature = "upstream")]
    #[error(transparent)]
    Upstream(#[from] crate::upstream::known::KnownError),
}

impl Model {
    /// A model by its name: `upstream/model`, such as `offline/rules`.
    ///
    /// With the feature `upstream` also `deepseek/deepseek-chat`, or a bare id such as `gpt-4o`,
    /// whose key is in the variable that the vendor's own SDK reads.
    pub fn new(name: &str) -> Result<Model, ModelError> {
        match name {
            OFFLINE | "offline" => Ok(Model::offline()),
            #[cfg(feature = "upstream")]
            _ => Model::found(name, &crate::upstream::known::process),
            #[cfg(not(feature = "upstream"))]
            _ => Err(UnknownModel::new(name).into()),
        }
    }

    /// A model of a known upstream, whose key is looked up in an environment.
    #[cfg(feature = "upstream")]
    pub fn found(
        name: &str,
        environment: crate::upstream::known::Environment<'_>,
    ) -> Result<Model, ModelError> {
        let (known, model) = crate::upstream::known::resolve(name)?;
        Ok(Model::at(known.remote(environment)?, model))
    }

    /// A model by its upstream and the name that the upstream knows it by.
    pub fn at(upstream: impl Upstream, name: impl Into<Arc<str>>) -> Model {
        Model { name: name.into(), upstream: Arc::new(upstream) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole answer to a request, which gets the model's name if it has none.
    pub async fn respond(&self, request: Request) -> Result<Response, Fault> {
        self.upstream.respond(self.named(request)).await
    }

    /// The answer as it arrives.
    pub async fn stream(&self, request: Request) -> Result<EventStream, Fault> {
        self.upstream.stream(self.named(request)).await
    }

    fn named(&self, mut request: Request) -> Request {
        request.model.get_or_insert_with(|| self.name.as_ref().to_owned());
        request
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("name", &self.name).finish_non_exhaustive()
    }
}
