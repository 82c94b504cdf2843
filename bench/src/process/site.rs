//! Everything that runs for a measurement: mock upstream, bare proxy, gateway, each a process.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Child, Cores};
use crate::failure::{Failure, Outcome};

/// A process and where it serves.
pub(crate) struct Serving {
    /// The process
    pub(crate) child: Child,
    /// Its address
    pub(crate) address: SocketAddr,
}

impl Serving {
    /// Starts the mock at an address; port 0 takes any.
    pub(crate) fn mock(address: &str) -> Outcome<Serving> {
        let (child, address) = Child::part(&["mock", address])?;
        Ok(Serving { child, address })
    }
}

/// Where a measurement runs: which cores, which folder.
pub(crate) struct Site {
    cores: Cores,
    folder: PathBuf,
}

impl Site {
    /// A folder of its own below `target`, and the cores.
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
        Ok(Site { cores, folder })
    }

    /// How the cores are split.
    pub(crate) fn cores(&self) -> &Cores {
        &self.cores
    }

    /// What the gateway printed.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("gateway.log")
    }

    /// The file of the gateway's ledger.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.join("data/ledger.sqlite")
    }

    /// Starts the bare proxy before an upstream.
    pub(crate) fn floor(&self, upstream: SocketAddr) -> Outcome<Serving> {
        self.cores.enter_measured();
        let started = Child::part(&["floor", &upstream.to_string()]);
        self.cores.enter_others();
        let (child, address) = started?;
        Ok(Serving { child, address })
    }

    /// Starts the gateway with the mock as its two upstreams, `oa` and `an`, and waits until it
    /// serves. `settings` are further lines for each upstream.
    pub(crate) fn gateway(&self, upstream: SocketAddr, settings: &str) -> Outcome<Serving> {
        let own = std::env::current_exe()?;
        let program = own.with_file_name("toolwright");
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let config = self.folder.join("toolwright.toml");
        let data = self.folder.join("data");
        fs::write(&config, configuration(upstream, settings))?;
        let log = fs::File::create(self.log())?;
        let mut command = Command::new(&program);
        command.arg("serve").arg("--config").arg(&config).arg("--data").arg(&data);
        command.arg("--listen").arg(address.to_string());
        command.env("TOOLWRIGHT_BENCH_KEY", "sk-bench").stdout(log.try_clone()?).stderr(log);
        self.cores.enter_measured();
        let started = Child::start(&mut command);
        self.cores.enter_others();
        let mut child = started?;
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

fn configuration(upstream: SocketAddr, settings: &str) -> String {
    let table = |name: &str, dialect: &str, path: &str| {
        format!(
            "[upstreams.{name}]\ndialect = \"{dialect}\"\nbase_url = \"http://{upstream}{path}\"\n\
             key = \"env:TOOLWRIGHT_BENCH_KEY\"\nconcurrency = 4096\n{settings}\n"
        )
    };
    table("oa", "openai-chat", "/v1") + &table("an", "anthropic", "")
}

/// The body of a plain page of the gateway's own.
pub(crate) fn get(address: SocketAddr, path: &str) -> Outcome<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    match reply.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        _ => Err(Failure(format!("{path}: {}", reply.lines().next().unwrap_or("no reply")))),
    }
}
