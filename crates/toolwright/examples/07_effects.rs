//! Effects happen once: a journal on disk records which calls were begun and how they ended. After a
//! restart the same run returns the recorded outcomes.
//!
//! ```text
//! executed: sent to Ada
//! recorded: sent to Ada
//! executed: sent to Ada
//! letters: 2
//! ```

#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicU32, Ordering};

use toolwright::call::journal::{SharedJournal, SqliteJournal};
use toolwright::call::{CallStatus, Completeness, ResultSource};
use toolwright::prelude::*;

static SENT: AtomicU32 = AtomicU32::new(0);

/// Send a letter. The post does not know what was sent before.
#[tool]
fn send_letter(to: String) -> String {
    SENT.fetch_add(1, Ordering::SeqCst);
    format!("sent to {to}")
}

/// One process: opens the journal and makes the same call of the same run.
async fn life(journal: SqliteJournal, run: &str) -> Result<String, Box<dyn std::error::Error>> {
    let toolbox = Toolbox::new([send_letter::handler()])?.with_journal(SharedJournal::new(journal));
    let call = Call::new("call_1", "send_letter", Arguments::from_text(r#"{"to": "Ada"}"#));
    let CallStatus::Done(done) =
        toolbox.call_with(&Session::new(run), &call, Completeness::Complete).await
    else {
        return Err("nobody was to be asked".into());
    };
    let how = match done.source {
        ResultSource::Journal => "recorded",
        ResultSource::Executed => "executed",
        _ => "refused",
    };
    Ok(format!("{how}: {}", done.outcome.words()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("journal.sqlite");

    println!("{}", life(SqliteJournal::open(&file)?, "monday").await?);
    println!("{}", life(SqliteJournal::open(&file)?, "monday").await?);
    println!("{}", life(SqliteJournal::open(&file)?, "tuesday").await?);
    println!("letters: {}", SENT.load(Ordering::SeqCst));
    Ok(())
}
