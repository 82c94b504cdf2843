//! Tools that come and go: the interface of a source, such as an MCP server or a catalog, and the report of
//! what is wrong with its tools.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use toolwright_core::Tool;
use toolwright_core::schema::SchemaError;

use crate::handler::Handler;

/// An operation of a source that is in progress.
pub type SourceFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A source of tools that may change while it is in use.
///
/// A toolbox lists the tools of its sources ([`Toolbox::refresh`](crate::Toolbox::refresh)) to show them to
/// models, and resolves a tool when it is called for the first time. Only then is its schema compiled.
///
/// ```
/// # extern crate toolwright_runtime as toolwright;
/// use std::sync::Arc;
///
/// use toolwright::toolbox::{SourceError, SourceFuture, ToolPage, ToolSource};
/// use toolwright::{Handler, Output, Tool, Toolbox, object};
///
/// struct Clocks;
///
/// fn clock(city: &str) -> Tool {
///     Tool::function(format!("time_in_{city}"), object! {"type": "object"}.into())
/// }
///
/// impl ToolSource for Clocks {
///     fn name(&self) -> &str {
///         "clocks"
///     }
///
///     fn list<'a>(&'a self, _: Option<&'a str>) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
///         Box::pin(async { Ok(ToolPage::new([clock("berlin"), clock("lima")])) })
///     }
///
///     fn resolve<'a>(
///         &'a self,
///         name: &'a str,
///     ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
///         Box::pin(async move {
///             let Some(city) = name.strip_prefix("time_in_") else { return Ok(None) };
///             Ok(Some(Handler::new(clock(city), |_, _| async { Ok(Output::text("noon")) })))
///         })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let toolbox = Toolbox::default().with_sources([Arc::new(Clocks) as Arc<dyn ToolSource>]);
/// toolbox.refresh().await;
/// assert_eq!(toolbox.tools().len(), 2);
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ToolSource: Send + Sync + 'static {
    /// The name of the source in reports.
    fn name(&self) -> &str;

    /// Lists a page of tools: the first one, or the one of a cursor that the page before returned. The
    /// definitions are those that models see, without hidden parameters. A source may have more tools than
    /// it lists.
    fn list<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> SourceFuture<'a, Result<ToolPage, SourceError>>;

    /// Returns the handler of a tool, or `None` if the source has no such tool. The handler of a tool that
    /// was not called for a long time is dropped, and resolved again when it is needed.
    ///
    /// A tool that the source does not list may have another name than the one that was asked for, such as one without
    /// a version. Policies and ledgers know the tool by its own name.
    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>>;

    /// Explains to who asked for it why there is no tool of this name. By default nothing is known.
    fn explain_missing<'a>(&'a self, name: &'a str) -> SourceFuture<'a, MissingTool> {
        let _ = name;
        Box::pin(async { MissingTool::default() })
    }

    /// Waits until the tools have changed since the last listing. By default they never do. The future may
    /// be dropped and requested again at any time.
    fn changed(&self) -> SourceFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// What a source knows of a tool that it does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingTool {
    /// Why there is none, if it is not just unknown
    pub reason: Option<String>,
    /// Similar names
    pub similar: Vec<String>,
}

impl MissingTool {
    /// Creates an explanation.
    pub fn new(reason: Option<String>, similar: Vec<String>) -> MissingTool {
        MissingTool { reason, similar }
    }

    /// Adds what another source knows.
    pub(crate) fn extend(&mut self, other: MissingTool) {
        self.reason = self.reason.take().or(other.reason);
        self.similar.extend(other.similar);
    }
}

/// A page of tool definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolPage {
    /// The definitions
    pub tools: Vec<Arc<Tool>>,
    /// Tools that the source has and does not offer
    pub problems: Vec<SourceProblem>,
    /// The cursor of the next page, if there is one
    pub next: Option<String>,
}

impl ToolPage {
    /// Creates the last page.
    pub fn new<T: Into<Arc<Tool>>>(tools: impl IntoIterator<Item = T>) -> ToolPage {
        let tools = tools.into_iter().map(Into::into).collect();
        ToolPage { tools, ..ToolPage::default() }
    }

    /// Sets the cursor of the next page.
    #[must_use]
    pub fn with_next(mut self, cursor: impl Into<String>) -> ToolPage {
        self.next = Some(cursor.into());
        self
    }
}

/// Why a source could not list or resolve tools, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// The state of a source, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceReport {
    /// The name of the source
    pub source: String,
    /// Number of tools that it contributes to the list
    pub tools: usize,
    /// Number of schemas that were compiled so far
    pub compiled: usize,
    /// What is wrong, the first hundred problems of the listing and of calls each
    pub problems: Vec<SourceProblem>,
}

/// A problem of a source. It affects only the tools that it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceProblem {
    /// The tools could not be listed; those of the last successful listing stay
    #[error("cannot list its tools: {0}")]
    Listing(SourceError),
    /// A tool has no name
    #[error("lists a tool without a name")]
    Nameless,
    /// The source lists a tool twice; the first definition is used
    #[error("lists {tool} more than once")]
    Duplicate {
        /// The tool
        tool: Arc<str>,
    },
    /// A handler of the toolbox or an earlier source has a tool of this name
    #[error("lists {tool}, which {by} provides")]
    Shadowed {
        /// The tool
        tool: Arc<str>,
        /// The source that provides it, or `the toolbox`
        by: String,
    },
    /// The tool is hosted: its vendor runs it
    #[error("lists {tool}, which its vendor runs")]
    Hosted {
        /// The tool
        tool: Arc<str>,
    },
    /// The source does not offer one of its tools
    #[error("does not offer {tool}: {reason}")]
    Quarantined {
        /// The tool
        tool: Arc<str>,
        /// Why
        reason: String,
    },
    /// The definition of a tool is another one than the one that was approved
    #[error("has changed the definition of {tool} since it was approved{}", if *.is_blocked { "; the tool is blocked" } else { "" })]
    DefinitionChanged {
        /// The tool
        tool: Arc<str>,
        /// Whether the tool is left out
        is_blocked: bool,
    },
    /// The source offers a tool under another name
    #[error("offers {tool} as {name}, because {reason}")]
    Renamed {
        /// The tool
        tool: Arc<str>,
        /// The name in the toolbox
        name: Arc<str>,
        /// Why
        reason: &'static str,
    },
    /// The source has settings for a tool that it does not list
    #[error("has settings for the tool {tool}, which it does not list{hint}")]
    Unlisted {
        /// The tool
        tool: Arc<str>,
        /// A similar name in parentheses, or nothing
        hint: String,
    },
    /// The schema of a tool's parameters is invalid; found when it was called
    #[error("the parameters of {tool}: {source}")]
    Schema {
        /// The tool
        tool: Arc<str>,
        /// What is wrong
        source: SchemaError,
    },
    /// A tool could not be resolved when it was called
    #[error("cannot resolve {tool}: {source}")]
    Resolving {
        /// The tool
        tool: Arc<str>,
        /// Why
        source: SourceError,
    },
}
