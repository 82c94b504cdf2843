//! `toolwright ledger`: shows, sums up, exports and verifies the entries of a ledger.

mod export;
mod sum;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use toolwright_core::json::Object;
use toolwright_core::{Json, date, duration, object};
use toolwright_gateway::telemetry::ledger::FILE;
use toolwright_gateway::terminal::{self, counted};
use toolwright_runtime::ledger::{Checkpoint, Gap, Head, Kind, LedgerFile, Query, Recorded};

use super::config::ConfigOptions;
use super::exit::{self, Failure, Result};

/// Number of entries that are read at a time.
const PAGE_ENTRIES: usize = 500;
/// Interval at which `tail` looks for new entries.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Arguments of `ledger`.
#[derive(Debug, Args)]
#[command(after_help = "\
The ledger is a file of the data folder. It may be read while the gateway runs.

A TIME is a date in UTC (2026-11-15, 2026-11-15T08:00:00) or a duration before now (15m, 2h, 7d).

A gap is a place where entries may be missing: a process was killed before it had written all of
them, or the file could not be written and entries were dropped. It is no damage: verify reports
gaps and exits with 0. A checkpoint, signed with signing.key, stands for entries that max_age in
[ledger] has removed.

Examples:
  toolwright ledger verify
  toolwright ledger verify --against 1042:9f2c…
  toolwright ledger show --caller alice --kind exchange --since 2h
  toolwright ledger tail --json | jq .model
  toolwright ledger sum --by caller,model,day --since 30d
  toolwright ledger export --format csv --since 2026-11-01 --until 2026-12-01 > november.csv")]
pub(crate) struct Ledger {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    place: LedgerPath,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Verify that every entry is unchanged, and list the gaps
    Verify(Verify),
    /// List entries, the newest last
    Show(Show),
    /// List the newest entries, then new ones as they are written
    Tail(Show),
    /// Count exchanges, calls and tokens
    Sum(sum::Sum),
    /// Write all entries, the oldest first
    Export(export::Export),
}

#[derive(Debug, Args)]
struct LedgerPath {
    #[command(flatten)]
    config: ConfigOptions,
    /// Read this ledger
    #[arg(long, value_name = "FILE", conflicts_with = "data", global = true)]
    file: Option<PathBuf>,
    /// Write JSON: one document for verify and sum, one line for each entry otherwise
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Args)]
struct Verify {
    /// Check that the chain contains this head, which was stored elsewhere
    #[arg(long, value_name = "HEAD")]
    against: Option<Head>,
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    filter: Filter,
    /// Show only entries after this one
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Show at most this many entries, the newest
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// Arguments that select entries.
#[derive(Debug, Args)]
struct Filter {
    /// Only calls of tools, exchanges with models, or answers to calls that waited for approval
    #[arg(long, value_parser = ["call", "exchange", "approval"])]
    kind: Option<String>,
    /// Only entries of this run, or of the request with this id
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only entries of this client
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only entries of this tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only entries that began at this time or later
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<SystemTime>,
    /// Only entries that began before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<SystemTime>,
}

/// Reads a date, a time, or a duration before now.
fn moment(text: &str) -> Result<SystemTime, String> {
    if let Some(ago) = duration::parse(text) {
        return SystemTime::now().checked_sub(ago).ok_or_else(|| "this is too long ago".to_owned());
    }
    let text = text.strip_suffix('Z').unwrap_or(text);
    let seconds = date::read(text).or_else(|| date::read(&format!("{text}T00:00:00")));
    seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)).ok_or_else(|| {
        let units = duration::UNITS;
        format!("write a date such as 2026-11-15 or 2026-11-15T08:00:00, or a duration with one of {units}")
    })
}

impl Ledger {
    /// Reads the ledger.
    pub(crate) fn run(self) -> Result<()> {
        let (file, json) = (self.place.open()?, self.place.json);
        match self.action {
            Action::Verify(verify) => verify.run(&file, json),
            Action::Show(show) => show.write(&file, json).map(|_| ()),
            Action::Tail(tail) => tail.follow(&file, json),
            Action::Sum(sum) => sum.run(&file, json),
            Action::Export(export) => export.run(&file),
        }
    }
}

impl LedgerPath {
    fn open(&self) -> Result<LedgerFile> {
        let path = match &self.file {
            Some(file) => file.clone(),
            None => self.config.data()?.join(FILE),
        };
        let hint = "name the configuration of the gateway with --config, its data folder with --data, or \
                    the file with --file";
        LedgerFile::open(path).map_err(|error| Failure::failed(error.to_string()).with_hint(hint))
    }
}

