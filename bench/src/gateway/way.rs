//! The ways from a client to the mock, and the processes along them.

use std::net::SocketAddr;
use std::time::Duration;

use crate::failure::{Failure, Outcome};
use crate::load::{Connection, Expect, Target, next_nonce};
use crate::mock;
use crate::process::{Child, Serving, Site};
use crate::question::{Manner, Question, Size};

/// A way to the mock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// No one in between
    Direct,
    /// The bare proxy
    Bare,
    /// The gateway, openai-chat on both sides
    Pass,
    /// The gateway, openai-chat to anthropic
    Translate,
}

impl Way {
    /// All of them.
    pub(crate) const ALL: &[Way] = &[Way::Direct, Way::Bare, Way::Pass, Way::Translate];
    /// Those through the gateway.
    pub(crate) const GATEWAY: &[Way] = &[Way::Pass, Way::Translate];
    /// Those that need no gateway.
    pub(crate) const BARE: &[Way] = &[Way::Direct, Way::Bare];

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Direct => "direct",
            Way::Bare => "bare proxy",
            Way::Pass => "pass-through",
            Way::Translate => "translated",
        }
    }

    /// A question for a model of the mock, with the upstream that the gateway routes by.
    pub(crate) fn question(self, model: &str, size: Size, manner: Manner) -> Question {
        let upstream = if self == Way::Translate { "an" } else { "oa" };
        Question::new(&format!("{upstream}/{model}"), size, manner)
    }
}

/// The running processes.
pub(crate) struct Stage {
    mock: Serving,
    floor: Serving,
    gateway: Option<Serving>,
}

impl Stage {
    /// Starts what the ways need.
    pub(crate) fn start(site: &Site, ways: &[Way]) -> Outcome<Stage> {
        let mock = Serving::mock("127.0.0.1:0")?;
        let floor = site.floor(mock.address)?;
        let wanted = ways.contains(&Way::Pass);
        let gateway = wanted.then(|| site.gateway(mock.address, "")).transpose()?;
        // What a process does once, at its start, is over by then.
        std::thread::sleep(Duration::from_millis(500));
        Ok(Stage { mock, floor, gateway })
    }

    /// Whom to ask on a way, and what. A right answer is found by asking once.
    pub(crate) async fn target(&self, way: Way, size: Size, manner: Manner) -> Outcome<Target> {
        let question = way.question("mock", size, manner);
        let address = self.address(way)?;
        let expect = if way == Way::Translate {
            let nonce = next_nonce();
            let answer = Connection::open(address).await?.read(&question, nonce).await?;
            Expect::learn(&answer.body, nonce, manner)?
        } else {
            Expect::Same(mock::plain(manner))
        };
        Ok(Target { address, question, expect })
    }

    fn address(&self, way: Way) -> Outcome<SocketAddr> {
        match (way, &self.gateway) {
            (Way::Direct, _) => Ok(self.mock.address),
            (Way::Bare, _) => Ok(self.floor.address),
            (Way::Pass | Way::Translate, Some(gateway)) => Ok(gateway.address),
            (Way::Pass | Way::Translate, None) => Err(Failure("there is no gateway".into())),
        }
    }

    /// The process whose cost counts on a way, if there is one in between.
    pub(crate) fn measured(&self, way: Way) -> Option<&Child> {
        match way {
            Way::Direct => None,
            Way::Bare => Some(&self.floor.child),
            Way::Pass | Way::Translate => self.gateway.as_ref().map(|gateway| &gateway.child),
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
