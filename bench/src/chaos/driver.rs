//! The driver of a chaos run: makes one change after another around the gateway, and checks
//! `/readyz` after each.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;

use super::change::{Change, FREED, Report};
use super::dialect::Dialect;
use super::disk::Disk;
use super::record::Record;
use super::{ledger, plan};
use crate::dice::Dice;
use crate::failure::{Failure, Outcome};
use crate::findings::until;
use crate::process::{Serving, Site, get, page, upstream_table};
use crate::soak::Watch;

/// Maximum time until `/readyz` must be correct after a change.
const READY_WITHIN: Duration = Duration::from_secs(2);
/// Maximum recovery time of the gateway before the run is aborted.
const GIVE_UP: Duration = Duration::from_secs(30);
/// The share of the time in which the gateway is killed; in the rest, one process survives.
const KILLS: f64 = 0.6;

/// The log message for a rejected configuration.
const REFUSED: &str = "the configuration was not reloaded";

/// The running processes, and the state of the driver.
pub(crate) struct Driver {
    pub(crate) site: Site,
    pub(crate) gateway: Serving,
    pub(crate) mock: Serving,
    pub(crate) watch: Option<Watch>,
    pub(crate) report: Report,
    disk: Disk,
    environment: Vec<(&'static str, OsString)>,
    record: Arc<Record>,
    dice: Dice,
    generation: u64,
    launched: SystemTime,
}

impl Driver {
    /// Starts the mock and the gateway, whose data are on the disk.
    pub(crate) fn start(
        site: Site,
        disk: Disk,
        record: Arc<Record>,
        dice: Dice,
    ) -> Outcome<Driver> {
        let mock = Serving::mock(&Site::address()?.to_string())?;
        let folder = site.folder();
        let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
        let environment =
            vec![("PATH", path.into()), ("TMPDIR", folder.join("tmp").into_os_string())];
        site.configure(&configuration(mock.address, 0))?;
        let address = Site::address()?;
        let child = site.start(address, &environment)?;
        let launched = SystemTime::now();
        let mut driver = Driver {
            gateway: Serving { child, address },
            site,
            mock,
            watch: None,
            report: Report::default(),
            disk,
            environment,
            record,
            dice,
            generation: 0,
            launched,
        };
        driver.count("start");
        driver.until_ready("start")?;
        Ok(driver)
    }

    /// Makes changes until the time is over, then restores the normal state.
    pub(crate) fn run(&mut self, time: Duration) -> Outcome {
        let begun = Instant::now();
        let end = begun + time;
        let mut deck = Vec::new();
        while Instant::now() < end {
            let pause = 500 + self.dice.roll() % 1500;
            self.pause(Duration::from_millis(pause));
            let may_kill = begun.elapsed() < time.mul_f64(KILLS);
            if !may_kill && self.watch.is_none() {
                let rest = end.saturating_duration_since(Instant::now());
                self.watch = Some(Watch::start(&self.gateway.child, rest));
            }
            if deck.is_empty() {
                deck = Change::DECK.to_vec();
                self.dice.shuffle(&mut deck);
            }
            let Some(change) = deck.pop() else { continue };
            if may_kill || !change.ends_process() {
                self.change(change)?;
            }
        }
        Ok(())
    }

    fn change(&mut self, change: Change) -> Outcome {
        self.count(change.name());
        match change {
            Change::Kill => {
                self.kill();
                self.launch()?;
                // A third of them are killed again while starting.
                if self.dice.roll().is_multiple_of(3) {
                    std::thread::sleep(Duration::from_millis(self.dice.roll() % 150));
                    self.kill();
                    self.launch()?;
                }
                self.until_ready(change.name())
            }
            Change::Restart => {
                let gateway = &mut self.gateway.child;
                gateway.signal(Signal::TERM);
                let ended = until(GIVE_UP, || gateway.ended(), Option::is_some);
                let how = ended.unwrap_or("it still runs".into());
                if how != "exit status: 0" {
                    self.wrong(format!("{}: {how}", change.name()));
                    self.gateway.child.end();
                }
                self.launch()?;
                self.until_ready(change.name())
            }
            Change::FillDisk | Change::KillOnFullDisk => self.fill_disk(change),
            Change::ResetUpstreams => {
                self.mock.child.end();
                self.stays_ready(change, 300)?;
                let address = self.mock.address.to_string();
                self.mock = Serving::mock(&address)?;
                self.stays_ready(change, 0)
            }
            Change::StallUpstreams => {
                self.mock.child.signal(Signal::STOP);
                let stalled = self.stays_ready(change, 2500);
                self.mock.child.signal(Signal::CONT);
                stalled
            }
            Change::Reload => self.reload(change),
            Change::BadReload => self.reload_badly(change),
            Change::DropClients => {
                self.record.leave.send_modify(|number| *number += 1);
                self.stays_ready(change, 0)
            }
        }
    }

