//! Changes a request so that its target's [`Profile`] can express it. Every change that removes
//! something is reported as a [`Loss`]. After this, encoding cannot fail.
//!
//! The passes run in the order in which [`fit`] lists them; each is a file. [`restore`] is the
//! reverse direction, from the target's reply to the client.

pub mod alias;
mod choice;
mod content;
mod documents;
mod extras;
mod format;
mod hosted;
mod ids;
mod media;
mod outcome;
mod overrides;
mod reasoning;
mod repeated;
pub mod restore;
mod roles;
mod sampling;
mod schemas;
mod system;
mod thinking;
mod tools;

use std::borrow::Cow;
use std::collections::BTreeSet;

pub use alias::Aliases;
pub use ids::made as made_id;
pub use thinking::BANDS;

use toolwright_core::loss::{Loss, Severity, Site};
use toolwright_core::profile::Profile;
use toolwright_core::{Dialect, Message, Request, Tool, ToolChoice};

/// A request that its target can express.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fitted {
    /// The request
    pub request: Request,
    /// Renamed names and ids, and what restoring the reply must undo or enforce
    pub aliases: Aliases,
    /// What does not reach the target unchanged
    pub losses: Vec<Loss>,
    /// Values that the target requires and the source did not set
    pub additions: Vec<Addition>,
    /// Why the request must not be sent, if so
    pub refusal: Option<Refusal>,
}

/// Why a request cannot be fitted: it depends on something that the target lacks, or is malformed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The place in the source
    pub site: Site,
    /// The problem and the remedy
    pub what: String,
}

/// A value that was added because the target requires it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Addition {
    /// The canonical field
    pub field: &'static str,
    /// The added value and the reason
    pub what: &'static str,
}

/// Fits a request that was decoded from a dialect to a target.
pub fn fit(request: Request, source: Dialect, profile: &Profile) -> Fitted {
    run(request, Some(source), profile)
}

/// Fits a request that was built and not decoded. Hosted tools and choices in a vendor's form are
/// taken to be for this target; everything else is changed as if it came from another dialect.
pub fn fit_made(request: Request, profile: &Profile) -> Fitted {
    run(request, None, profile)
}

fn run(request: Request, source: Option<Dialect>, profile: &Profile) -> Fitted {
    let mut work = Work {
        request,
        source,
        profile,
        aliases: Aliases::default(),
        losses: Vec::new(),
        additions: Vec::new(),
        noted: BTreeSet::new(),
        derived_budget: false,
        hosted_choice: None,
        refusal: None,
    };
    extras::pass(&mut work);
    hosted::pass(&mut work);
    thinking::pass(&mut work);
    choice::pass(&mut work);
    tools::pass(&mut work);
    schemas::pass(&mut work);
    format::pass(&mut work);
    system::pass(&mut work);
    reasoning::pass(&mut work);
    content::pass(&mut work);
    system::single(&mut work);
    repeated::pass(&mut work);
    // Media that move out of their outcome are labelled with the call id.
    ids::pass(&mut work);
    outcome::pass(&mut work);
    repeated::pass(&mut work);
    system::begin_with_user(&mut work);
    roles::pass(&mut work);
    documents::pass(&mut work);
    alias::pass(&mut work);
    choice::force_by_format(&mut work);
    sampling::pass(&mut work);
    overrides::pass(&mut work);
    let Work { request, aliases, losses, additions, refusal, .. } = work;
    Fitted { request, aliases, losses, additions, refusal }
}

/// A request that is being fitted.
struct Work<'p> {
    request: Request,
    /// The dialect that it was decoded from; none if it was built
    source: Option<Dialect>,
    profile: &'p Profile,
    aliases: Aliases,
    losses: Vec<Loss>,
    additions: Vec<Addition>,
    /// The places of changes that may have several causes
    noted: BTreeSet<(String, &'static str)>,
    /// Whether the thinking budget was derived from an effort
    derived_budget: bool,
    /// A choice of a hosted tool in the target's form
    hosted_choice: Option<ToolChoice>,
    refusal: Option<Refusal>,
}

impl Work<'_> {
    /// Whether the request was decoded from the target's dialect.
    fn is_native(&self) -> bool {
        self.source.is_some_and(|source| source.shares_wire(self.profile.dialect))
    }

    /// Whether the request was written for the target's own API, whose vendor validates its values.
    /// Presets share a dialect, but not their values.
    fn is_own_words(&self) -> bool {
        self.source == Some(self.profile.dialect) && self.profile.dialect != Dialect::OpenaiChat
    }

    /// Whether hosted tools and choices in a vendor's form are valid for the target.
    fn is_meant(&self) -> bool {
        self.source.is_none() || self.is_native()
    }

    fn lose(
        &mut self,
        severity: Severity,
        site: Site,
        what: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
    ) {
        self.losses.push(Loss::new(severity, site, what, why));
    }

    /// Records a loss that may have several causes once.
    fn lose_once(&mut self, severity: Severity, site: Site, what: &'static str, why: &'static str) {
        let place = site.origin.pointer().unwrap_or_default().to_owned();
        if self.noted.insert((place, what)) {
            self.lose(severity, site, what, why);
        }
    }

    /// Takes the messages out, and leaves a vector with the same capacity.
    fn take_messages(&mut self) -> Vec<Message> {
        let space = Vec::with_capacity(self.request.messages.len());
        std::mem::replace(&mut self.request.messages, space)
    }

    /// Removes messages without parts.
    fn drop_empty(&mut self) {
        let is_empty = |message: &mut Message| message.parts.is_empty();
        let dropped: Vec<Message> = self.request.messages.extract_if(.., is_empty).collect();
        for message in dropped.iter().filter(|message| message.origin.pointer().is_some()) {
            // The losses of its parts were reported.
            let why = "nothing that it said can be told";
            self.lose(Severity::Note, Site::of(&message.origin), "message dropped", why);
        }
    }

    /// Removes a tool and the cache breakpoint after it.
    fn withhold(
        &mut self,
        severity: Severity,
        tool: &Tool,
        what: impl Into<Cow<'static, str>>,
        why: &'static str,
    ) {
        self.lose(severity, Site::of(&tool.origin.element()), what, why);
        if let Some(mark) = tool.cache.as_ref().filter(|mark| mark.origin.pointer().is_some()) {
            let site = Site::cache(&tool.origin, mark);
            self.lose(Severity::Minor, site, "cache breakpoint dropped", "its tool is not offered");
        }
    }

    fn add(&mut self, field: &'static str, what: &'static str) {
        let addition = Addition { field, what };
        if !self.additions.contains(&addition) {
            self.additions.push(addition);
        }
    }
}
