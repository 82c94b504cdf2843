//! Legalization: a request is changed until its target's [`Profile`] can say it, and every change
//! that takes something away is a [`Loss`]. After this, encoding cannot fail.
//!
//! The passes run in the order in which they are listed in [`fit`]; each is a file. The way back,
//! from the target's answer to the client, is [`restore`].

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

use crate::loss::{Loss, Severity, Site};
use crate::model::dialect::Dialect;
use crate::model::message::Message;
use crate::model::request::Request;
use crate::model::tool::{Tool, ToolChoice};
use crate::profile::Profile;

/// A request that its target can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The request
    pub request: Request,
    /// What was renamed, and what must be undone or enforced on the way back
    pub aliases: Aliases,
    /// What the target is not told as it was said
    pub losses: Vec<Loss>,
    /// What the target required and nobody had said
    pub additions: Vec<Addition>,
    /// Why the request must not be sent, if it must not
    pub refusal: Option<Refusal>,
}

/// Why a request cannot be fitted: it depends on something that the target lacks, or is malformed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where it stands
    pub site: Site,
    /// What is wrong, and what to do
    pub what: String,
}

/// Something that was added because the target requires it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// The canonical field
    pub field: &'static str,
    /// What was added, and why
    pub what: &'static str,
}

/// Fits a request that was said in one dialect to a target.
pub fn fit(request: Request, source: Dialect, profile: &Profile) -> Fitted {
    run(request, Some(source), profile)
}

/// Fits a request that was made and not read. Hosted tools and choices in a vendor's own words are
/// taken to be meant for this target; all else is changed as if it came from elsewhere.
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
    // Media that leave their outcome are announced with the id of the call.
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

/// A request under work, and what is noted about it.
struct Work<'p> {
    request: Request,
    /// The dialect that it was said in; none if it was made
    source: Option<Dialect>,
    profile: &'p Profile,
    aliases: Aliases,
    losses: Vec<Loss>,
    additions: Vec<Addition>,
    /// The places of changes that several causes may have
    noted: BTreeSet<(String, &'static str)>,
    /// Whether the thinking budget stands for an effort that the client asked for
    derived_budget: bool,
    /// A choice of a hosted tool in the target's own words
    hosted_choice: Option<ToolChoice>,
    refusal: Option<Refusal>,
}

impl Work<'_> {
    /// Whether it was said in the target's own words.
    fn is_native(&self) -> bool {
        self.source.is_some_and(|source| source.shares_wire(self.profile.dialect))
    }

    /// Whether the request was written for the target's own interface, whose vendor judges its values.
    /// Presets share a dialect, not their values.
    fn is_own_words(&self) -> bool {
        self.source == Some(self.profile.dialect) && self.profile.dialect != Dialect::OpenaiChat
    }

    /// Whether hosted tools and choices in a vendor's own words mean something to the target.
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

    /// Notes a change that several causes may have.
    fn lose_once(&mut self, severity: Severity, site: Site, what: &'static str, why: &'static str) {
        let place = site.origin.pointer().unwrap_or_default().to_owned();
        if self.noted.insert((place, what)) {
            self.lose(severity, site, what, why);
        }
    }

    /// Takes the messages out, with space for as many to be put back.
    fn take_messages(&mut self) -> Vec<Message> {
        let space = Vec::with_capacity(self.request.messages.len());
        std::mem::replace(&mut self.request.messages, space)
    }

    /// Leaves out messages of which nothing is left.
    fn drop_empty(&mut self) {
        let is_empty = |message: &mut Message| message.parts.is_empty();
        let dropped: Vec<Message> = self.request.messages.extract_if(.., is_empty).collect();
        for message in dropped.iter().filter(|message| message.origin.pointer().is_some()) {
            // What it said has losses of its own.
            let why = "nothing that it said can be told";
            self.lose(Severity::Note, Site::of(&message.origin), "message dropped", why);
        }
    }

    /// A tool is not offered, nor the breakpoint after it.
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
