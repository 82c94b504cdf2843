//! Resolves the name of a model to candidates, in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolwright_core::profile::Overrides;
use toolwright_core::{Fault, FaultClass, Request, Response, suggest};
use toolwright_runtime::Model;
use toolwright_runtime::model::Upstream;
use toolwright_runtime::upstream::{Remote, providers};

use crate::config::OFFLINE;

/// An upstream that may answer, and its name of the model.
#[derive(Clone)]
pub struct Candidate {
    /// The backend that answers
    pub backend: Backend,
    /// The name of the model there
    pub model: String,
    /// Overrides of the upstream, and of the aliases that resolved to it
    pub overrides: Overrides,
}

/// What answers requests for a model.
#[derive(Clone)]
pub enum Backend {
    /// The built-in offline rules
    Offline,
    /// An upstream over HTTP
    Remote(Remote),
}

impl Candidate {
    /// Returns the full name, `upstream/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.upstream(), self.model)
    }

    /// Returns the id of the upstream.
    pub fn upstream(&self) -> &str {
        match &self.backend {
            Backend::Offline => OFFLINE,
            Backend::Remote(remote) => remote.id(),
        }
    }
}

/// The model of the built-in upstream.
const RULES: &str = "rules";

/// The targets of an alias.
#[derive(Clone)]
pub struct AliasRoute {
    /// Models, tried in order
    pub targets: Vec<String>,
    /// Limit on output tokens to send if the client sets none
    pub max_tokens: Option<u64>,
}

/// All upstreams and aliases.
#[must_use]
#[derive(Default)]
pub struct Routes {
    remotes: BTreeMap<Arc<str>, Remote>,
    aliases: BTreeMap<String, AliasRoute>,
    overrides: BTreeMap<String, Overrides>,
    listed: Vec<String>,
}

/// Maximum length of a chain of aliases. The configuration has no cycles; this is a safeguard.
const MAX_ALIAS_DEPTH: usize = 16;

impl Routes {
    /// Creates routes from upstreams and aliases.
    pub fn new(
        remotes: impl IntoIterator<Item = Remote>,
        aliases: impl IntoIterator<Item = (String, AliasRoute)>,
    ) -> Routes {
        let remotes = remotes.into_iter().map(|remote| (Arc::from(remote.id()), remote));
        let aliases = aliases.into_iter().collect();
        Routes { remotes: remotes.collect(), aliases, ..Routes::default() }
    }

    /// Sets the overrides of upstreams, by their ids.
    pub fn with_overrides(
        mut self,
        overrides: impl IntoIterator<Item = (String, Overrides)>,
    ) -> Routes {
        self.overrides = overrides.into_iter().collect();
        self
    }

    /// Sets models, as `upstream/model`, that are listed to clients.
    pub fn with_listed(mut self, models: impl IntoIterator<Item = String>) -> Routes {
        self.listed = models.into_iter().collect();
        self
    }

    /// Returns the existing upstream with the same setup, or else the given one.
    pub fn same(&self, other: Remote) -> Remote {
        match self.remotes.get(other.id()) {
            Some(own) if own.has_same_setup(&other) => own.clone(),
            _ => other,
        }
    }

    /// Returns the candidates for a model, in order. Never empty.
    pub fn find(&self, name: &str) -> Result<Vec<Candidate>, Fault> {
        let mut found = Vec::new();
        self.follow(name, MAX_ALIAS_DEPTH, None, &mut found)?;
        Ok(found)
    }

    /// Returns a model for requests of the gateway itself.
    pub fn model(&self, name: &str) -> Result<Model, Fault> {
        Ok(Model::with_upstream(Candidates(self.find(name)?), name))
    }

    /// Appends the candidates for a name. The outermost alias with a limit decides the limit.
    fn follow(
        &self,
        name: &str,
        left: usize,
        limit: Option<u64>,
        found: &mut Vec<Candidate>,
    ) -> Result<(), Fault> {
        if let Some(alias) = self.aliases.get(name).filter(|_| left > 0) {
            let limit = limit.or(alias.max_tokens);
            let mut targets = alias.targets.iter();
            return targets.try_for_each(|target| self.follow(target, left - 1, limit, found));
        }
        let mut candidate = self.one(name)?;
        candidate.overrides.max_tokens = limit.or(candidate.overrides.max_tokens);
        found.push(candidate);
        Ok(())
    }

