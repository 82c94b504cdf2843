//! `toolwright ledger export`.

use std::io::{self, Write};

use clap::Args;
use toolwright_core::Json;
use toolwright_runtime::ledger::{LedgerFile, Query};

use super::{Filter, document, pages};
use crate::exit::{self, Result};

#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    filter: Filter,
    /// Write a line of JSON for each entry, or a table with the most important members
    #[arg(long, default_value = "jsonl", value_parser = ["jsonl", "csv"])]
    format: String,
}

/// The columns of a table, as members of the document of an entry; `/` is a member of a member.
const COLUMNS: &str = "sequence time kind run caller tenant conversation dialect endpoint model upstream answered status \
    count tool outcome approved error duration_us usage/input usage/cache_read usage/cache_write usage/output link";

impl Export {
    pub(super) fn run(self, file: &LedgerFile) -> Result<()> {
        let is_csv = self.format == "csv";
        let mut out = io::BufWriter::new(io::stdout().lock());
        if is_csv {
            let names = COLUMNS.replace('/', "_").replace(' ', ",");
            writeln!(out, "{names}").map_err(exit::io("stdout"))?;
        }
        pages(file, Query { with_data: !is_csv, ..self.filter.query() }, |found| {
            let mut document = document(&found);
            let line = if is_csv {
                document.insert("kind", found.entry.kind().word());
                let document = Json::Object(document);
                let cells = COLUMNS.split(' ').map(|column| format!("/{column}"));
                cells.map(|column| cell(document.pointer(&column))).collect::<Vec<_>>().join(",")
            } else {
                document.compact()
            };
            writeln!(out, "{line}").map_err(exit::io("stdout"))
        })?;
        out.flush().map_err(exit::io("stdout"))
    }
}

/// Writes a value as a cell. A text that a spreadsheet would take for a formula begins with an apostrophe.
fn cell(value: Option<&Json>) -> String {
    let text = match value {
        None => return String::new(),
        Some(Json::String(text)) if text.starts_with(['=', '+', '-', '@']) => format!("'{text}"),
        Some(Json::String(text)) => text.to_string(),
        Some(value) => value.compact(),
    };
    let is_quoted = text.contains(['"', ',', '\n', '\r']);
    if is_quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
