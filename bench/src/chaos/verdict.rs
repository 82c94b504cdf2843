//! The checks at the end of a chaos run.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use super::change::Report;
use super::driver::Driver;
use super::ledger;
use super::record::{Effect, Seen};
use crate::failure::Outcome;
use crate::findings::{Findings, PATIENCE, until};
use crate::mock::EFFECTS;
use crate::nonce::Nonce;
use crate::process::descendants;

/// How long before a gap a reply may have been received whose entry is in the gap: entries wait 20
/// ms and for the previous commit.
const LINGER: Duration = Duration::from_secs(1);
/// The files in the gateway's data folder after it has exited.
const DATA: &[&str] = &[
    "catalog",
    "catalog.sqlite",
    "files",
    "files.sqlite",
    "handles.sqlite",
    "journal.sqlite",
    "ledger.head",
    "ledger.sqlite",
    "plans.claims",
    "plans.sqlite",
    "serve.lock",
    "signing.key",
    "store.sqlite",
    "work",
];

/// The checks, and the processes that still run.
pub(crate) struct Verdict {
    driver: Driver,
    findings: Findings,
}

impl Verdict {
    /// Takes over the processes that still run.
    pub(crate) fn new(driver: Driver) -> Verdict {
        Verdict { driver, findings: Findings::default() }
    }

    /// Runs all checks. The gateway is stopped.
    pub(crate) fn judge(&mut self, seen: &Seen, idle: usize) -> Outcome {
        let (count, first) = &seen.wrong;
        self.findings.add_none("every request was answered", *count, first, "requests were not");
        let wrong = std::mem::take(&mut self.driver.report.wrong);
        let count = wrong.len() as u64;
        self.findings.add_none("/readyz was right within 2 s", count, &wrong, "times it was not");
        self.runtime(idle);
        self.stop();
        self.leftovers()?;
        self.effects(seen)?;
        self.ledger(seen)
    }

    /// Prints the checks; fails if one of them failed.
    pub(crate) fn print(&self) -> Outcome {
        self.findings.print(&self.driver.site.log())
    }

    /// Checks the resources that the gateway holds without clients.
    fn runtime(&mut self, idle: usize) {
        self.findings.nothing_under_way(self.driver.gateway.address);
        self.driver.mock.child.end();
        let gateway = &self.driver.gateway.child;
        self.findings.files(gateway, idle);
        if let Some(watch) = &self.driver.watch {
            self.findings.memory(gateway, watch.levels());
        }
    }

    fn stop(&mut self) {
        let gateway = &mut self.driver.gateway.child;
        gateway.signal(Signal::TERM);
        let ended = until(PATIENCE, || gateway.ended(), Option::is_some);
        let detail = ended.unwrap_or("it still runs".into());
        self.findings.add("it ends when told", detail == "exit status: 0", detail);
    }

    /// Compares the replies that clients received with the lines that tools wrote.
    fn effects(&mut self, seen: &Seen) -> Outcome {
        let file = self.driver.site.folder().join("work").join(EFFECTS);
        let counts = count_effects(&fs::read(file)?);
        let of = |digits: &[u8; 16]| counts.get(digits).copied().unwrap_or_default();
        let told = |wanted: Effect| seen.effects.iter().filter(move |(_, told)| **told == wanted);
        let wrong = |wanted: Effect, right: u64| {
            let wrong = told(wanted).filter(move |(digits, _)| of(digits) != right);
            let line = |(digits, _): (&[u8; 16], _)| {
                format!("{}: {}", String::from_utf8_lossy(digits), of(digits))
            };
            wrong.map(line).collect::<Vec<String>>()
        };
        let done = wrong(Effect::Done, 1);
        let all = told(Effect::Done).count();
        let what = "acknowledged effects happened once";
        self.findings.add_none(what, done.len() as u64, &done, &format!("of {all} did not"));
        let failed = wrong(Effect::Failed, 0);
        let all = told(Effect::Failed).count();
        let what = "effects said to have failed did not happen";
        self.findings.add_none(what, failed.len() as u64, &failed, &format!("of {all} did"));
        let twice = counts.iter().filter(|(_, count)| **count > 1);
        let twice: Vec<String> =
            twice.map(|(digits, _)| String::from_utf8_lossy(digits).into_owned()).collect();
        let of_all = format!("of {} did", counts.len());
        self.findings.add_none("no effect happened twice", twice.len() as u64, &twice, &of_all);
        let (kills, pending) = (self.driver.report.kills, self.driver.report.pending_at_kills);
        let unknown = told(Effect::Unknown).count();
        let happened = told(Effect::Unknown).filter(|(digits, _)| of(digits) == 1).count();
        let detail = format!(
            "{unknown} are, of which {happened} happened; {kills} kills met {pending} requests"
        );
        self.findings.add("effects are unknown only after a kill", unknown <= pending, detail);
        Ok(())
    }

