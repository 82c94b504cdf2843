//! The gateway as users run it: the binary as a process, with a configuration in a temporary
//! folder, upstreams that replay recorded bytes, and a client that speaks plain HTTP.
//!
//! Nothing here uses the project's encoders, so that their errors are visible.

pub mod client;
pub mod upstream;
pub mod vendor;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use toolwright_core::Json;
use toolwright_runtime::ledger::{ExchangeEntry, Kind, Query, SqliteLedger};

pub use client::{Answer, Asking};
pub use upstream::{Received, Reply, Upstream};

/// A timeout that nothing here reaches unless it hangs.
pub const HANG: Duration = Duration::from_secs(30);

/// Listens on a free loopback port.
const LOOPBACK: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// The default data folder, in the folder in which a gateway starts.
pub const DATA: &str = ".toolwright";

/// The key of the upstreams in these tests.
pub const UPSTREAM_KEY: &str = "sk-upstream-secret";

/// A gateway process in a folder of its own, with the default data folder. It is killed when the test ends.
pub struct Gateway {
    child: Child,
    /// The address that it listens on
    pub address: SocketAddr,
    folder: TempDir,
    log: Arc<Mutex<String>>,
}

impl Gateway {
    /// Starts a gateway with a configuration. Its environment contains only `UPSTREAM_KEY` and
    /// `PATH`.
    pub fn start(config: &str) -> Gateway {
        Gateway::start_in(tempfile::tempdir().unwrap(), config, &LOOPBACK)
    }

    /// Starts a gateway in a prepared folder.
    pub fn start_with(folder: TempDir, config: &str) -> Gateway {
        Gateway::start_in(folder, config, &LOOPBACK)
    }

    /// Starts a gateway that listens on the configured address.
    pub fn start_as_configured(config: &str) -> Gateway {
        Gateway::start_in(tempfile::tempdir().unwrap(), config, &[])
    }

    /// Starts a gateway with additional arguments.
    pub fn start_with_arguments(config: &str, arguments: &[&str]) -> Gateway {
        let arguments = [&LOOPBACK, arguments].concat();
        Gateway::start_in(tempfile::tempdir().unwrap(), config, &arguments)
    }

    /// Stops it gracefully, and starts it again on the same data.
    pub fn restart(self, config: &str) -> Gateway {
        Gateway::start_in(self.stop(), config, &LOOPBACK)
    }

    /// Stops it gracefully, and returns its folder.
    pub fn stop(mut self) -> TempDir {
        self.signal("TERM");
        self.child.wait().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    /// Kills it, and starts it again on the same data.
    pub fn crash(self, config: &str) -> Gateway {
        self.crash_with(config, |_| {})
    }

    /// Like [`Gateway::crash`], with a change to its data in between.
    pub fn crash_with(mut self, config: &str, meanwhile: impl FnOnce(&Path)) -> Gateway {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        meanwhile(&self.data());
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Gateway::start_in(folder, config, &LOOPBACK)
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join(DATA)
    }

    /// Starts a gateway with the environment of this process, and a umask that takes no permission away.
    pub fn start_by_hand(folder: TempDir, config: &str) -> Gateway {
        Gateway::start_by(by_hand(folder.path()), folder, config, &LOOPBACK)
    }

    /// Starts a gateway whose data are on a tmpfs of `kilobytes` KiB, mounted in a user namespace.
    /// The file system is visible below [`Gateway::root`].
    pub fn start_on_disk(kilobytes: usize) -> Gateway {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(DATA);
        std::fs::create_dir(&data).unwrap();
        let script =
            format!("mount -t tmpfs -o size={kilobytes}k tmpfs {} && exec \"$@\"", data.display());
        let mut command = Command::new("/usr/bin/env");
        command.args(["unshare", "-rm", "sh", "-c", &script, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_toolwright")).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        Gateway::start_by(command, folder, "", &LOOPBACK)
    }

    /// The file systems as the process sees them.
    pub fn root(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.id()))
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Starts a gateway in a folder, with the programs in `bin` there.
    fn start_in(folder: TempDir, config: &str, arguments: &[&str]) -> Gateway {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
        let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
        command.env_clear().env("PATH", path);
        Gateway::start_by(command, folder, config, arguments)
    }

    fn start_by(
        mut command: Command,
        folder: TempDir,
        config: &str,
        arguments: &[&str],
    ) -> Gateway {
        std::fs::write(folder.path().join("toolwright.toml"), config).unwrap();
        let mut child = command
            .current_dir(folder.path())
            .arg("serve")
            .args(arguments)
            .env("UPSTREAM_KEY", UPSTREAM_KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        // Warnings may precede the line with the address.
        let (mut early, mut address) = (String::new(), None);
        while address.is_none() {
            let mut line = String::new();
            if stderr.read_line(&mut line).unwrap() == 0 {
                break;
            }
            let rest = line.split_once("http://").map(|(_, rest)| rest);
            address = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            if address.is_none() {
                early += &line;
            }
        }
        let log = Arc::new(Mutex::new(early));
        let lines = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut log = lines.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let Some(address) = address else {
            child.wait().unwrap();
            panic!("does not start: {}", log.lock().unwrap());
        };
        Gateway { child, address, folder, log }
    }

    /// Posts a body and returns the complete reply.
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.ask("POST", path, headers, body).answer()
    }

    /// Posts to a path with default headers.
    pub fn ask_json(&self, path: &str, body: &str) -> Answer {
        self.post(path, &[], body.as_bytes())
    }

    /// Gets a path.
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers, b"").answer()
    }