    fn kill(&mut self) {
        self.report.kills += 1;
        self.report.pending_at_kills += self.record.pending();
        self.gateway.child.end();
    }

    fn launch(&mut self) -> Outcome {
        self.launched = SystemTime::now();
        self.gateway.child = self.site.start(self.gateway.address, &self.environment)?;
        Ok(())
    }

    fn fill_disk(&mut self, change: Change) -> Outcome {
        let hold = Duration::from_millis(500 + self.dice.roll() % 1500);
        self.hold_full(Change::FillDisk, hold)?;
        if change == Change::KillOnFullDisk {
            self.kill();
            // A supervisor would do the same, although the disk is still full.
            self.launch()?;
            self.hold_full(change, Duration::ZERO)?;
        }
        self.disk.free()?;
        if self.gateway.child.ended().is_some() {
            self.report.failed_starts += 1;
            self.launch()?;
        }
        self.count(FREED);
        self.until_ready(FREED)
    }

    /// Keeps the disk full until the gateway is not ready, and some time longer. Meanwhile the
    /// gateway may be ready only if it still writes every entry, in space that its files already
    /// have; a gateway that cannot start is not ready.
    fn hold_full(&mut self, change: Change, hold: Duration) -> Outcome {
        let filled = Instant::now();
        let mut unready = None;
        while filled.elapsed() < unready.unwrap_or(READY_WITHIN) + hold {
            self.disk.fill()?;
            match self.status() {
                Some(200) => {
                    if let Some(id) = self.unwritten()? {
                        let name = change.name();
                        self.wrong(format!("{name}: ready, though {id} is not in the ledger"));
                        return Ok(());
                    }
                }
                None if self.gateway.child.ended().is_some() => return Ok(()),
                None if filled.elapsed() > GIVE_UP => {
                    return Err(Failure(format!("{}: no answer", change.name())));
                }
                None => {}
                Some(_) if unready.is_some() => {}
                Some(_) => {
                    unready = Some(filled.elapsed());
                    self.note_slowest(change.name(), filled.elapsed());
                }
            }
            self.pause(Duration::from_millis(20));
        }
        Ok(())
    }

