//! `toolwright ledger`: shows and verifies the entries of a ledger.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use toolwright::ledger::{Gap, Head, Kind, LedgerFile, Query, Recorded};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use super::exit::{self, Failure};
use crate::telemetry::ledger::FILE;
use crate::terminal;

/// Number of entries that are read at a time.
const PAGE_ENTRIES: usize = 500;
/// Interval at which `tail` looks for new entries.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Arguments of `ledger`.
#[derive(Debug, Args)]
#[command(after_help = "\
The ledger is a file of the gateway's data folder. It may be read while the gateway runs.

A gap is a place where entries may be missing: a process was killed before it had written all of them,
or the file could not be written and entries were dropped. It is no damage: verify reports gaps and
exits with 0.

Examples:
  toolwright ledger verify
  toolwright ledger verify --against 1042:9f2c…
  toolwright ledger show --caller alice --kind exchange --limit 20
  toolwright ledger tail --json | jq .model")]
pub(crate) struct Ledger {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Verify that every entry is unchanged, and list the gaps
    Verify(Verify),
    /// List entries, the newest last
    Show(Show),
    /// List the newest entries, then new ones as they are written
    Tail(Show),
}

#[derive(Debug, Args)]
struct LedgerPath {
    /// Read this ledger
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    file: Option<PathBuf>,
    /// Read the ledger of this data folder
    #[arg(long, value_name = "FOLDER", default_value = ".toolwright")]
    data: PathBuf,
    /// Write JSON: one document for verify, one line for each entry otherwise
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Verify {
    #[command(flatten)]
    place: LedgerPath,
    /// Check that the chain contains this head, which was stored elsewhere
    #[arg(long, value_name = "HEAD")]
    against: Option<Head>,
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    place: LedgerPath,
    /// Show only entries of this kind
    #[arg(long)]
    kind: Option<Shown>,
    /// Show only entries of this run, or of the request with this id
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Show only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Show only entries of this client
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Show only entries of this tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Show only entries after this one
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Show at most this many entries, the newest
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shown {
    /// Calls of tools
    Call,
    /// Exchanges with models
    Exchange,
    /// Answers to calls that waited for approval
    Approval,
}

impl Ledger {
    /// Reads the ledger.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Verify(verify) => verify.run(),
            Action::Show(show) => {
                let file = show.place.open()?;
                show.entries(&file, show.newest(&file)?).map(|_| ())
            }
            Action::Tail(tail) => tail.follow(),
        }
    }
}

impl LedgerPath {
    fn open(&self) -> Result<LedgerFile, Failure> {
        let path = self.file.clone().unwrap_or_else(|| self.data.join(FILE));
        let hint = "name the folder of the gateway with --data, or the file with --file";
        LedgerFile::open(path).map_err(|error| Failure::failed(error.to_string()).with_hint(hint))
    }
}

impl Verify {
    fn run(self) -> Result<(), Failure> {
        let file = self.place.open()?;
        let gaps = file.gaps().map_err(failed)?;
        let verified = file.verify(self.against).map_err(failed)?;
        let text = if self.place.json {
            let gaps: Vec<Object> = gaps.iter().map(Gap::to_json).collect();
            let document = object! {
                "entries": verified.entries,
                "head": verified.head.to_string(),
                "gaps": gaps,
            };
            Json::Object(document).pretty()
        } else {
            let mut text =
                format!("{} entries, none changed\nhead {}\n", verified.entries, verified.head);
            for gap in &gaps {
                // Writing to a string cannot fail.
                let _written = writeln!(text, "gap {gap}");
            }
            text
        };
        terminal::write(&text).map_err(exit::io("stdout"))
    }
}

impl Show {
    fn query(&self) -> Query {
        let kind = self.kind.map(|kind| match kind {
            Shown::Call => Kind::Call,
            Shown::Exchange => Kind::Exchange,
            Shown::Approval => Kind::Approval,
        });
        Query {
            kind,
            run: self.run.clone(),
            tool: self.tool.clone(),
            caller: self.caller.clone(),
            tenant: self.tenant.clone(),
            after: self.after,
            ..Query::new()
        }
    }

    /// Returns the newest entries, newest last.
    fn newest(&self, file: &LedgerFile) -> Result<Vec<Recorded>, Failure> {
        let query = Query { after: None, ..self.query() }.newest_first().with_limit(self.limit);
        let mut entries = file.entries(&query).map_err(failed)?;
        entries.retain(|found| self.after.is_none_or(|after| found.sequence > after));
        entries.reverse();
        Ok(entries)
    }

    /// Writes entries, with the gaps between them; returns the position of the last one.
    fn entries(&self, file: &LedgerFile, entries: Vec<Recorded>) -> Result<Option<u64>, Failure> {
        let gaps = file.gaps().map_err(failed)?;
        let mut out = io::stdout().lock();
        let last = entries.last().map(|found| found.sequence);
        for found in entries {
            let before = gaps.iter().filter(|gap| gap.after + 1 == found.sequence);
            for gap in before {
                let line = if self.place.json {
                    Json::Object(object! {"gap": gap.to_json()}).compact()
                } else {
                    format!("   gap {gap}")
                };
                writeln!(out, "{line}").map_err(exit::io("stdout"))?;
            }
            let line = if self.place.json { document(&found) } else { line(&found) };
            writeln!(out, "{}", terminal::plain(&line)).map_err(exit::io("stdout"))?;
        }
        out.flush().map_err(exit::io("stdout"))?;
        Ok(last)
    }

    /// Writes entries as they are recorded, until the command is stopped.
    fn follow(self) -> Result<(), Failure> {
        let file = self.place.open()?;
        let mut last = self.entries(&file, self.newest(&file)?)?.or(self.after);
        loop {
            std::thread::sleep(POLL_INTERVAL);
            let query = Query { after: last.or(Some(0)), ..self.query() }.with_limit(PAGE_ENTRIES);
            let new = file.entries(&query).map_err(failed)?;
            last = self.entries(&file, new)?.or(last);
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::failed(error.to_string())
}

/// Returns an entry as JSON, with its position.
fn document(found: &Recorded) -> String {
    let mut document = object! {"sequence": found.sequence, "link": found.link.to_string()};
    document.merge(&found.entry.to_json());
    Json::Object(document).compact()
}

/// Returns an entry as one line.
fn line(found: &Recorded) -> String {
    let entry = &found.entry;
    let document = entry.to_json();
    let text = |key: &str| document.get(key).and_then(Json::as_str).unwrap_or("-").to_owned();
    let what = match (entry.as_call(), entry.as_exchange()) {
        (Some(call), _) => format!("call {} {}", call.tool, text("outcome")),
        (_, Some(exchange)) => {
            let status = exchange.status.to_string();
            format!("{} {} → {} {status}", text("endpoint"), text("model"), text("upstream"))
        }
        _ => entry.as_approval().map_or_else(String::new, |answer| {
            let word = if answer.approved { "approved" } else { "rejected" };
            format!("{word} {} {}", answer.tool, answer.approval)
        }),
    };
    let error = document.get("error").and_then(Json::as_str);
    let error = error.map(|error| format!(" ({error})")).unwrap_or_default();
    let caller = &entry.caller().id;
    format!("{:>6} {} {caller} {what}{error} run {}", found.sequence, text("time"), entry.run())
}