    fn ledger(&mut self, seen: &Seen) -> Outcome {
        let site = &self.driver.site;
        let verified = match ledger::verify(site) {
            Ok(verified) => verified,
            Err(failure) => {
                self.findings.add("the chain of the ledger is valid", false, failure.to_string());
                return Ok(());
            }
        };
        let recorded = ledger::exchanges(&site.ledger())?;
        let (entries, gaps) = (verified.entries, verified.gaps.len());
        let Report { kills, failed_starts, .. } = self.driver.report;
        let detail = format!(
            "{entries} entries, {gaps} gaps, {kills} kills, {failed_starts} starts without a disk"
        );
        // A process that has opened the ledger, and then cannot start for want of space, cannot close it either.
        let fine = gaps as u64 <= kills + failed_starts;
        self.findings.add("the chain of the ledger is valid", fine, detail);
        let twice: Vec<String> =
            recorded.iter().filter(|(_, count)| **count > 1).map(|(id, _)| id.clone()).collect();
        let of = format!("of {} are", recorded.len());
        self.findings.add_none("no exchange is in it twice", twice.len() as u64, &twice, &of);
        let missing = seen.exchanges.iter().filter(|own| !recorded.contains_key(&own.id));
        let mut lost = Vec::new();
        let (mut in_gaps, mut earliest) = (0_u64, Duration::ZERO);
        for exchange in missing {
            match before_gap(exchange.ended, &verified.gaps) {
                Some(before) => {
                    in_gaps += 1;
                    earliest = earliest.max(before);
                }
                None => lost.push(exchange.id.clone()),
            }
        }
        let of = format!(
            "of {} are missing outside of a gap; {in_gaps} in one or up to {} ms before it",
            seen.exchanges.len(),
            earliest.as_millis()
        );
        let what = "every exchange is in it or in a gap";
        self.findings.add_none(what, lost.len() as u64, &lost, &of);
        Ok(())
    }

    /// Checks for processes and files that the gateway has left behind.
    fn leftovers(&mut self) -> Outcome {
        let own = std::process::id();
        let left = until(PATIENCE, || descendants(own), Vec::is_empty);
        let left: Vec<String> =
            left.into_iter().map(|(id, name)| format!("{name} ({id})")).collect();
        self.findings.add_none("no process is left", left.len() as u64, &left, "are");
        let folder = self.driver.site.folder();
        let mut left = strangers(&folder.join("data"), DATA)?;
        left.extend(strangers(&folder.join("work"), &[".git", EFFECTS, "listed.txt"])?);
        left.extend(strangers(&folder.join("work/.git"), &[])?);
        left.extend(strangers(&folder.join("tmp"), &[])?);
        self.findings.add_none("no file is left", left.len() as u64, &left, "are");
        let log = fs::read_to_string(self.driver.site.log())?;
        let panics: Vec<String> =
            log.lines().filter(|line| line.contains("panicked")).map(str::to_owned).collect();
        self.findings.add_none("nothing panicked", panics.len() as u64, &panics, "did");
        Ok(())
    }
}

/// The number of lines of a file with each nonce.
fn count_effects(lines: &[u8]) -> HashMap<[u8; 16], u64> {
    let mut counts = HashMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        if let Some(nonce) = Nonce::find(line) {
            *counts.entry(*nonce.digits()).or_default() += 1;
        }
    }
    counts
}

/// How long before a gap the reply came whose entry was lost in it; zero if it came in the gap,
/// `None` if no gap explains the loss.
fn before_gap(answered: SystemTime, gaps: &[(SystemTime, SystemTime)]) -> Option<Duration> {
    let before = |(since, until): &(SystemTime, SystemTime)| {
        let before = since.duration_since(answered).unwrap_or_default();
        (answered <= *until && before <= LINGER).then_some(before)
    };
    gaps.iter().filter_map(before).min()
}

/// Unexpected files of a folder.
fn strangers(folder: &Path, known: &[&str]) -> Outcome<Vec<String>> {
    let mut strangers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !known.iter().any(|name| *name == entry.file_name()) {
            strangers.push(entry.path().display().to_string());
        }
    }
    Ok(strangers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_explains_answers_in_it_and_shortly_before() {
        let at = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        let gaps = [(at(5000), at(6000)), (at(9000), at(9500))];
        assert_eq!(before_gap(at(5500), &gaps), Some(Duration::ZERO));
        assert_eq!(before_gap(at(4980), &gaps), Some(Duration::from_millis(20)));
        assert_eq!(before_gap(at(3000), &gaps), None);
        assert_eq!(before_gap(at(7000), &gaps), None);
    }

    #[test]
    fn effects_are_counted_by_their_nonces() {
        let lines = b"nonce-00000000000000ab in words 1\nnonce-00000000000000ac\n\
                      nonce-00000000000000ab in words 2\n";
        let counts = count_effects(lines);
        assert_eq!(counts.get(Nonce::new(0xab).digits()), Some(&2));
        assert_eq!(counts.get(Nonce::new(0xac).digits()), Some(&1));
        assert_eq!(counts.len(), 2);
    }
}
