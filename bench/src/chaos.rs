//! The chaos run: minutes of traffic in all dialects, with tools that the gateway runs, and of plans with
//! published plans, approvals and files, while a driver kills and restarts the gateway, fills its disk, resets
//! and stalls upstreams, reloads configurations and drops clients. Effects are counted outside of the gateway.
//! At the end, the count of each effect must match the reply that its client received.

mod change;
mod client;
mod dialect;
mod disk;
mod driver;
mod ledger;
mod plan;
mod record;
mod verdict;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{getpid, set_child_subreaper};

use self::change::Report;
use self::client::Client;
use self::disk::Disk;
use self::driver::Driver;
use self::record::{Record, Seen};
use self::verdict::Verdict;
use crate::dice::Dice;
use crate::failure::{Failure, Outcome};
use crate::mock::{COMMIT, EFFECTS};
use crate::process::{Site, page};
use crate::table::Table;

/// Default duration.
const DEFAULT: Duration = Duration::from_mins(10);
const CLIENTS: u64 = 24;
/// Clients that run plans.
const PLAN_CLIENTS: u64 = 6;

/// The options of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    time: Duration,
    seed: u64,
}

impl Plan {
    /// Parses `--seconds` and `--seed`. Without a seed, each run uses a new one.
    pub(crate) fn parse(mut words: &[&str]) -> Outcome<Plan> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut plan = Plan { time: DEFAULT, seed: now.as_secs() };
        while let [name, value, rest @ ..] = words {
            let number = value.parse();
            let number =
                number.map_err(|_| Failure(format!("{name} needs a whole number, not {value}")))?;
            match *name {
                "--seconds" => plan.time = Duration::from_secs(number),
                "--seed" => plan.seed = number,
                other => return Err(Failure(format!("chaos takes no {other}"))),
            }
            words = rest;
        }
        if words.is_empty() { Ok(plan) } else { Err(Failure(format!("{words:?} lacks a number"))) }
    }

    fn words(self) -> [String; 4] {
        let (seconds, seed) = (self.time.as_secs().to_string(), self.seed.to_string());
        ["--seconds".into(), seconds, "--seed".into(), seed]
    }
}

/// Runs this program again in a user namespace, where it may mount a disk.
pub(crate) fn run(plan: Plan) -> Outcome {
    let own = std::env::current_exe()?;
    in_namespace(Command::new("true")).map_err(|why| {
        why.within("a chaos run needs user namespaces, to fill a disk of its own")
    })?;
    let mut inner = Command::new(own);
    inner.arg("chaos-in-namespace").args(plan.words());
    in_namespace(inner).map_err(|why| why.within(&format!("the run with seed {}", plan.seed)))
}

fn in_namespace(inner: Command) -> Outcome {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]);
    command.arg(inner.get_program()).args(inner.get_args());
    let status = command.status().map_err(|error| Failure(format!("unshare: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure(status.to_string())) }
}

/// Runs in the namespace.
pub(crate) fn run_in_namespace(plan: Plan) -> Outcome {
    let Plan { time, seed } = plan;
    println!("seed {seed}, {} s, {CLIENTS} clients, {PLAN_CLIENTS} with plans", time.as_secs());
    // Processes that a killed gateway leaves behind become children of this process.
    set_child_subreaper(Some(getpid())).map_err(std::io::Error::from)?;
    let site = Site::new("chaos")?;
    prepare(site.folder())?;
    let disk = Disk::mount(&site.data(), 64 + time.as_secs() / 2)?;
    plan::publish(&site)?;
    let record = Arc::new(Record::new());
    let mut driver = Driver::start(site, disk, record.clone(), Dice::new(seed, 0))?;
    std::thread::sleep(Duration::from_millis(500));
    let address = driver.gateway.address;
    // Stores are opened when they are first used.
    for path in ["/v1/plans", "/internal/files/list", "/v1/public/prefabs/order-prefab/functions"] {
        page(address, path)?;
    }
    let idle = driver.gateway.child.files();
    let until = Instant::now() + time;
    let shared = record.clone();
    let driving = std::thread::spawn(move || {
        let outcome = driver.run(time);
        shared.failed.store(outcome.is_err(), Ordering::Relaxed);
        (driver, outcome)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let clients = (1..=CLIENTS + PLAN_CLIENTS).map(|number| {
            let client = Client::new(address, record.clone(), Dice::new(seed, number));
            if number <= CLIENTS {
                tokio::spawn(client.work(until))
            } else {
                tokio::spawn(client.run_plans(until))
            }
        });
        let clients: Vec<_> = clients.collect();
        for client in clients {
            client.await?;
        }
        Ok::<(), Failure>(())
    })?;
    // The connections of the clients end with the runtime.
    drop(runtime);
    let (driver, outcome) = driving.join().map_err(|_| Failure("the driver panicked".into()))?;
    print(&record.seen(), &driver.report);
    outcome?;
    let mut verdict = Verdict::new(driver);
    verdict.judge(&record.seen(), idle)?;
    verdict.print()
}

/// Prepares the folder in which the tools work, and a `git` whose commits are lines of a file. Both
/// are outside of the disk that is filled, so that every effect is counted.
fn prepare(folder: &Path) -> Outcome {
    for name in ["bin", "tmp", "work/.git"] {
        fs::create_dir_all(folder.join(name))?;
    }
    let effects = folder.join("work").join(EFFECTS);
    fs::write(&effects, "")?;
    fs::write(folder.join("work/listed.txt"), "")?;
    let git = folder.join("bin/git");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in\n\
         *\" commit \"*) read -r line || [ \"$line\" ] || exit 1; sleep 0.1; \
         echo \"$line\" >> '{0}' ;;\n\
         *\" add \"*) line=$(tr -d '\\000'); sleep 0.1; echo \"$line\" >> '{0}' ;;\n\
         *\" diff \"*) printf 'file\\0' ;;\n\
         *\" rev-parse \"*) echo {COMMIT} ;;\nesac\n",
        effects.display()
    );
    fs::write(&git, script)?;
    Ok(fs::set_permissions(&git, fs::Permissions::from_mode(0o755))?)
}

fn print(seen: &Seen, report: &Report) {
    let mut table = Table::new(1, &["client", "requests", "attempts"]);
    for (dialect, (requests, attempts)) in &seen.requests {
        table.row(vec![(*dialect).into(), requests.to_string(), attempts.to_string()]);
    }
    println!();
    table.print();
    let mut table = Table::new(1, &["attempt", "count"]);
    for (how, count) in &seen.attempts {
        table.row(vec![how.clone(), count.to_string()]);
    }
    println!();
    table.print();
    let mut table = Table::new(1, &["change", "times", "/readyz right after, at most"]);
    for (name, reaction) in &report.reactions {
        let slowest = format!("{} ms", reaction.slowest.as_millis());
        table.row(vec![(*name).into(), reaction.count.to_string(), slowest]);
    }
    println!();
    table.print();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_parsed_from_its_arguments() {
        let plan = Plan { time: Duration::from_secs(61), seed: 7 };
        let words = plan.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(Plan::parse(&words).ok(), Some(plan));
        assert!(Plan::parse(&["--seed"]).is_err());
        assert!(Plan::parse(&["--seed", "many"]).is_err());
        assert!(Plan::parse(&["--sead", "7"]).is_err());
    }
}
