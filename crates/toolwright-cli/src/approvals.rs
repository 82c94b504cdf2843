//! `toolwright approvals`: shows and answers calls that wait for approval.

use std::sync::Arc;

use clap::{Args, Subcommand};
use toolwright_core::Json;
use toolwright_gateway::approvals::{
    ApprovalRecord, Approvals as Store, Decision, RecordedAnswer, Status, seconds, write_time,
};
use toolwright_gateway::gateway::STORE_FILE;
use toolwright_gateway::telemetry::ledger::FILE;
use toolwright_gateway::terminal::Escaped;
use toolwright_runtime::Caller;
use toolwright_runtime::ledger::{Ledger as _, SqliteLedger};
use toolwright_runtime::store::ExpiringStore;

use super::config::ConfigOptions;
use super::exit::{self, Failure, Result};
use super::tools;

/// Maximum number of characters of arguments in a table.
const SHOWN: usize = 60;

/// Arguments of `approvals`.
#[derive(Debug, Args)]
#[command(after_help = "\
A call that needs approval waits in the gateway's data folder. After the answer, the client
continues its conversation: the call runs once, or the model reads why it was rejected. The
command may run while the gateway runs.

Examples:
  toolwright approvals
  toolwright approvals show apr_3f0c…
  toolwright approvals approve apr_3f0c…
  toolwright approvals reject apr_3f0c… --reason 'not on a Friday'")]
pub(crate) struct Approvals {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    config: ConfigOptions,
    /// Write JSON: one line for each approval
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the approvals that wait [default]
    List {
        /// List answered and expired ones as well
        #[arg(long)]
        all: bool,
    },
    /// Show one approval
    Show {
        /// The id of the approval
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Let a call run
    Approve(Answered),
    /// Do not let a call run
    Reject(Answered),
}

#[derive(Debug, Args)]
struct Answered {
    /// The id of the approval
    #[arg(value_name = "ID")]
    id: String,
    /// Record this reason; the model reads it after a rejection
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Record this name [default: the user of this session]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

impl Approvals {
    /// Shows or answers approvals.
    pub(crate) fn run(self) -> Result<()> {
        tools::block_on(self.start())?
    }

    async fn start(self) -> Result<()> {
        let store = self.open()?;
        match &self.action {
            None => self.list(&store, false).await,
            Some(Action::List { all }) => self.list(&store, *all).await,
            Some(Action::Show { id }) => self.write(&find(&store, id).await?),
            Some(Action::Approve(answered)) => {
                self.answer(&store, answered, Decision::Approve).await
            }
            Some(Action::Reject(answered)) => self.answer(&store, answered, Decision::Reject).await,
        }
    }

    fn open(&self) -> Result<Store> {
        let path = self.config.data()?.join(STORE_FILE);
        let hint =
            "name the configuration of the gateway with --config, or its data folder with --data";
        if !path.exists() {
            let what = format!("{}: there is no such file", path.display());
            return Err(Failure::failed(what).with_hint(hint));
        }
        let store = ExpiringStore::open(path);
        let store = store.map_err(|error| Failure::failed(error.to_string()).with_hint(hint))?;
        Ok(Store::new(Arc::new(store)))
    }

    async fn list(&self, store: &Store, all: bool) -> Result<()> {
        let mut found = store.all().await.map_err(exit::failed)?;
        let now = seconds();
        found.retain(|approval| all || approval.status(now) == Status::Pending);
        if self.json {
            return found
                .iter()
                .try_for_each(|approval| exit::print(&approval.to_json().compact()));
        }
        if found.is_empty() {
            return exit::print("no approval waits");
        }
        let rows: Vec<[String; 6]> = found.iter().map(|own| row(own, now)).collect();
        let heading = ["ID", "STATUS", "CLIENT", "TOOL", "CREATED", "ARGUMENTS"];
        exit::print_table(&heading, &rows)
    }

    async fn answer(&self, store: &Store, answered: &Answered, decision: Decision) -> Result<()> {
        let found = find(store, &answered.id).await?;
        let name = answered.name.clone().or_else(|| std::env::var("USER").ok());
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "local".to_owned());
        let answer = RecordedAnswer::now(decision, answered.reason.clone(), name.as_str());
        let tenant = &found.caller.tenant;
        // Before the answer counts, because the ledger records every answer.
        let ledger = SqliteLedger::open(self.config.data()?.join(FILE)).map_err(exit::failed)?;
        let (record, is_new) =
            store.answer(tenant, &found.id, answer).await.map_err(exit::failed)?;
        let by = Caller::new(name.as_str()).with_tenant(Arc::clone(tenant));
        if let Some(entry) = record.ledger_entry(by).filter(|_| is_new) {
            ledger.record(entry.into());
            ledger.flush().await.map_err(exit::failed)?;
        }
        self.write(&record)
    }

    /// Writes one approval.
    fn write(&self, record: &ApprovalRecord) -> Result<()> {
        let document = Json::Object(record.to_json());
        let text = if self.json { document.compact() } else { document.pretty() };
        exit::print(&text)
    }
}

async fn find(store: &Store, id: &str) -> Result<ApprovalRecord> {
    let found =
        store.all().await.map_err(exit::failed)?.into_iter().find(|approval| approval.id == id);
    found.ok_or_else(|| {
        let hint = "`toolwright approvals` lists those that wait";
        Failure::failed(format!("there is no approval '{}'", Escaped(id))).with_hint(hint)
    })
}

fn row(own: &ApprovalRecord, now: u64) -> [String; 6] {
    let escaped = |text: &str| Escaped(text).to_string();
    [
        own.id.clone(),
        own.status(now).word().to_owned(),
        escaped(&own.caller.id),
        escaped(&own.tool),
        write_time(own.created),
        escaped(&exit::shorten(&own.arguments.compact(), SHOWN)),
    ]
}
