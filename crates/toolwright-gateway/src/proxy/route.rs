//! A model's name to whom it is asked of, in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolwright::upstream::{Remote, providers};
use toolwright_core::profile::Overrides;
use toolwright_core::suggest;
use toolwright_core::{Fault, FaultClass};

/// Somebody who may answer, and the model's name there.
#[derive(Clone)]
pub struct Candidate {
    /// Where
    pub place: Place,
    /// The name of the model there
    pub model: String,
    /// Overrides that the configuration has for the upstream and for the aliases that led to it
    pub overrides: Overrides,
}

/// Where a model is.
#[derive(Clone)]
pub enum Place {
    /// Here: the rules that need no network
    Offline,
    /// At a vendor
    Remote(Remote),
}

impl Candidate {
    /// Its whole name, `upstream/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.upstream(), self.model)
    }

    /// The upstream's id.
    pub fn upstream(&self) -> &str {
        match &self.place {
            Place::Offline => OFFLINE,
            Place::Remote(remote) => remote.id(),
        }
    }
}

/// The id of the upstream that is always there.
pub const OFFLINE: &str = "offline";

/// What the rules are called there.
const RULES: &str = "rules";

/// What an alias stands for.
#[derive(Clone)]
pub struct AliasRoute {
    /// Models, tried in order
    pub targets: Vec<String>,
    /// Limit on output tokens to send if the client sets none
    pub max_tokens: Option<u64>,
}

/// All upstreams, and other names for models.
#[derive(Default)]
pub struct Routes {
    remotes: BTreeMap<Arc<str>, Remote>,
    aliases: BTreeMap<String, AliasRoute>,
    overrides: BTreeMap<String, Overrides>,
    listed: Vec<String>,
}

/// How many aliases may lead from one to the next. The configuration has no cycles; this bounds
/// what a mistake there could cost.
const MAX_ALIAS_DEPTH: usize = 16;

impl Routes {
    /// Upstreams by their ids, and aliases with what they stand for.
    pub fn new(
        remotes: impl IntoIterator<Item = Remote>,
        aliases: impl IntoIterator<Item = (String, AliasRoute)>,
    ) -> Routes {
        let remotes = remotes.into_iter().map(|remote| (Arc::from(remote.id()), remote));
        let aliases = aliases.into_iter().collect();
        Routes { remotes: remotes.collect(), aliases, ..Routes::default() }
    }

    /// Sets the overrides of upstreams, by their ids.
    #[must_use]
    pub fn with_overrides(
        mut self,
        overrides: impl IntoIterator<Item = (String, Overrides)>,
    ) -> Routes {
        self.overrides = overrides.into_iter().collect();
        self
    }

    /// With models, as `upstream/model`, that are listed to whoever asks what there is.
    #[must_use]
    pub fn with_listed(mut self, models: impl IntoIterator<Item = String>) -> Routes {
        self.listed = models.into_iter().collect();
        self
    }

    /// The upstream that is here already and set up as another is, or else the other.
    pub fn same(&self, other: Remote) -> Remote {
        match self.remotes.get(other.id()) {
            Some(own) if own.has_same_setup(&other) => own.clone(),
            _ => other,
        }
    }

    /// Who is asked for a model, in order. Never empty.
    pub fn find(&self, name: &str) -> Result<Vec<Candidate>, Fault> {
        let mut found = Vec::new();
        self.follow(name, MAX_ALIAS_DEPTH, None, &mut found)?;
        Ok(found)
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

    /// An upstream by its id.
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

    /// The names by which models can be asked for, as far as they are known.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.aliases.keys().chain(&self.listed).cloned().collect();
        names.push(format!("{OFFLINE}/{RULES}"));
        names
    }

    fn one(&self, name: &str) -> Result<Candidate, Fault> {
        let offline = || Candidate {
            place: Place::Offline,
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
        // A bare id may hold a slash of its own.
        let remote = providers::for_model(name).and_then(|provider| self.remotes.get(provider.id));
        remote.map(|remote| self.at(remote, name)).ok_or_else(|| self.unknown(name))
    }

    fn at(&self, remote: &Remote, model: &str) -> Candidate {
        let overrides = self.overrides.get(remote.id()).cloned().unwrap_or_default();
        Candidate { place: Place::Remote(remote.clone()), model: model.to_owned(), overrides }
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
        let mut fault = Fault::new(FaultClass::NotFound, message);
        fault.code = Some("model_not_found".to_owned());
        fault.param = Some("model".to_owned());
        fault
    }
}

/// A name for a message: not too long, on one line.
fn printable(name: &str) -> String {
    name.chars().filter(|own| !own.is_control()).take(100).collect()
}
