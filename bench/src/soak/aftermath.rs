//! After the soak test: whether the gateway is back to normal, has recorded everything and still
//! answers.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::visit::Kind;
use super::watch::Watch;
use super::worker::Tally;
use crate::failure::{Failure, Outcome};
use crate::findings::{Findings, PATIENCE, until};
use crate::load::{self, next_nonce};
use crate::process::{Serving, Site};

/// The checks.
pub(crate) struct Aftermath<'a> {
    site: &'a Site,
    mock: Serving,
    gateway: Serving,
    findings: Findings,
}

impl<'a> Aftermath<'a> {
    /// Takes over the processes that still run.
    pub(crate) fn new(site: &'a Site, mock: Serving, gateway: Serving) -> Aftermath<'a> {
        Aftermath { site, mock, gateway, findings: Findings::default() }
    }

    /// Runs all checks.
    pub(crate) fn judge(&mut self, tally: &Tally, watch: &Watch, idle: usize) -> Outcome {
        let count: u64 = tally.visits().map(|(_, (_, wrong))| wrong).sum();
        self.findings.add_none("every answer was right", count, &tally.wrong, "wrong");
        self.findings.nothing_under_way(self.gateway.address);
        self.ledger(tally);
        self.files(idle)?;
        self.findings.memory(&self.gateway.child, watch.levels());
        self.answers()
    }

    fn ledger(&mut self, tally: &Tally) {
        let asked = tally.reached..=tally.reached + tally.unknown;
        let fits = |count: &Outcome<u64>| count.as_ref().is_ok_and(|count| asked.contains(count));
        let last = until(PATIENCE, || recorded(&self.site.ledger()), fits);
        let detail = match &last {
            Ok(last) => format!("{last} recorded, {} to {} asked", asked.start(), asked.end()),
            Err(failure) => failure.to_string(),
        };
        self.findings.add("every exchange is in the ledger", fits(&last), detail);
    }

    /// Stops the mock, and with it every pooled connection to it, and starts it again.
    fn files(&mut self, idle: usize) -> Outcome {
        let address = self.mock.address.to_string();
        self.mock.child.end();
        self.findings.files(&self.gateway.child, idle);
        self.mock = Serving::mock(&address)?;
        Ok(())
    }

    fn answers(&mut self) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for kind in Kind::ALL {
            let address = self.gateway.address;
            let answer = runtime.block_on(async {
                let mut connection = load::Connection::open(address).await?;
                connection.read(&kind.question("mock"), next_nonce()).await
            });
            let detail = match answer {
                Ok(answer) => answer.status.to_string(),
                Err(failure) => failure.to_string(),
            };
            self.findings.add("it still answers", detail == "200", detail);
        }
        let ended = self.gateway.child.ended();
        self.findings.add("it still runs", ended.is_none(), ended.unwrap_or_default());
        Ok(())
    }

    /// Prints the checks; fails if one of them failed.
    pub(crate) fn print(&self) -> Outcome {
        self.findings.print(&self.site.log())
    }
}

/// The number of exchanges in the ledger's file, while the gateway writes to it.
fn recorded(file: &Path) -> Outcome<u64> {
    let ask = || {
        let ledger = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let query = "SELECT count(*) FROM entry WHERE kind = 'exchange'";
        ledger.query_row(query, [], |row| row.get(0))
    };
    ask().map_err(|error| Failure(format!("{}: {error}", file.display())))
}
