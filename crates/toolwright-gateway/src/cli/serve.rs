//! `toolwright serve`: the gateway, from the first line on the terminal to the last request.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use http::StatusCode;

use super::exit::{self, Failure};
use super::tools;
use crate::http::{
    Arrival, Ended, Health, Limits, Renewal, Reply, ReplyBody, Server, Service, Signals,
};

/// What `serve` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
SIGTERM or SIGINT stops accepting and finishes what is under way; a second one ends at once. SIGHUP
reloads the configuration and the certificate: no request is dropped, and a bad file changes nothing.

Examples:
  toolwright serve
  toolwright serve --listen 127.0.0.1:0")]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes any free one, and tells which
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    listen: String,
}

impl Serve {
    /// Serves until it is told to stop.
    pub(crate) fn run(self) -> Result<(), Failure> {
        tools::runtime()?.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), Failure> {
        let signals = Signals::new().map_err(exit::io("signals"))?;
        let server = Server::bind(&self.listen)
            .await
            .map_err(|error| Failure::failed(error.to_string()).with_hint(error.hint()))?;
        greet(server.address())?;
        let reload = || Ok(Renewal { limits: Limits::default(), tls: None });
        tokio::spawn(signals.obey(server.control(), reload));
        let service = Arc::new(Bare { health: server.health() });
        match server.run(service).await {
            Ended::Drained => Ok(()),
            Ended::Cut(left) => Err(Failure::failed(format!("{left} connections were cut"))),
        }
    }
}

/// Tells who started it where it is and how to try it.
fn greet(address: SocketAddr) -> Result<(), Failure> {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "listening on http://{address}").map_err(exit::io("stderr"))
}

/// Tells how it is, and knows nothing else.
struct Bare {
    health: Health,
}

impl Service for Bare {
    async fn answer(&self, arrival: Arrival) -> Reply {
        match arrival.uri.path() {
            "/healthz" => self.health.healthz(),
            "/readyz" => self.health.readyz(),
            _ => {
                let mut reply = Reply::new(ReplyBody::empty());
                *reply.status_mut() = StatusCode::NOT_FOUND;
                reply
            }
        }
    }
}
