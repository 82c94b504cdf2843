//! The processes of a measurement: mock upstream, bare proxy, gateway.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Child, Cores, Serving};
use crate::failure::{Failure, Outcome};

/// The cores, the folder and the gateway of a measurement.
pub(crate) struct Site {
    cores: Cores,
    folder: PathBuf,
    program: PathBuf,
}

impl Site {
    /// Creates a folder below `target`, and assigns the cores.
    pub(crate) fn new(name: &str) -> Outcome<Site> {
        super::allow_many_files();
        let cores = Cores::find();
        cores.enter_others();
        let own = std::env::current_exe()?;
        let release = own.parent().unwrap_or(Path::new("."));
        let folder = release.join(format!("{name}-data"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Site { cores, folder, program: own.with_file_name(PROGRAM) })
    }

    /// A folder and another build of the gateway on the same cores.
    pub(crate) fn other(&self, program: &Path) -> Outcome<Site> {
        let folder = self.folder.join("other");
        fs::create_dir(&folder)?;
        Ok(Site { cores: self.cores.clone(), folder, program: program.to_owned() })
    }

    /// The assignment of the cores.
    pub(crate) fn cores(&self) -> &Cores {
        &self.cores
    }

    /// The gateway's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("gateway.log")
    }

    /// The folder of the measurement.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the gateway's data.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The file of the gateway's ledger.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.data().join("ledger.sqlite")
    }

    /// Starts the bare proxy in front of an upstream.
    pub(crate) fn floor(&self, upstream: SocketAddr) -> Outcome<Serving> {
        self.cores.enter_measured();
        let started = Serving::part(&["floor", &upstream.to_string()]);
        self.cores.enter_others();
        started
    }

    /// A free address with a port below the ephemeral range, so that no outgoing connection takes
    /// it while the gateway is down.
    pub(crate) fn address() -> Outcome<SocketAddr> {
        let first = 20_000 + std::process::id() % 10_000;
        let mut addresses =
            (first..first + 1000).map(|port| SocketAddr::from(([127, 0, 0, 1], port as u16)));
        let free = addresses.find(|address| TcpListener::bind(address).is_ok());
        free.ok_or_else(|| Failure("no port is free".into()))
    }

    /// Writes the configuration of the gateway atomically.
    pub(crate) fn configure(&self, text: &str) -> Outcome {
        let half = self.folder.join("toolwright.toml.half");
        fs::write(&half, text)?;
        Ok(fs::rename(&half, self.folder.join("toolwright.toml"))?)
    }

    /// The command of the gateway.
    pub(crate) fn toolwright(&self) -> Command {
        Command::new(&self.program)
    }

    /// Starts the configured gateway, with additional environment variables.
    pub(crate) fn start(
        &self,
        address: SocketAddr,
        environment: &[(&str, OsString)],
    ) -> Outcome<Child> {
        let log = fs::File::options().create(true).append(true).open(self.log())?;
        let mut command = self.toolwright();
        command.arg("serve").arg("--config").arg(self.folder.join("toolwright.toml"));
        command.arg("--data").arg(self.data()).arg("--listen").arg(address.to_string());
        command.env(KEY, "sk-bench").envs(environment.iter().cloned());
        command.stdout(log.try_clone()?).stderr(log);
        self.cores.enter_measured();
        let started = Child::start(&mut command);
        self.cores.enter_others();
        started
    }

    /// Starts the gateway with the mock as its two upstreams, `oa` and `an`, and waits until it
    /// serves. `settings` are additional lines for each upstream.
    pub(crate) fn gateway(&self, upstream: SocketAddr, settings: &str) -> Outcome<Serving> {
        let settings = format!("concurrency = 4096\n{settings}");
        let oa = upstream_table("oa", "openai-chat", &format!("http://{upstream}/v1"), &settings);
        let an = upstream_table("an", "anthropic", &format!("http://{upstream}"), &settings);
        self.configure(&(oa + &an))?;
        self.serve()
    }

    /// Starts the configured gateway, and waits until it serves.
    pub(crate) fn serve(&self) -> Outcome<Serving> {
        let address = Site::address()?;
        let mut child = self.start(address, &[])?;
        let begun = Instant::now();
        while get(address, "/healthz").is_err() {
            if child.ended().is_some() || begun.elapsed() > Duration::from_secs(20) {
                let log = fs::read_to_string(self.log()).unwrap_or_default();
                return Err(Failure(format!("the gateway does not serve:\n{log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Serving { child, address })
    }
}

/// The gateway, which is built beside this program.
const PROGRAM: &str = "toolwright";

/// The environment variable with the credential of every upstream.
const KEY: &str = "TOOLWRIGHT_BENCH_KEY";

/// The table of an upstream in the gateway's configuration.
pub(crate) fn upstream_table(name: &str, dialect: &str, url: &str, settings: &str) -> String {
    format!(
        "[upstreams.{name}]\ndialect = \"{dialect}\"\nbase_url = \"{url}\"\n\
         key = \"env:{KEY}\"\n{settings}\n"
    )
}

/// The table of an MCP server in the gateway's configuration.
pub(crate) fn mcp_table(name: &str, url: &str) -> String {
    format!("\n[mcp.{name}]\nurl = \"{url}\"\n")
}

/// The body of one of the gateway's own endpoints, if the status is 200.
pub(crate) fn get(address: SocketAddr, path: &str) -> Outcome<String> {
    match page(address, path)? {
        (200, body) => Ok(body),
        (status, _) => Err(Failure(format!("{path}: {status}"))),
    }
}

/// The status and the body of one of the gateway's own endpoints.
pub(crate) fn page(address: SocketAddr, path: &str) -> Outcome<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let no_reply = || Failure(format!("{path}: {}", reply.lines().next().unwrap_or("no reply")));
    let (head, body) = reply.split_once("\r\n\r\n").ok_or_else(no_reply)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or_else(no_reply)?, body.to_owned()))
}
