//! The engine of a run: that of this process, or a Temporal server.

#[cfg(feature = "temporal")]
use std::sync::Arc;

use clap::{Args, ValueEnum};
use toolwright_gateway::plans::config::TemporalServer;
use toolwright_plan::Engine;
use toolwright_plan::journal::{PlanJournal, PlanJournalError, RunFilter, RunSummary};
#[cfg(feature = "temporal")]
use toolwright_plan::temporal::{Address, GatewayHandles, TemporalEngine};
#[cfg(feature = "temporal")]
use toolwright_transport::secret::SecretString;

use super::run::journal;
use super::tools::PlanToolOptions;
use crate::exit::Failure;

/// The command that builds Toolwright with Temporal.
#[cfg(not(feature = "temporal"))]
const BUILD: &str = "cargo install --path crates/toolwright-cli --features temporal";

/// The task queue of workers and runs that name none.
pub(super) const TASK_QUEUE: &str = "toolwright";

/// Arguments that select the engine.
#[derive(Debug, Args)]
pub(super) struct EngineOptions {
    /// Use the engine of this process, or a Temporal server [default: the one that has the run; local for a new run]
    #[arg(long, value_enum)]
    engine: Option<EngineName>,
    #[command(flatten)]
    temporal: TemporalOptions,
    /// Use the tools of the workers on these task queues. A tool is called on the first queue whose worker has it
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = TASK_QUEUE)]
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
    /// `TEMPORAL_API_KEY` [default: that of the configuration, or 127.0.0.1:7233]
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Use this namespace of the Temporal server [default: that of the configuration, or default]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Pass large values by handles of this gateway. Its key is read from `TOOLWRIGHT_KEY`
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
}

impl EngineOptions {
    /// Returns the arguments of other commands about a run, with a space in front.
    pub(super) fn flags(&self) -> String {
        let TemporalOptions { address, namespace, gateway } = &self.temporal;
        let queues = self.task_queue.join(",");
        let flags = [
            ("engine", (self.engine == Some(EngineName::Temporal)).then_some("temporal")),
            ("gateway", gateway.as_deref()),
            ("address", address.as_deref()),
            ("namespace", namespace.as_deref()),
            ("task-queue", Some(&*queues).filter(|queues| *queues != TASK_QUEUE)),
        ];
        let quoted = |value| shlex::try_quote(value).ok();
        let flag = |(name, value): (_, Option<_>)| Some(format!(" --{name} {}", quoted(value?)?));
        flags.into_iter().filter_map(flag).collect()
    }

    /// Returns the engine of a run, or of a new one, unless it is that of this process. A run is on the Temporal server
    /// if there is one and the data folder does not have the run.
    #[cfg_attr(not(feature = "temporal"), allow(unused_variables))]
    pub(super) async fn remote(
        &self,
        run: Option<&str>,
        parallel: Option<usize>,
        tools: &PlanToolOptions,
    ) -> Result<Option<Box<dyn Engine>>, Failure> {
        let server = self.temporal.server(tools)?;
        let is_remote = match (self.engine, run) {
            (Some(engine), _) => engine == EngineName::Temporal,
            (None, Some(run)) if server.is_some() => {
                let found = journal(tools)?.summary(run).await;
                matches!(found, Err(PlanJournalError::UnknownRun(_)))
            }
            (None, _) => false,
        };
        if !is_remote {
            return Ok(None);
        }
        let server = server.unwrap_or_default();
        #[cfg(not(feature = "temporal"))]
        return Err(not_built());
        #[cfg(feature = "temporal")]
        {
            let mut engine = TemporalEngine::new(address(&server), self.task_queue.iter().cloned());
            if let Some(handles) = self.temporal.handles()? {
                engine = engine.with_handles(handles);
            }
            if let Some(parallel) = parallel {
                engine = engine.with_parallel(parallel);
            }
            Ok(Some(Box::new(engine)))
        }
    }
}

impl TemporalOptions {
    /// Returns the server that the arguments or the configuration name.
    pub(super) fn server(
        &self,
        tools: &PlanToolOptions,
    ) -> Result<Option<TemporalServer>, Failure> {
        let TemporalOptions { address, namespace, .. } = self;
        let configured = tools.config.temporal()?;
        let is_named = configured.is_some() || address.is_some() || namespace.is_some();
        let server = configured.unwrap_or_default();
        Ok(is_named.then(|| TemporalServer {
            address: address.clone().unwrap_or(server.address),
            namespace: namespace.clone().unwrap_or(server.namespace),
        }))
    }

    /// Returns the runs of the server, if there is one.
    #[cfg_attr(not(feature = "temporal"), allow(unused_variables, clippy::unused_async))]
    pub(super) async fn runs(
        &self,
        tools: &PlanToolOptions,
        filter: &RunFilter,
    ) -> Result<Vec<RunSummary>, Failure> {
        let Some(server) = self.server(tools)? else { return Ok(Vec::new()) };
        #[cfg(not(feature = "temporal"))]
        return Err(not_built());
        #[cfg(feature = "temporal")]
        let listed = TemporalEngine::new(address(&server), [""; 0]).list(filter).await;
        #[cfg(feature = "temporal")]
        listed.map_err(|error| Failure::failed(error.to_string()))
    }

    /// Returns the handles of the gateway, if there is one.
    #[cfg(feature = "temporal")]
    pub(super) fn handles(&self) -> Result<Option<Arc<GatewayHandles>>, Failure> {
        let Some(url) = &self.gateway else { return Ok(None) };
        let key = std::env::var("TOOLWRIGHT_KEY").ok().filter(|key| !key.is_empty());
        let handles = GatewayHandles::new(url, key.map(SecretString::new));
        Ok(Some(Arc::new(handles.map_err(|error| Failure::usage(error.to_string()))?)))
    }
}

/// Returns the address of a server.
#[cfg(feature = "temporal")]
pub(super) fn address(server: &TemporalServer) -> Address {
    let address = Address::new(server.address.as_str());
    let address = address.with_namespace(server.namespace.as_str());
    match std::env::var("TEMPORAL_API_KEY") {
        Ok(key) if !key.is_empty() => address.with_api_key(key),
        _ => address,
    }
}

/// The failure of a command that needs Temporal, in a build without it.
#[cfg(not(feature = "temporal"))]
fn not_built() -> Failure {
    Failure::usage("this build does not have Temporal").with_hint(format!("build it: {BUILD}"))
}

/// Arguments of `worker`, which needs a build with Temporal.
#[cfg(not(feature = "temporal"))]
#[derive(Debug, Args)]
#[command(after_help = format!("This build does not have Temporal. Build it: {BUILD}"))]
pub(crate) struct Worker {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<String>,
}

#[cfg(not(feature = "temporal"))]
impl Worker {
    /// Refuses.
    pub(crate) fn run(self) -> Result<(), Failure> {
        drop(self);
        Err(not_built())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        engine: EngineOptions,
    }

    #[test]
    fn other_commands_about_a_run_have_its_arguments_quoted() {
        for (arguments, flags) in [
            (&["--task-queue", "toolwright"][..], ""),
            (
                &["--engine=temporal", "--task-queue", "gpu,my queue"],
                " --engine temporal --task-queue 'gpu,my queue'",
            ),
            (
                &["--address", "a:1", "--namespace", "it's", "--gateway", "https://g/?a&b"],
                r#" --gateway 'https://g/?a&b' --address a:1 --namespace "it's""#,
            ),
        ] {
            let command = Command::parse_from([&["plan"], arguments].concat());
            assert_eq!(command.engine.flags(), flags);
        }
    }
}
