//! `toolwright serve`: the gateway, from the first line on the terminal to the last request.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use tokio::runtime;

use super::exit::{self, Failure};
use crate::config::{Config, ConfigError, listen};
use crate::gateway::Gateway;
use crate::http::{Control, Ended, Reload, Renewal, Router, Server, Signals, Tls};
use crate::telemetry::{Telemetry, log};

/// What `serve` takes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Everything is optional: without a configuration it listens on 127.0.0.1:8000, reaches the vendors
whose usual key variables are set, and answers the model offline/rules by itself.

SIGTERM or SIGINT stops accepting and finishes what is under way; a second one ends at once. SIGHUP
reloads the configuration and the certificate: no request is dropped, and a bad file changes nothing.

Examples:
  toolwright serve
  toolwright serve --config gateway.toml
  toolwright serve --listen 0.0.0.0:8000 --open")]
pub(crate) struct Serve {
    /// The configuration; without it toolwright.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen, 127.0.0.1:8000 unless configured; port 0 takes any free one, and tells which
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// The folder for what must outlive the process
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Let everybody in, where it can be reached from other machines and there are no keys
    #[arg(long)]
    open: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    listen::parse(text).map_err(|error| match error.hint() {
        Some(hint) => format!("{}; {hint}", error.what()),
        None => error.what().to_owned(),
    })
}

impl Serve {
    /// Serves until it is told to stop.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let config = self.load()?;
        config.check_listen(config.listen)?;
        let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
        let telemetry = Telemetry::open(&config).map_err(|error| failed(&error))?;
        let started = log::start(&config.log, telemetry.metrics());
        let (_lines, level) = started.map_err(|error| failed(&error))?;
        let gateway = Gateway::new(&config, &environment, telemetry)?.with_data(&config);
        let gateway = Arc::new(gateway.map_err(|error| failed(&error))?);
        let runtime = runtime::Builder::new_multi_thread().enable_all().build();
        let ended =
            runtime.map_err(exit::io("runtime"))?.block_on(self.serve(&config, gateway, level))?;
        match ended {
            Ended::Drained => Ok(()),
            Ended::Cut(1) => Err(Failure::failed("stopped before a connection had ended")),
            Ended::Cut(left) => {
                Err(Failure::failed(format!("stopped before {left} connections had ended")))
            }
        }
    }

    /// The configuration, with what the command line says.
    fn load(&self) -> Result<Config, ConfigError> {
        let mut config = Config::load(self.config.as_deref(), &environment)?;
        config.listen = self.listen.unwrap_or(config.listen);
        if let Some(data) = &self.data {
            config.data.clone_from(data);
        }
        config.open |= self.open;
        Ok(config)
    }

    async fn serve(
        self,
        config: &Config,
        gateway: Arc<Gateway>,
        level: log::Level,
    ) -> Result<Ended, Failure> {
        let signals = Signals::new().map_err(exit::io("signals"))?;
        #[cfg(feature = "otel")]
        export(&gateway.telemetry)?;
        let loaded = gateway.keep.load(Instant::now()).await;
        loaded.map_err(|error| Failure::failed(error.to_string()))?;
        tokio::spawn(gateway.telemetry.records().clone().watch());
        let reported = gateway.runs.report_unfinished().await;
        reported.map_err(|error| Failure::failed(error.to_string()))?;
        tokio::spawn(Arc::clone(&gateway.runs).prune());
        let (telemetry, responses) = (gateway.telemetry.clone(), Arc::clone(&gateway.responses));
        let renewal = renewal(config).map_err(Failure::failed)?;
        let server = Server::bind(&config.listen.to_string(), config.limits.connections).await;
        let server =
            server.map_err(|error| Failure::failed(error.to_string()).with_hint(error.hint()))?;
        let control = server.control();
        control.renew(renewal);
        let upstreams = gateway.live().routes.count();
        greet(config, upstreams, server.address()).map_err(exit::io("stderr"))?;
        let (configured, bound) = (config.listen, server.address());
        let shared = Arc::clone(&gateway);
        let reloading = Reloading { serve: self, configured, bound, gateway: shared, level };
        tokio::spawn(signals.obey(Control::clone(&control), reloading));
        let service = Arc::new(Router::new(gateway, server.health(), bound));
        let ended = server.run(service).await;
        telemetry.flush().await.map_err(|error| Failure::failed(error.to_string()))?;
        responses.flush().await.map_err(|error| Failure::failed(error.to_string()))?;
        Ok(ended)
    }
}

/// Sends traces, if the environment names a collector.
#[cfg(feature = "otel")]
fn export(telemetry: &Telemetry) -> Result<(), Failure> {
    use crate::telemetry::otel::{Exporter, Settings};
    let settings = Settings::of(&environment);
    if let Some(settings) = settings.map_err(|error| Failure::failed(error.to_string()))? {
        let exporter = Exporter::start(settings, telemetry.metrics());
        telemetry.export(exporter.map_err(|error| Failure::failed(error.to_string()))?);
    }
    Ok(())
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What the port takes from a configuration.
fn renewal(config: &Config) -> Result<Renewal, String> {
    let tls = config.tls.as_ref().map(|files| Tls::load(&files.cert, &files.key)).transpose();
    Ok(Renewal { limits: config.limits.clone(), tls: tls.map_err(|error| error.to_string())? })
}

/// Reads the configuration again, all of it before any of it counts.
struct Reloading {
    serve: Serve,
    /// The address that the configuration named at the start
    configured: SocketAddr,
    /// The address that is listened at, whatever the configuration says now
    bound: SocketAddr,
    gateway: Arc<Gateway>,
    level: log::Level,
}

impl Reload for Reloading {
    fn reload(&self) -> Result<Renewal, String> {
        let told = |error: ConfigError| match error.hint() {
            Some(hint) => format!("{error} ({hint})"),
            None => error.to_string(),
        };
        let config = self.serve.load().map_err(told)?;
        config.check_listen(self.bound).map_err(told)?;
        let renewal = renewal(&config)?;
        self.gateway.reload(&config, &environment).map_err(told)?;
        self.level.set(config.log.level);
        if config.listen != self.configured {
            tracing::warn!("listen has changed: a restart is needed to listen there");
        }
        Ok(renewal)
    }
}

/// Tells who started it where it is, who answers, and how to try it.
fn greet(config: &Config, upstreams: usize, address: SocketAddr) -> io::Result<()> {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let insecure = if config.tls.is_some() { " -k" } else { "" };
    let upstreams = match upstreams {
        0 => "no upstreams: the model offline/rules answers".to_owned(),
        1 => "1 upstream, and the model offline/rules".to_owned(),
        count => format!("{count} upstreams, and the model offline/rules"),
    };
    // An address that means all of them is none that a client can use.
    let host = match address.ip() {
        ip if ip.is_unspecified() => format!("localhost:{}", address.port()),
        _ => address.to_string(),
    };
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "listening on {scheme}://{address} ({upstreams})")?;
    writeln!(
        stderr,
        "try: curl{insecure} {scheme}://{host}/v1/chat/completions -d '{{\"model\": \
         \"offline/rules\", \"messages\": [{{\"role\": \"user\", \"content\": \"hello\"}}]}}'"
    )
}
