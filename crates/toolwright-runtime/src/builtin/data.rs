//! `read_csv` and `drop_missing`: a table is passed from one tool to the next, and none of its
//! cells goes through the conversation. The model learns the size of the table, its columns, and
//! the number of missing cells.
//!
//! | | the table is | for |
//! |---|---|---|
//! | [`by_handle`] | behind a handle, which the model passes on | tools anywhere, several tables at once |
//! | [`in_context`] | in the context of the run: a [`Table`] that models do not see | tools in this process |

use toolwright_core::{Json, Tool, object};
use toolwright_json::Object;

use super::csv;
use super::root::Root;
use super::table::Table;
use crate::prelude::*;
use crate::settings::Effect;

/// Returns the tools with the table behind a handle. They need a handle store.
pub fn by_handle(root: &Root) -> Vec<Handler> {
    vec![read_csv::handler().with_own(root.clone()), drop_missing()]
}

/// Returns the tools with the table in the context: a run needs a [`Table`] there, initially empty.
pub fn in_context(root: &Root) -> Vec<Handler> {
    vec![read_csv_in_context::handler().with_own(root.clone()), drop_missing_in_context::handler()]
}

/// Reads a CSV file (UTF-8, the first line names the columns) into a table. Returns a handle that
/// stands for the table, and how many rows, columns and missing cells it has.
#[tool(read_only)]
pub fn read_csv(
    #[context] root: &Root,
    /// The file, relative to the root
    path: String,
) -> Result<Output, ToolError> {
    let table = csv::read(root, &path)?;
    let about = format!("Read {path}: {}.", table.about());
    Ok(Output::data(table.into_json(), about))
}

/// Takes the table out of its arguments without a copy: a `#[tool]` function would parse it again.
fn drop_missing() -> Handler {
    let schema = object! {
        "type": "object",
        "properties": object! {
            "table": object! {
                "type": "object",
                "description": "The table",
                "properties": object! {
                    "columns": object! {"type": "array", "items": object! {"type": "string"}},
                    "rows": object! {"type": "array", "items": object! {"type": "array"}},
                },
                "required": vec!["columns", "rows"],
            },
            "columns": object! {
                "type": "array",
                "items": object! {"type": "string"},
                "description": "Only cells in these columns count; all by default",
            },
        },
        "required": vec!["table"],
        "additionalProperties": false,
    };
    let mut tool = Tool::function("drop_missing", schema.into()).with_description(
        "Removes the rows of a table in which a cell is missing. Returns a handle that stands for \
         the new table, and how many rows were removed.",
    );
    tool.annotations = Some(object! {"readOnlyHint": true});
    let run = |_: Scope, mut arguments: Object| {
        let columns = arguments.remove("columns").unwrap_or_default();
        let columns = columns.as_array().unwrap_or_default().iter();
        let columns: Vec<String> = columns.filter_map(Json::as_str).map(str::to_owned).collect();
        let mut table = Table::from_json(arguments.remove("table").unwrap_or_default())?;
        let about = dropped(&mut table, &columns)?;
        Ok(Output::data(table.into_json(), about))
    };
    Handler::blocking(tool, run).with_effect(Effect::None)
}

/// Reads a CSV file (UTF-8, the first line names the columns). The table is kept for the other tools.
/// Returns how many rows, columns and missing cells it has.
#[tool(name = "read_csv")]
pub async fn read_csv_in_context(
    #[context] table: &mut Table,
    #[scope] scope: &Scope,
    /// The file, relative to the root
    path: String,
) -> Result<String, ToolError> {
    let root = scope.session.context.read::<Root>().await?.clone();
    let file = path.clone();
    *table = tokio::task::spawn_blocking(move || csv::read(&root, &file)).await??;
    Ok(format!("Read {path}: {}.", table.about()))
}

/// Removes the rows in which a cell is missing from the table that was read. Returns how many rows
/// were removed.
#[tool(name = "drop_missing")]
pub fn drop_missing_in_context(
    #[context] table: &mut Table,
    /// Only cells in these columns count; all by default
    columns: Option<Vec<String>>,
) -> Result<String, ToolError> {
    if table.columns.is_empty() {
        return Err(ToolError::new("There is no table yet: call read_csv first."));
    }
    Ok(dropped(table, &columns.unwrap_or_default())?)
}

fn dropped(table: &mut Table, columns: &[String]) -> Result<String, super::TableError> {
    let rows = table.drop_missing(columns)?;
    let plural = if rows == 1 { "" } else { "s" };
    Ok(format!("Removed {rows} row{plural}. Left: {}.", table.about()))
}
