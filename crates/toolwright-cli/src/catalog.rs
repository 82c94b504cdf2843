//! `toolwright catalog`: publishes, finds and shows prefabs.

mod add;
mod call;
mod figures;
mod find;
mod mcp;
mod show;
mod test;

use clap::{Args, Subcommand, ValueEnum};
use toolwright_catalog::{Access, Catalog as Store, LookupError, PrefabVersion, Visibility};
use toolwright_core::Json;
use toolwright_gateway::terminal;

use super::config::ConfigOptions;
use super::exit::{self, Failure, Result};
use super::tools;

/// Arguments of `catalog`.
#[derive(Debug, Args)]
#[command(after_help = "\
The catalog is in the gateway's data folder. A running gateway finds what is added at once.

PREFAB is the id of a prefab, for its latest version, or ID@VERSION.

Examples:
  toolwright catalog add ./my-prefab
  toolwright catalog add mcp:tickets
  toolwright catalog add openapi.json --id petstore --base-url https://api.example.com
  toolwright catalog add openapi.yaml --header 'Authorization=env:GH_AUTHORIZATION'
  toolwright catalog search pdf --tag document
  toolwright catalog recommend '提取 PDF 中的文本'
  toolwright catalog functions file-processing-prefab@0.1.5
  toolwright catalog details file-processing-prefab parse_file
  toolwright catalog call file-processing-prefab parse_file --file input=report.pdf
  toolwright catalog test file-processing-prefab
  toolwright catalog diff file-processing-prefab 0.1.4 0.1.5")]
pub(crate) struct Catalog {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    common: Common,
}

/// Arguments of every action.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    config: ConfigOptions,
    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Publish a manifest, a folder with one, an index of prefabs, an OpenAPI document, or an MCP server
    Add(add::Add),
    /// List the prefabs
    List,
    /// List the versions of a prefab
    Versions(show::Versions),
    /// Find prefabs by keywords
    Search(find::Search),
    /// Find prefabs by a described need
    Recommend(find::Recommend),
    /// List the functions of a prefab
    Functions(show::Functions),
    /// Show the definition of a function
    Details(show::Details),
    /// Call a function
    Call(call::Call),
    /// Check that the functions of a prefab can be called here, and run their examples
    Test(test::Test),
    /// Compare two versions of a prefab: are callers of the earlier one safe?
    Diff(show::Diff),
    /// Mark a version as deprecated
    Deprecate {
        /// The id of the prefab
        id: String,
        /// The version
        version: String,
        /// Tell callers why, or what to use instead
        #[arg(long, value_name = "TEXT", default_value = "deprecated")]
        message: String,
        /// Remove the mark
        #[arg(long, conflicts_with = "message")]
        undo: bool,
    },
    /// Withdraw a version: it is found by its exact version only
    Yank {
        /// The id of the prefab
        id: String,
        /// The version
        version: String,
        /// Record why
        #[arg(long, value_name = "TEXT", default_value = "withdrawn")]
        reason: String,
        /// Offer the version again
        #[arg(long, conflicts_with = "reason")]
        undo: bool,
    },
    /// Say who may see a prefab
    Visibility {
        /// The id of the prefab
        id: String,
        /// Who may see it
        visibility: ShownTo,
    },
    /// Remove a version with its files, or all versions of a prefab
    Remove {
        /// The id of the prefab
        id: String,
        /// The version
        #[arg(required_unless_present = "all")]
        version: Option<String>,
        /// Remove all versions
        #[arg(long, conflicts_with = "version")]
        all: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShownTo {
    /// Everyone, also without a key
    Public,
    /// Clients with a key
    Private,
}

impl From<ShownTo> for Visibility {
    fn from(shown: ShownTo) -> Visibility {
        match shown {
            ShownTo::Public => Visibility::Public,
            ShownTo::Private => Visibility::Private,
        }
    }
}

impl Catalog {
    /// Runs the action.
    pub(crate) fn run(self) -> Result<()> {
        let Catalog { action, common } = self;
        match action {
            Action::Add(add) => add.run(&common),
            Action::Call(call) => tools::block_on(call.run(&common))?,
            Action::Test(test) => tools::block_on(test.run(&common))?,
            Action::Search(search) => search.run(&common),
            Action::Recommend(recommend) => recommend.run(&common),
            Action::List => show::list(&common, &common.open()?),
            Action::Versions(versions) => versions.run(&common, &common.open()?),
            Action::Functions(functions) => functions.run(&common, &common.open()?),
            Action::Details(details) => details.run(&common, &common.open()?),
            Action::Diff(diff) => diff.run(&common, &common.open()?),
            Action::Deprecate { id, version, message, undo } => {
                let message = (!undo).then_some(message.as_str());
                common.open()?.deprecate(&id, &version, message).map_err(not_found)
            }
            Action::Yank { id, version, reason, undo } => {
                let reason = (!undo).then_some(reason.as_str());
                common.open()?.yank(&id, &version, reason).map_err(not_found)
            }
            Action::Visibility { id, visibility } => {
                common.open()?.set_visibility(&id, Some(visibility.into())).map_err(not_found)
            }
            Action::Remove { id, version, .. } => {
                common.open()?.remove(&id, version.as_deref()).map_err(not_found)
            }
        }
    }
}

impl Common {
    fn open(&self) -> Result<Store> {
        Store::open(&self.config.data()?).map_err(exit::failed)
    }

    /// Writes a document as JSON, or rows as a table.
    fn write<const N: usize>(
        &self,
        document: impl FnOnce() -> Json,
        heading: [&str; N],
        rows: &[[String; N]],
    ) -> Result<()> {
        if self.json {
            return exit::print_json(document());
        }
        exit::print_table(&heading, rows)
    }
}

fn not_found(error: LookupError) -> Failure {
    let failure = Failure::failed(terminal::plain(&error.to_string()));
    match error.suggestions() {
        [] => failure,
        names => failure.with_hint(format!("did you mean {}?", names.join(", "))),
    }
}

/// Finds a prefab by `ID` or `ID@VERSION`.
fn find(catalog: &Store, prefab: &str) -> Result<std::sync::Arc<PrefabVersion>> {
    let (id, version) = match prefab.split_once('@') {
        Some((id, version)) => (id, Some(version)),
        None => (prefab, None),
    };
    catalog.version(&Access::everything(), id, version).map_err(not_found)
}

/// Returns the first line of a text, for a table.
fn one_line(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 100;
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    terminal::Escaped(&shown).to_string()
}
