//! `toolwright serve`: runs the gateway.

mod banner;
mod data;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tokio::runtime;
use toolwright_gateway::config::ConfigError;
use toolwright_gateway::http::{Ended, Reload, Renewal, Signals, address};
use toolwright_gateway::telemetry::config::LogFormat;
use toolwright_gateway::telemetry::{Telemetry, log};
use toolwright_gateway::{Config, Gateway, GatewayServer, ServeError};

use super::config::{ConfigOptions, environment};
use super::exit::{self, Failure, Result};

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Everything is optional. Without a configuration the gateway listens on 127.0.0.1:8000, reaches the
vendors whose usual key variables are set, and answers the model offline/rules itself.

SIGTERM or SIGINT stops accepting connections and finishes the requests in flight; a second signal
exits at once. SIGHUP reloads the configuration and the certificate without dropping a request; an
invalid file changes nothing.

Examples:
  toolwright serve
  toolwright serve --config gateway.toml --log full
  toolwright serve --listen 0.0.0.0:8000 --open")]
pub(crate) struct Serve {
    #[command(flatten)]
    config: ConfigOptions,
    /// Listen on this address; port 0 takes any free port, which is printed [default: 127.0.0.1:8000]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Accept requests from other machines without a key
    #[arg(long)]
    open: bool,
    /// Log exchanges in this format [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = log_format())]
    log: Option<LogFormat>,
}

fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    let format = |name, help| PossibleValue::new(name).help(help);
    let formats = [
        format("text", "A short line for each exchange"),
        format("full", "Every field of an exchange as `name=value`"),
        format("json", "Every field as a JSON document"),
    ];
    PossibleValuesParser::new(formats).map(|name| match name.as_str() {
        "full" => LogFormat::Full,
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    })
}

fn address(text: &str) -> Result<SocketAddr, String> {
    address::parse(text).map_err(|error| match error.hint() {
        Some(hint) => format!("{}; {hint}", error.what()),
        None => error.what().to_owned(),
    })
}

impl Serve {
    /// Serves until a signal stops the process.
    pub(crate) fn run(self) -> Result<()> {
        let config = self.load()?;
        config.check_listen(config.listen)?;
        // It is locked until the last request has ended.
        let _lock = data::open(&config.data)?;
        let telemetry = Telemetry::open(&config.data, &config.telemetry).map_err(exit::failed)?;
        let started = log::start(&config.telemetry.log, telemetry.metrics());
        let (_lines, level) = started.map_err(exit::failed)?;
        let gateway = Gateway::new(&config, &environment, telemetry)?.with_data(&config);
        let gateway = Arc::new(gateway.map_err(exit::failed)?);
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

    /// Loads the configuration and applies the arguments of the command line.
    fn load(&self) -> Result<Config, ConfigError> {
        let mut config = self.config.load()?;
        config.listen = self.listen.unwrap_or(config.listen);
        config.open |= self.open;
        config.telemetry.log.format = self.log.unwrap_or(config.telemetry.log.format);
        Ok(config)
    }

    async fn serve(
        self,
        config: &Config,
        gateway: Arc<Gateway>,
        level: log::Level,
    ) -> Result<Ended> {
        let signals = Signals::new().map_err(exit::io("signals"))?;
        #[cfg(feature = "otel")]
        export(&gateway.telemetry)?;
        let server = GatewayServer::bind(Arc::clone(&gateway), config).await.map_err(unserved)?;
        let bound = server.address();
        banner::write(&mut io::stderr().lock(), config, &gateway.live(), bound)
            .map_err(exit::io("stderr"))?;
        let reloading = Reloading { serve: self, configured: config.listen, bound, gateway, level };
        let obeying = tokio::spawn(signals.obey(server.control(), reloading));
        // A second signal does not wait.
        let impatient = async move { drop(obeying.await) };
        server.run(impatient).await.map_err(unserved)
    }
}

fn unserved(error: ServeError) -> Failure {
    let hint = match &error {
        ServeError::Listen(error) => Some(error.hint()),
        _ => None,
    };
    let failure = Failure::failed(error.to_string());
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Sends traces, if the environment names a collector.
#[cfg(feature = "otel")]
fn export(telemetry: &Telemetry) -> Result<()> {
    use toolwright_gateway::telemetry::otel::{Exporter, Settings};
    let settings = Settings::of(&environment);
    if let Some(settings) = settings.map_err(exit::failed)? {
        let exporter = Exporter::start(settings, telemetry.metrics());
        telemetry.export(exporter.map_err(exit::failed)?);
    }
    Ok(())
}

/// Reloads the configuration. It is applied only if all of it is valid.
struct Reloading {
    serve: Serve,
    /// The configured address at startup
    configured: SocketAddr,
    /// The bound address
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
        let renewal = config.renewal().map_err(|error| error.to_string())?;
        self.gateway.reload(&config, &environment).map_err(told)?;
        self.level.set(config.telemetry.log.level);
        if config.listen != self.configured {
            tracing::warn!("listen has changed: a restart is needed to listen there");
        }
        Ok(renewal)
    }
}
