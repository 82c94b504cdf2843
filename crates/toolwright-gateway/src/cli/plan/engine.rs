//! The engine of a run: that of this process, or a Temporal server.

#[cfg(feature = "temporal")]
use std::sync::Arc;

use clap::{Args, ValueEnum};
#[cfg(feature = "temporal")]
use toolwright::SecretString;
use toolwright::plan::Engine;
#[cfg(feature = "temporal")]
use toolwright::temporal::{Address, GatewayHandles, TemporalEngine};

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
    /// Pass large values by handles of this gateway. Its key is read from `TOOLWRIGHT_KEY`
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
}

impl EngineOptions {
    /// Returns the arguments of other commands about a run, with a space in front.
    pub(super) fn flags(&self) -> String {
        match self.engine {
            EngineName::Local => String::new(),
            EngineName::Temporal => {
                let TemporalOptions { address, namespace, gateway } = &self.temporal;
                let engine = format!(" --engine temporal --address {address}");
                let namespace =
                    (namespace != "default").then(|| format!(" --namespace {namespace}"));
                let gateway = gateway.as_ref().map(|url| format!(" --gateway {url}"));
                [Some(engine), namespace, gateway].into_iter().flatten().collect()
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
        let mut engine = TemporalEngine::new(self.temporal.address(), queues);
        if let Some(handles) = self.temporal.handles()? {
            engine = engine.with_handles(handles);
        }
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
        let TemporalOptions { address, namespace, gateway } = temporal;
        let queues = task_queue.iter().chain(gateway).map(String::as_str).collect::<Vec<&str>>();
        let queues = queues.join(", ");
        let message =
            format!("this build cannot reach Temporal at {address} ({namespace}, {queues})");
        let hint = "install it with cargo install toolwright-gateway --features temporal";
        Err(Failure::usage(message).with_hint(hint))
    }
}

#[cfg(feature = "temporal")]
impl TemporalOptions {
    /// Returns the handles of the gateway, if there is one.
    pub(super) fn handles(&self) -> Result<Option<Arc<GatewayHandles>>, Failure> {
        let Some(url) = &self.gateway else { return Ok(None) };
        let key = std::env::var("TOOLWRIGHT_KEY").ok().filter(|key| !key.is_empty());
        let handles = GatewayHandles::new(url, key.map(SecretString::new));
        Ok(Some(Arc::new(handles.map_err(|error| Failure::usage(error.to_string()))?)))
    }

    /// Returns the address of the server.
    pub(super) fn address(&self) -> Address {
        let address = Address::new(self.address.as_str());
        let address = address.with_namespace(self.namespace.as_str());
        match std::env::var("TEMPORAL_API_KEY") {
            Ok(key) if !key.is_empty() => address.with_api_key(key),
            _ => address,
        }
    }
}
