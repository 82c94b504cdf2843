//! The engine of a run: that of this process, or a Temporal server.

use clap::{Args, ValueEnum};
use toolwright::plan::Engine;

use crate::cli::exit::Failure;

/// Arguments that select the engine.
#[derive(Debug, Args)]
pub(super) struct EngineOptions {
    /// Run the plan in this process, or on a Temporal server
    #[arg(long, value_enum, default_value = "local")]
    engine: EngineName,
    #[command(flatten)]
    temporal: TemporalOptions,
    /// Use the tools of the workers on these task queues. A tool is called on the first queue whose worker has it
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "toolwright")]
    task_queue: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    Local,
    Temporal,
}

/// Arguments for the connection to a Temporal server.
#[derive(Debug, Args)]
pub(super) struct TemporalOptions {
    /// Use the Temporal server at this address; https:// in front means TLS. An API key is read from
    /// `TEMPORAL_API_KEY`
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7233")]
    address: String,
    /// Use this namespace of the Temporal server
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
}

impl EngineOptions {
    /// Returns the arguments of other commands about a run, with a space in front.
    pub(super) fn flags(&self) -> String {
        match self.engine {
            EngineName::Local => String::new(),
            EngineName::Temporal => {
                let TemporalOptions { address, namespace } = &self.temporal;
                let namespace = match namespace.as_str() {
                    "default" => String::new(),
                    name => format!(" --namespace {name}"),
                };
                format!(" --engine temporal --address {address}{namespace}")
            }
        }
    }

    /// Refuses a command that only the engine of this process has.
    pub(super) fn require_local(&self, command: &str) -> Result<(), Failure> {
        match self.engine {
            EngineName::Local => Ok(()),
            EngineName::Temporal => {
                Err(Failure::usage(format!("plan {command} needs --engine local")))
            }
        }
    }

    /// Returns the engine, unless it is that of this process.
    #[cfg(feature = "temporal")]
    pub(super) fn remote(
        &self,
        parallel: Option<usize>,
    ) -> Result<Option<Box<dyn Engine>>, Failure> {
        if self.engine == EngineName::Local {
            return Ok(None);
        }
        let queues = self.task_queue.iter().cloned();
        let mut engine = toolwright::temporal::TemporalEngine::new(self.temporal.address(), queues);
        if let Some(parallel) = parallel {
            engine = engine.with_parallel(parallel);
        }
        Ok(Some(Box::new(engine)))
    }

    /// Refuses an engine that this build does not have.
    #[cfg(not(feature = "temporal"))]
    pub(super) fn remote(&self, _: Option<usize>) -> Result<Option<Box<dyn Engine>>, Failure> {
        let EngineOptions { engine, task_queue, temporal } = self;
        if *engine == EngineName::Local {
            return Ok(None);
        }
        let TemporalOptions { address, namespace } = temporal;
        let queues = task_queue.join(",");
        let message =
            format!("this build cannot reach Temporal at {address} ({namespace}, {queues})");
        let hint = "install it with cargo install toolwright-gateway --features temporal";
        Err(Failure::usage(message).with_hint(hint))
    }
}

#[cfg(feature = "temporal")]
impl TemporalOptions {
    /// Returns the address of the server.
    pub(super) fn address(&self) -> toolwright::temporal::Address {
        let address = toolwright::temporal::Address::new(self.address.as_str());
        let address = address.with_namespace(self.namespace.as_str());
        match std::env::var("TEMPORAL_API_KEY") {
            Ok(key) if !key.is_empty() => address.with_api_key(key),
            _ => address,
        }
    }
}
