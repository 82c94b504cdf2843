//! The measured routes from a client to the mock upstream, and the processes on them.

use std::net::SocketAddr;
use std::time::Duration;

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
}

impl Route {
    /// All routes.
    pub(crate) const ALL: &[Route] = &[Route::Direct, Route::Bare, Route::Pass, Route::Translate];
    /// Routes through the gateway.
    pub(crate) const GATEWAY: &[Route] = &[Route::Pass, Route::Translate];
    /// Routes without the gateway.
    pub(crate) const BARE: &[Route] = &[Route::Direct, Route::Bare];

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Route::Direct => "direct",
            Route::Bare => "bare proxy",
            Route::Pass => "pass-through",
            Route::Translate => "translated",
        }
    }

    /// A request for a model of the mock, with the upstream that the gateway routes to.
    pub(crate) fn question(self, model: &str, size: Size, reply: ReplyKind) -> Question {
        let upstream = if self == Route::Translate { "an" } else { "oa" };
        Question::new(&format!("{upstream}/{model}"), size, reply)
    }
}

/// The running processes.
pub(crate) struct Stage {
    mock: Serving,
    floor: Serving,
    gateway: Option<Serving>,
}

impl Stage {
    /// Starts the processes of the routes.
    pub(crate) fn start(site: &Site, routes: &[Route]) -> Outcome<Stage> {
        let mock = Serving::mock("127.0.0.1:0")?;
        let floor = site.floor(mock.address)?;
        let wanted = routes.contains(&Route::Pass);
        let gateway = wanted.then(|| site.gateway(mock.address, "")).transpose()?;
        // One-time work of the started processes is over by then.
        std::thread::sleep(Duration::from_millis(500));
        Ok(Stage { mock, floor, gateway })
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
        let address = self.address(route)?;
        let expect = if route == Route::Translate {
            let nonce = next_nonce();
            let answer = Connection::open(address).await?.read(&question, nonce).await?;
            Expect::learn(&answer.body, nonce, reply)?
        } else {
            Expect::Same(mock::plain(reply))
        };
        Ok(Target { address, question, expect })
    }

    fn address(&self, route: Route) -> Outcome<SocketAddr> {
        match (route, &self.gateway) {
            (Route::Direct, _) => Ok(self.mock.address),
            (Route::Bare, _) => Ok(self.floor.address),
            (Route::Pass | Route::Translate, Some(gateway)) => Ok(gateway.address),
            (Route::Pass | Route::Translate, None) => Err(Failure("there is no gateway".into())),
        }
    }

    /// The process whose cost is measured on a route, if there is one in between.
    pub(crate) fn measured(&self, route: Route) -> Option<&Child> {
        match route {
            Route::Direct => None,
            Route::Bare => Some(&self.floor.child),
            Route::Pass | Route::Translate => self.gateway.as_ref().map(|gateway| &gateway.child),
        }
    }

    /// The gateway's memory in megabytes.
    pub(crate) fn resident(&self) -> f64 {
        self.gateway.as_ref().map_or(f64::NAN, |gateway| gateway.child.resident())
    }

    /// Processor time of all processes.
    pub(crate) fn processor_time(&self) -> Duration {
        let all = [Some(&self.mock), Some(&self.floor), self.gateway.as_ref()];
        all.into_iter().flatten().map(|serving| serving.child.usage().total()).sum()
    }
}
