//! The tools of a toolbox that come from sources: listing, finding, and the names of an unknown one.

use std::sync::Arc;

use toolwright_core::Tool;

use super::item::Item;
use super::source::{MissingTool, SourceReport, ToolSource};
use super::sources::{ListedTool, Sources};
use super::{Allowed, Toolbox, lookup};
use crate::error::CallError;
use crate::session::Caller;

impl Toolbox {
    /// Adds sources, whose tools may come and go, in place of earlier ones. Call
    /// [`refresh`](Toolbox::refresh) to list their tools.
    ///
    /// If two of them have a tool of the same name, the first one provides it; a handler of the toolbox
    /// comes before all sources. [`source_reports`](Toolbox::source_reports) says what is hidden in this
    /// way.
    pub fn with_sources(
        mut self,
        sources: impl IntoIterator<Item = Arc<dyn ToolSource>>,
    ) -> Toolbox {
        let fixed = self.parts.names.keys().cloned().collect();
        self.parts_mut().sources = Some(Arc::new(Sources::new(sources, fixed)));
        self
    }

    /// Sets a source that is asked for tools that nothing else has, and whose tools are not listed, such as a catalog.
    pub fn with_unlisted(mut self, source: Arc<dyn ToolSource>) -> Toolbox {
        let fixed = self.parts.names.keys().cloned().collect();
        self.parts_mut().unlisted = Some(Arc::new(Sources::new([source], fixed)));
        self
    }

    /// Lists the tools of the sources. All clones of the toolbox have the new list; a call in flight keeps
    /// its tool.
    ///
    /// A source that fails or does not answer within 30 seconds keeps the tools of its last listing, and
    /// affects no other source; see [`source_reports`](Toolbox::source_reports).
    pub async fn refresh(&self) {
        if let Some(sources) = &self.parts.sources {
            sources.refresh().await;
        }
    }

    /// Lists the tools of a source again whenever it [has changed](ToolSource::changed), but not within a
    /// second after its last listing. Never returns; spawn it as a task.
    pub async fn follow_sources(&self) {
        match &self.parts.sources {
            Some(sources) => sources.follow().await,
            None => std::future::pending().await,
        }
    }

    /// The names of the tools that a source lists, as far as they are in this toolbox.
    pub fn names_of_source(&self, source: &str) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        if let Some(sources) = &self.parts.sources {
            let index = sources.position(source);
            self.each_listed(|listed| {
                if Some(listed.source) == index {
                    names.push(listed.name.clone());
                }
            });
        }
        names
    }

    /// Whether a tool is one that a source lists.
    pub fn is_of_source(&self, name: &str, source: &str) -> bool {
        self.parts.sources.as_ref().is_some_and(|sources| {
            let snapshot = sources.snapshot();
            let listed = snapshot.get(name);
            listed.is_some_and(|listed| sources.position(source) == Some(listed.source))
        })
    }

    /// Observes changes of the tools that the sources list. There is none without sources.
    pub fn source_changes(&self) -> Option<tokio::sync::watch::Receiver<()>> {
        self.parts.sources.as_ref().map(|sources| sources.changes())
    }

    /// The definition of a tool for a model, if there is a tool of this name or a source lists one.
    pub fn definition_of(&self, name: &str) -> Option<Arc<Tool>> {
        if let Some(item) = self.item(name) {
            return Some(item.definition.clone());
        }
        let sources = self.parts.sources.as_ref().filter(|_| self.allows(name))?;
        sources.snapshot().get(name).map(|listed| listed.tool.clone())
    }

    /// The state of each source: the number of its tools, and its problems.
    pub fn source_reports(&self) -> Vec<SourceReport> {
        self.parts.sources.as_ref().map(|sources| sources.reports()).unwrap_or_default()
    }

    /// Finds a tool, in a source if necessary.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<Arc<Item>>, CallError> {
        if let Some(item) = self.item(name) {
            return Ok(Some(item.clone()));
        }
        let sources = self.parts.sources.as_ref().filter(|_| self.allows(name));
        for sources in [sources, self.parts.unlisted.as_ref()].into_iter().flatten() {
            let found = sources.find(name).await?;
            // A tool may have another name than the one that was asked for.
            if let Some(item) = found.filter(|item| self.allows(&item.name)) {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Returns what the sources know of a tool that the toolbox does not have.
    pub async fn explain_missing(&self, name: &str) -> MissingTool {
        let mut missing = MissingTool::default();
        for sources in [&self.parts.sources, &self.parts.unlisted].into_iter().flatten() {
            missing.extend(sources.explain_missing(name).await);
        }
        missing
    }

    /// Whether calls of a tool read or write slots of the conversation.
    pub(crate) async fn uses_slots(&self, name: &str) -> bool {
        self.find(name).await.is_ok_and(|item| item.is_some_and(|item| item.uses_slots()))
    }

    /// Whether a tool of a source may be used.
    pub(super) fn allows(&self, name: &str) -> bool {
        match &self.parts.allowed {
            None => true,
            Some(Allowed::Names(names)) => names.contains(name),
            Some(Allowed::Rule(rule)) => rule(name),
        }
    }

    /// Visits the tools that sources list, in order.
    pub(super) fn each_listed(&self, mut visit: impl FnMut(&ListedTool)) {
        let Some(sources) = &self.parts.sources else { return };
        let snapshot = sources.snapshot();
        match &self.parts.allowed {
            None => snapshot.tools.iter().for_each(visit),
            Some(Allowed::Rule(rule)) => {
                snapshot.tools.iter().filter(|listed| rule(&listed.name)).for_each(visit);
            }
            Some(Allowed::Names(allowed)) => {
                let mut places: Vec<usize> =
                    allowed.iter().filter_map(|name| snapshot.position(name)).collect();
                places.sort_unstable();
                for listed in places.into_iter().filter_map(|at| snapshot.tools.get(at)) {
                    visit(listed);
                }
            }
        }
    }

    /// The error of a call of a tool that does not exist. It mentions only tools that the caller may see.
    pub(crate) fn unknown(&self, name: &str, caller: Option<&Caller>) -> CallError {
        let is_visible =
            |name: &str| caller.is_none_or(|caller| self.parts.policy.shows(name, caller));
        let mut names = lookup::Names::new(name);
        for item in self.parts.items.iter() {
            names.add(&item.name, is_visible);
        }
        self.each_listed(|listed| names.add(&listed.name, is_visible));
        lookup::unknown(&names)
    }
}