    /// Returns an upstream by its id.
    pub fn remote(&self, id: &str) -> Option<Remote> {
        self.remotes.get(id).cloned()
    }

    /// The upstreams besides the offline rules: each id with the id of its dialect.
    pub fn upstreams(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.remotes.iter().map(|(id, remote)| (&**id, remote.codec().dialect().id()))
    }

    /// The aliases, each with its targets in order.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.aliases.iter().map(|(name, alias)| (name.as_str(), alias.targets.as_slice()))
    }

    /// The models that upstreams list, as `upstream/model`.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }

    /// Returns the known names of models.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.aliases.keys().chain(&self.listed).cloned().collect();
        names.push(format!("{OFFLINE}/{RULES}"));
        names
    }

    fn one(&self, name: &str) -> Result<Candidate, Fault> {
        let offline = || Candidate {
            backend: Backend::Offline,
            model: RULES.to_owned(),
            overrides: Overrides::NONE,
        };
        if name == OFFLINE {
            return Ok(offline());
        }
        if let Some((upstream, model)) = name.split_once('/') {
            if upstream == OFFLINE && model == RULES {
                return Ok(offline());
            }
            if let Some(remote) = self.remotes.get(upstream).filter(|_| !model.is_empty()) {
                return Ok(self.at(remote, model));
            }
        }
        // A bare id may contain a slash.
        let remote = providers::for_model(name).and_then(|provider| self.remotes.get(provider.id));
        remote.map(|remote| self.at(remote, name)).ok_or_else(|| self.unknown(name))
    }

    fn at(&self, remote: &Remote, model: &str) -> Candidate {
        let overrides = self.overrides.get(remote.id()).cloned().unwrap_or_default();
        Candidate { backend: Backend::Remote(remote.clone()), model: model.to_owned(), overrides }
    }

    fn unknown(&self, name: &str) -> Fault {
        let hint = match (name.split_once('/'), providers::for_model(name)) {
            (_, Some(provider)) => format!(
                "It belongs to '{}', which is not configured: {}.",
                provider.id,
                provider.setup_hint()
            ),
            (Some((upstream, _)), None) => {
                let ids = self.remotes.keys().map(AsRef::as_ref).chain([OFFLINE]);
                let close = suggest(upstream, ids);
                let close = close.map(|id| format!(" Did you mean '{id}'?")).unwrap_or_default();
                format!("There is no upstream '{}'.{close}", printable(upstream))
            }
            (None, None) => {
                "Name it as 'upstream/model', or give it an alias in the configuration.".to_owned()
            }
        };
        let message = format!(
            "No model '{}'. {hint} '{OFFLINE}/{RULES}' needs neither key nor network.",
            printable(name)
        );
        let (code, param) = (Some("model_not_found".to_owned()), Some("model".to_owned()));
        Fault { code, param, ..Fault::new(FaultClass::NotFound, message) }
    }
}

/// Candidates as one upstream: each is asked in order until one answers.
struct Candidates(Vec<Candidate>);

impl Upstream for Candidates {
    async fn respond(&self, request: Request) -> Result<Response, Fault> {
        let mut failed = Fault::new(FaultClass::NotFound, "No model is configured.");
        for candidate in &self.0 {
            let request = request.clone().with_model(candidate.model.as_str());
            let answer = match &candidate.backend {
                Backend::Offline => Model::offline().respond(request).await,
                Backend::Remote(remote) => remote.respond(request).await,
            };
            match answer {
                Ok(response) => return Ok(response),
                Err(fault) => failed = fault,
            }
        }
        Err(failed)
    }
}

/// Shortens a name for a message, on one line.
fn printable(name: &str) -> String {
    name.chars().filter(|own| !own.is_control()).take(100).collect()
}
