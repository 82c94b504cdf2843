//! The [`Upstream`] trait, which answers requests, and [`Model`], one model of an upstream.
//!
//! [`ScriptedModel`] is an upstream for tests.

mod scripted;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use toolwright_core::event::split;
use toolwright_core::{Event, Fault, Request, Response};

pub use scripted::ScriptedModel;

/// The events of a response as they arrive. Dropping the stream cancels the request.
pub type EventStream = Pin<Box<dyn Stream<Item = Event> + Send>>;

/// Answers requests: a vendor over HTTP, a script, a set of rules.
pub trait Upstream: Send + Sync + 'static {
    /// Returns the complete response.
    fn respond(&self, request: Request) -> impl Future<Output = Result<Response, Fault>> + Send;

    /// Returns the response as a stream of events. By default it is the complete response, split
    /// into events.
    fn stream(&self, request: Request) -> impl Future<Output = Result<EventStream, Fault>> + Send {
        let answer = self.respond(request);
        async move {
            let answer = answer.await?;
            Ok(event_stream(split::split(answer)))
        }
    }
}

/// A stream of events that have all arrived.
pub fn event_stream(events: Vec<Event>) -> EventStream {
    Box::pin(futures_util::stream::iter(events))
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// The object-safe form of [`Upstream`].
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

/// A model at an upstream. Clones share the upstream.
#[derive(Clone)]
pub struct Model {
    name: Arc<str>,
    upstream: Arc<dyn AnyUpstream>,
}

/// No known provider has a model of this name.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no upstream is known for the model '{model}'{}{}",
    suggestion.as_ref().map(|own| format!("; did you mean '{own}'?")).unwrap_or_default(),
    local.map(|own| format!("; one that needs neither key nor network is {own}")).unwrap_or_default()
)]
#[non_exhaustive]
pub struct UnknownModel {
    /// The requested name
    pub model: String,
    /// A similar name that exists
    pub suggestion: Option<String>,
    /// A model that needs neither key nor network
    pub local: Option<&'static str>,
}

impl UnknownModel {
    /// Creates an error without a suggestion.
    pub fn new(model: impl Into<String>) -> UnknownModel {
        UnknownModel { model: model.into(), suggestion: None, local: None }
    }

    /// Sets a similar name that exists.
    pub fn with_suggestion(mut self, name: impl Into<String>) -> UnknownModel {
        self.suggestion = Some(name.into());
        self
    }

    /// Sets a model that needs neither key nor network.
    pub fn with_local(mut self, name: &'static str) -> UnknownModel {
        self.local = Some(name);
        self
    }
}

impl Model {
    /// Creates a model of an upstream, by the name that the upstream has for it.
    pub fn with_upstream(upstream: impl Upstream, name: impl Into<Arc<str>>) -> Model {
        Model { name: name.into(), upstream: Arc::new(upstream) }
    }

    /// The name that the upstream has for it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the complete response to a request. A request without a model name gets this model's.
    pub async fn respond(&self, request: Request) -> Result<Response, Fault> {
        self.upstream.respond(self.named(request)).await
    }

    /// Returns the response as a stream of events.
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
