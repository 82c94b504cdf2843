//! `toolwright worker`: tools for plans on a Temporal server.

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use toolwright_gateway::terminal::counted;
use toolwright_plan::temporal::TemporalWorker;

use super::engine::{TASK_QUEUE, TemporalOptions, address};
use super::tools::PlanToolOptions;
use crate::exit::{self, Failure};
use crate::tools;

/// Arguments of `worker`.
#[derive(Debug, Args)]
#[command(after_help = "\
The tools are the built-in tools, those of the tables [mcp.NAME] of the configuration, and the functions of
the catalog. Calls of built-in tools that change something wait for approval, unless --yes is passed or
`allow` in [tools] lists the tool. Tools of MCP servers and functions of your own prefabs run without approval.

Examples:
  toolwright worker --address 127.0.0.1:7233
  toolwright worker --address temporal.example:7233 --task-queue gpu --config gpu.toml
  toolwright plan run plan.json --engine temporal --address 127.0.0.1:7233")]
pub(crate) struct Worker {
    /// Offer the tools on this task queue
    #[arg(long, value_name = "NAME", default_value = TASK_QUEUE)]
    task_queue: String,
    /// Make calls of built-in tools that change something without approval
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    temporal: TemporalOptions,
    #[command(flatten)]
    tools: PlanToolOptions,
}

impl Worker {
    /// Works until SIGTERM or SIGINT, and then until the calls in progress have ended.
    #[allow(clippy::print_stderr)]
    pub(crate) fn run(self) -> Result<(), Failure> {
        tools::block_on(async {
            let toolbox = self.tools.toolbox(self.yes).await?;
            let count = counted(toolbox.tools().len(), "tool", "tools");
            let queue = self.task_queue;
            let ready = format!("{count} on the task queue {queue}");
            let server = self.temporal.server(&self.tools)?.unwrap_or_default();
            let mut worker = TemporalWorker::new(address(&server), queue, toolbox);
            if let Some(handles) = self.temporal.handles()? {
                worker = worker.with_handles(handles);
            }
            let mut terminate = signal(SignalKind::terminate()).map_err(exit::io("signals"))?;
            let mut interrupt = signal(SignalKind::interrupt()).map_err(exit::io("signals"))?;
            let stopped = async {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            };
            let ended = worker.run(|| eprintln!("{ready}"), stopped).await;
            ended.map_err(exit::failed)
        })?
    }
}