    /// Sends a request on a new connection; the caller reads the reply.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Asking {
        Asking::send(self.address, method, path, headers, body)
    }

    /// A file beside its configuration.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The log so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The number of open files and sockets.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// The peak memory in bytes.
    pub fn peak_memory(&self) -> usize {
        self.memory("VmHWM:")
    }

    /// The memory of the pages of its program, which are many before it is optimized.
    pub fn program_memory(&self) -> usize {
        self.memory("RssFile:")
    }

    fn memory(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    /// Replaces the configuration atomically, and signals a reload.
    pub fn reload(&self, config: &str) {
        let half = self.folder.path().join("half");
        std::fs::write(&half, config).unwrap();
        std::fs::rename(&half, self.folder.path().join("toolwright.toml")).unwrap();
        self.signal("HUP");
    }

    /// Stops it gracefully, and returns the exchanges in its ledger, in order.
    pub fn end(mut self) -> Vec<ExchangeEntry> {
        self.signal("TERM");
        self.child.wait().unwrap();
        let ledger = SqliteLedger::open(self.data().join("ledger.sqlite")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let query = Query::new().with_kind(Kind::Exchange);
        let mut entries = runtime.block_on(ledger.entries(&query)).unwrap();
        entries.sort_by_key(|found| found.sequence);
        entries.iter().map(|found| found.entry.as_exchange().unwrap().clone()).collect()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have exited already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
        if std::thread::panicking() {
            // The log may explain why the test fails.
            let _told = writeln!(std::io::stderr(), "the gateway's log:\n{}", self.log());
        }
    }
}

/// The command `toolwright` in a folder, with a umask that takes no permission away.
pub fn by_hand(folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_toolwright")]);
    command.current_dir(folder);
    command
}

/// Polls until a value is available, or panics after [`HANG`].
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < HANG, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A configuration table for an upstream in a dialect, with [`UPSTREAM_KEY`].
pub fn table(name: &str, dialect: &str, upstream: &Upstream) -> String {
    let url = upstream.url();
    format!(
        "[upstreams.{name}]\ndialect = \"{dialect}\"\nbase_url = \"{url}\"\n\
         key = \"env:UPSTREAM_KEY\"\nretries = 0\n"
    )
}

/// A file of the repository's fixtures.
pub fn fixture(relative: &str) -> Vec<u8> {
    let path = crate::run::fixture(relative);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The value at a pointer, or `null`.
pub fn at(document: &Json, pointer: &str) -> Json {
    let mut found = document.clone();
    for step in pointer.split('/').skip(1) {
        let next = match &found {
            Json::Object(object) => object.get(step).cloned(),
            Json::Array(items) => step.parse::<usize>().ok().and_then(|at| items.get(at).cloned()),
            _ => None,
        };
        found = next.unwrap_or(Json::Null);
    }
    found
}

/// The text at a pointer of a document.
pub fn text_at(document: &Json, pointer: &str) -> String {
    match at(document, pointer) {
        Json::String(text) => text.into_string(),
        other => panic!("no text at {pointer}: {} in {}", other.compact(), document.compact()),
    }
}

/// The items at a pointer of a document.
pub fn items_at(document: &Json, pointer: &str) -> Vec<Json> {
    match at(document, pointer) {
        Json::Array(items) => items,
        other => panic!("no list at {pointer}: {} in {}", other.compact(), document.compact()),
    }
}
