//! The measured routes from a client to the mock upstream, and the processes on them.

use std::time::Duration;

use super::Plan;
use crate::failure::{Failure, Outcome};
use crate::load::{Connection, Expect, Target, next_nonce};
use crate::mock;
use crate::process::{Child, Serving, Site};
use crate::question::{Question, ReplyKind, Size};

/// A route to the mock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Without a process in between
    Direct,
    /// The bare proxy
    Bare,
    /// The gateway, openai-chat on both sides
    Pass,
    /// The gateway, openai-chat to anthropic
    Translate,
    /// As `Pass`, through another build of the gateway
    OtherPass,
    /// As `Translate`, through another build of the gateway
    OtherTranslate,
}

impl Route {
    /// All routes.
    pub(crate) const ALL: &[Route] = &[Route::Direct, Route::Bare, Route::Pass, Route::Translate];
    /// Routes through the gateway.
    pub(crate) const GATEWAY: &[Route] = &[Route::Pass, Route::Translate];
    /// Routes without the gateway.
    pub(crate) const BARE: &[Route] = &[Route::Direct, Route::Bare];
    /// All routes, and those through another build of the gateway.
    pub(crate) const BOTH_BUILDS: &[Route] = &[
        Route::Direct,
        Route::Bare,
        Route::Pass,
        Route::OtherPass,
        Route::Translate,
        Route::OtherTranslate,
    ];

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Route::Direct => "direct",
            Route::Bare => "bare proxy",
            Route::Pass => "pass-through",
            Route::Translate => "translated",
            Route::OtherPass => "pass-through, other",
            Route::OtherTranslate => "translated, other",
        }
    }

    /// The same route through the other build of the gateway.
    pub(crate) fn other(self) -> Option<Route> {
        match self {
            Route::Pass => Some(Route::OtherPass),
            Route::Translate => Some(Route::OtherTranslate),
            _ => None,
        }
    }

    /// Whether the gateway translates on it.
    fn is_translated(self) -> bool {
        matches!(self, Route::Translate | Route::OtherTranslate)
    }

    /// A request for a model of the mock, with the upstream that the gateway routes to.
    pub(crate) fn question(self, model: &str, size: Size, reply: ReplyKind) -> Question {
        let upstream = if self.is_translated() { "an" } else { "oa" };
        Question::new(&format!("{upstream}/{model}"), size, reply)
    }
}

/// The running processes.
pub(crate) struct Stage {
    mock: Serving,
    floor: Serving,
    gateway: Option<Serving>,
    other: Option<Serving>,
}

impl Stage {
    /// Starts the processes of the routes.
    pub(crate) fn start(site: &Site, plan: &Plan) -> Outcome<Stage> {
        let mock = Serving::mock("127.0.0.1:0")?;
        let floor = site.floor(mock.address)?;
        let wanted = plan.routes.contains(&Route::Pass);
        let gateway = wanted.then(|| site.gateway(mock.address, "")).transpose()?;
        let other = plan.against.as_deref().map(|program| site.other(program));
        let other = other.transpose()?.map(|site| site.gateway(mock.address, "")).transpose()?;
        // One-time work of the started processes is over by then.
        std::thread::sleep(Duration::from_millis(500));
        Ok(Stage { mock, floor, gateway, other })
    }

    /// The address, the request and the expected reply on a route. The expected reply is learned
    /// from one request.
    pub(crate) async fn target(
        &self,
        route: Route,
        size: Size,
        reply: ReplyKind,
    ) -> Outcome<Target> {
        let question = route.question("mock", size, reply);
        let serving = self.serving(route).ok_or_else(|| Failure("there is no gateway".into()))?;
        let address = serving.address;
        let expect = if route.is_translated() {
            let nonce = next_nonce();
            let answer = Connection::open(address).await?.read(&question, nonce).await?;
            Expect::learn(&answer.body, nonce, reply)?
        } else {
            Expect::Same(mock::plain(reply))
        };
        Ok(Target { address, question, expect })
    }

    /// The process that a client on a route connects to.
    fn serving(&self, route: Route) -> Option<&Serving> {
        match route {
            Route::Direct => Some(&self.mock),
            Route::Bare => Some(&self.floor),
            Route::Pass | Route::Translate => self.gateway.as_ref(),
            Route::OtherPass | Route::OtherTranslate => self.other.as_ref(),
        }
    }

    /// The process whose cost is measured on a route, if there is one in between.
    pub(crate) fn measured(&self, route: Route) -> Option<&Child> {
        self.serving(route).filter(|_| route != Route::Direct).map(|serving| &serving.child)
    }

    /// The gateway's memory in megabytes.
    pub(crate) fn resident(&self) -> f64 {
        self.gateway.as_ref().map_or(f64::NAN, |gateway| gateway.child.resident())
    }

    /// Processor time of all processes.
    pub(crate) fn processor_time(&self) -> Duration {
        let all = [Some(&self.mock), Some(&self.floor), self.gateway.as_ref(), self.other.as_ref()];
        all.into_iter().flatten().map(|serving| serving.child.usage().total()).sum()
    }
}