    /// An exchange of this process that ended two seconds ago and is not in the ledger.
    fn unwritten(&self) -> Outcome<Option<String>> {
        let before = SystemTime::now() - READY_WITHIN;
        // Shortly after the start, clients still notice that the previous process was killed.
        let after = self.launched + Duration::from_millis(500);
        let found = {
            let seen = self.record.seen();
            let old = seen.exchanges.iter().rev().find(|exchange| exchange.ended < before);
            old.filter(|exchange| exchange.ended > after).map(|exchange| exchange.id.clone())
        };
        match found {
            Some(id) if !ledger::has(&self.site.ledger(), &id)? => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    fn reload(&mut self, change: Change) -> Outcome {
        self.generation += 1;
        self.site.configure(&configuration(self.mock.address, self.generation))?;
        self.gateway.child.signal(Signal::HUP);
        let changed = Instant::now();
        while !self.has_generation() {
            if changed.elapsed() > GIVE_UP {
                return Err(Failure("a new configuration is never read".into()));
            }
            self.pause(Duration::from_millis(10));
        }
        self.note(change.name(), changed.elapsed());
        self.stays_ready(change, 0)
    }

    fn reload_badly(&mut self, change: Change) -> Outcome {
        let good = configuration(self.mock.address, self.generation);
        let bad = match self.dice.roll() % 3 {
            0 => "[upstreams".to_owned(),
            1 => good.replace("dialect = \"gemini\"", "dialect = \"no-such-dialect\""),
            _ => good.replace("base_url = \"http://", "base_url = \"nowhere "),
        };
        let mut log = File::open(self.site.log())?;
        log.seek(SeekFrom::End(0))?;
        let mut news = String::new();
        self.site.configure(&bad)?;
        self.gateway.child.signal(Signal::HUP);
        let changed = Instant::now();
        while !news.contains(REFUSED) {
            if changed.elapsed() > GIVE_UP {
                return Err(Failure("a bad configuration is not refused".into()));
            }
            self.pause(Duration::from_millis(10));
            log.read_to_string(&mut news)?;
        }
        self.stays_ready(change, 200)?;
        if !self.has_generation() {
            self.wrong(format!("{}: the old one does not hold", change.name()));
        }
        self.site.configure(&good)
    }

    fn has_generation(&self) -> bool {
        let models = get(self.gateway.address, "/v1/models").unwrap_or_default();
        models.contains(&format!("\"generation-{}\"", self.generation))
    }

    /// Asserts that the gateway is ready, and stays so for some milliseconds.
    fn stays_ready(&mut self, change: Change, milliseconds: u64) -> Outcome {
        let begun = Instant::now();
        loop {
            self.until_ready(change.name())?;
            if begun.elapsed() >= Duration::from_millis(milliseconds) {
                return Ok(());
            }
            self.pause(Duration::from_millis(50));
        }
    }

    /// Waits until `/readyz` is 200, and records an error if it takes more than two seconds.
    fn until_ready(&mut self, what: &'static str) -> Outcome {
        let changed = Instant::now();
        while self.status() != Some(200) {
            if let Some(how) = self.gateway.child.ended() {
                return Err(Failure(format!("{what}: the gateway ended with {how}")));
            }
            if changed.elapsed() > GIVE_UP {
                return Err(Failure(format!("{what}: the gateway does not get ready")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.note(what, changed.elapsed());
        Ok(())
    }

    fn status(&self) -> Option<u16> {
        page(self.gateway.address, "/readyz").ok().map(|(status, _)| status)
    }

    /// Counts a change.
    fn count(&mut self, what: &'static str) {
        self.report.reactions.entry(what).or_default().count += 1;
    }

    /// Records how long `/readyz` took to be correct.
    fn note(&mut self, what: &'static str, took: Duration) {
        self.note_slowest(what, took);
        if took > READY_WITHIN {
            self.wrong(format!("{what}: right after {} ms", took.as_millis()));
        }
    }

    fn note_slowest(&mut self, what: &'static str, took: Duration) {
        let reaction = self.report.reactions.entry(what).or_default();
        reaction.slowest = reaction.slowest.max(took);
    }

    fn wrong(&mut self, what: String) {
        self.report.wrong.push(what);
    }

    /// Waits, and samples the gateway's memory meanwhile.
    fn pause(&mut self, time: Duration) {
        let until = Instant::now() + time;
        loop {
            if let Some(watch) = &mut self.watch {
                watch.look();
            }
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return;
            }
            std::thread::sleep(rest.min(Duration::from_millis(200)));
        }
    }
}

/// A configuration with the mock as an upstream of each dialect, and an alias that contains its
/// generation.
fn configuration(mock: SocketAddr, generation: u64) -> String {
    let settings = format!("first_byte = \"1s\"\nidle = \"1s\"\nretries = {}", generation % 2);
    let url = format!("http://{mock}");
    let upstreams = Dialect::ALL.map(|own| upstream_table(own.id(), own.id(), &url, &settings));
    format!(
        "{}[models]\n\"generation-{generation}\" = [\"openai-chat/mock\"]\n\
         [tools]\nroot = \"work\"\nallow = [\"write_file\", \"git_commit\"]\n\
         [responses]\nmax_bytes = \"8MB\"\n[losses]\nmax_entries = 1000\n{}",
        upstreams.concat(),
        plan::SETTINGS
    )
}
