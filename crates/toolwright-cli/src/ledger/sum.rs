//! `toolwright ledger sum`.

use std::collections::BTreeMap;

use clap::Args;
use toolwright_core::json::Object;
use toolwright_core::{Json, Usage};
use toolwright_gateway::terminal::Escaped;
use toolwright_runtime::ledger::{Entry, LedgerFile, Query};

use super::{Filter, pages, utc};
use crate::exit::{self, Result};

#[derive(Debug, Args)]
pub(super) struct Sum {
    #[command(flatten)]
    filter: Filter,
    /// Sum up for each of these, separated by commas. The model is the one that answered
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "caller,model")]
    #[arg(value_parser = ["caller", "tenant", "model", "tool", "day"])]
    by: Vec<String>,
}

/// The names of the sums.
const SUMS: [&str; 5] = ["exchanges", "calls", "failed", "input_tokens", "output_tokens"];

impl Sum {
    pub(super) fn run(self, file: &LedgerFile, json: bool) -> Result<()> {
        let mut sums: BTreeMap<Vec<String>, [u64; SUMS.len()]> = BTreeMap::new();
        pages(file, Query { with_data: false, ..self.filter.query() }, |found| {
            let key = self.by.iter().map(|by| key(by, &found.entry)).collect();
            for (sum, more) in sums.entry(key).or_default().iter_mut().zip(figures(&found.entry)) {
                *sum += more;
            }
            Ok(())
        })?;
        let names: Vec<&str> = self.by.iter().map(String::as_str).chain(SUMS).collect();
        let rows = sums.into_iter().map(|(key, sums)| {
            key.into_iter().map(Json::from).chain(sums.map(Json::from)).collect::<Vec<Json>>()
        });
        if json {
            let object = |row: Vec<Json>| -> Object {
                names
                    .iter()
                    .zip(row)
                    .map(|(name, cell)| ((*name).to_owned().into(), cell))
                    .collect()
            };
            return exit::print(&Json::from(rows.map(object).collect::<Vec<_>>()).pretty());
        }
        let cell = |cell: &Json| match cell.as_str() {
            Some(text) => Escaped(text).to_string(),
            None => cell.compact(),
        };
        let rows: Vec<Vec<String>> = rows.map(|row| row.iter().map(cell).collect()).collect();
        let heading = names.iter().map(|name| name.to_uppercase().replace('_', " "));
        exit::print_table(&heading.collect::<Vec<_>>(), &rows)
    }
}

/// Returns what an entry is summed up by; `-` if it has none.
fn key(by: &str, entry: &Entry) -> String {
    let (day, exchange) = (utc(entry.time()), entry.as_exchange());
    let value = match by {
        "caller" => Some(&*entry.caller().id),
        "tenant" => Some(&*entry.caller().tenant),
        "model" => exchange.and_then(|own| own.answered.as_deref().or(own.model.as_deref())),
        "tool" => entry.as_call().map(|call| &*call.tool),
        _ => day.split('T').next(),
    };
    value.unwrap_or("-").to_owned()
}

/// Returns what an entry adds to each sum.
fn figures(entry: &Entry) -> [u64; SUMS.len()] {
    match entry {
        Entry::Exchange(own) => {
            let failed = if own.error.is_some() { own.count } else { 0 };
            let output = own.usage.as_ref().and_then(|usage| usage.output);
            let input = own.usage.as_ref().map_or(0, Usage::input_total);
            [own.count, 0, failed, input, output.unwrap_or(0)]
        }
        // A call that waits for approval has another entry for its result.
        Entry::Call(call) => [0, call.source.is_some().into(), call.error.is_some().into(), 0, 0],
        _ => [0; SUMS.len()],
    }
}