impl Verify {
    fn run(self, file: &LedgerFile, json: bool) -> Result<()> {
        let gaps = file.gaps().map_err(exit::failed)?;
        let verified = file.verify(self.against).map_err(exit::failed)?;
        let checkpoint = verified.checkpoint;
        let text = if json {
            let gaps: Vec<Object> = gaps.iter().map(Gap::to_json).collect();
            let document = object! {
                "entries": verified.entries,
                "head": verified.head.to_string(),
                "checkpoint": checkpoint.map_or(Json::Null, |own| own.head.to_string().into()),
                "removed": checkpoint.map_or(0, |own| own.removed),
                "gaps": gaps,
            };
            Json::Object(document).pretty()
        } else {
            let entries = counted(verified.entries, "entry", "entries");
            let mut lines = vec![format!("{entries}, none changed\nhead {}", verified.head)];
            lines.extend(checkpoint.map(|Checkpoint { head, removed, .. }| {
                let removed = counted(removed, "entry", "entries");
                format!("checkpoint {head}, validly signed, for {removed} that max_age removed")
            }));
            lines.extend(gaps.iter().map(|gap| format!("gap {gap}")));
            lines.join("\n")
        };
        exit::print(&text)?;
        match (self.against, checkpoint) {
            (Some(against), Some(own)) if against.sequence < own.head.sequence => {
                let what = format!("entry {} was removed because of its age", against.sequence);
                Err(Failure::failed(format!("{what}, so the chain cannot be compared with it")))
            }
            _ => Ok(()),
        }
    }
}

/// Writes a time, in seconds.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{}Z", date::write(seconds))
}

impl Filter {
    fn query(&self) -> Query {
        Query {
            kind: self.kind.as_deref().and_then(Kind::from_word),
            run: self.run.clone(),
            tool: self.tool.clone(),
            caller: self.caller.clone(),
            tenant: self.tenant.clone(),
            since: self.since,
            until: self.until,
            limit: PAGE_ENTRIES,
            ..Query::new()
        }
    }
}

/// Reads all entries that match a query, page by page, the oldest first.
fn pages(
    file: &LedgerFile,
    mut query: Query,
    mut visit: impl FnMut(Recorded) -> Result<()>,
) -> Result<()> {
    loop {
        let page = file.entries(&query).map_err(exit::failed)?;
        let Some(last) = page.last() else { return Ok(()) };
        query.after = Some(last.sequence);
        page.into_iter().try_for_each(&mut visit)?;
    }
}

impl Show {
    /// Writes the newest entries, newest last; returns the position of the last one.
    fn write(&self, file: &LedgerFile, json: bool) -> Result<Option<u64>> {
        let query = self.filter.query().newest_first().with_limit(self.limit);
        let mut entries = file.entries(&query).map_err(exit::failed)?;
        entries.retain(|found| self.after.is_none_or(|after| found.sequence > after));
        entries.reverse();
        write(file, &entries, json)
    }

    /// Writes entries as they are recorded, until the command is stopped.
    fn follow(self, file: &LedgerFile, json: bool) -> Result<()> {
        let mut last = self.write(file, json)?.or(self.after);
        loop {
            std::thread::sleep(POLL_INTERVAL);
            let query = Query { after: last.or(Some(0)), ..self.filter.query() };
            last = write(file, &file.entries(&query).map_err(exit::failed)?, json)?.or(last);
        }
    }
}

/// Writes entries, with the gaps between them; returns the position of the last one.
fn write(file: &LedgerFile, entries: &[Recorded], json: bool) -> Result<Option<u64>> {
    let gaps = file.gaps().map_err(exit::failed)?;
    let mut out = io::stdout().lock();
    for found in entries {
        let before = gaps.iter().filter(|gap| gap.after + 1 == found.sequence);
        for gap in before {
            let line = if json {
                Json::Object(object! {"gap": gap.to_json()}).compact()
            } else {
                format!("   gap {gap}")
            };
            writeln!(out, "{line}").map_err(exit::io("stdout"))?;
        }
        let line = if json { document(found).compact() } else { line(found) };
        writeln!(out, "{}", terminal::plain(&line)).map_err(exit::io("stdout"))?;
    }
    out.flush().map_err(exit::io("stdout"))?;
    Ok(entries.last().map(|found| found.sequence))
}

/// Returns an entry as JSON, with its position.
fn document(found: &Recorded) -> Object {
    let mut document = object! {"sequence": found.sequence, "link": found.link.to_string()};
    document.merge(&found.entry.to_json());
    document.insert_some("data_digest", found.data_digest.as_deref());
    document
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
            let times =
                if exchange.count > 1 { format!(" ×{}", exchange.count) } else { String::new() };
            format!("{} {} → {} {status}{times}", text("endpoint"), text("model"), text("upstream"))
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
