//! The command line. JSON on stdout, messages on stderr; exit 0 fine, 1 failed, 2 wrong usage,
//! 3 refused by `--strict`. The crate promises no stability as a library; the command does.

mod approvals;
mod args;
mod ask;
mod call;
mod catalog;
mod config;
mod config_text;
mod exit;
mod form;
mod input;
mod key;
mod ledger;
mod mcp;
mod plan;
mod serve;
mod tool;
mod tools;
mod translate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Define a tool once, call it from any model, keep the data out of the prompt.
#[derive(Debug, Parser)]
#[command(name = "toolwright", version, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 refused by --strict.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show and answer calls of the gateway that wait for approval
    Approvals(approvals::Approvals),
    /// Parse, repair, coerce, complete and check the arguments of a call
    Args(args::Args),
    /// Ask a model with tools, and run its calls until it answers
    Ask(ask::Ask),
    /// Call one tool
    Call(call::Call),
    /// Publish, find and show prefabs: packages of functions for agents
    Catalog(catalog::Catalog),
    /// Create a key for a client of the gateway
    Key(key::Key),
    /// Read, sum up, export and verify the ledger of exchanges and calls
    Ledger(ledger::Ledger),
    /// Serve tools on stdin and stdout as an MCP server, and test configured MCP servers
    Mcp(mcp::Mcp),
    /// Check, run and edit plans (graphs of tool calls)
    Plan(plan::Plan),
    /// Run the gateway
    Serve(serve::Serve),
    /// Translate tools, a request, a response or a stream from one dialect to another
    Translate(translate::Translate),
    /// Offer tools to plans on a Temporal server
    Worker(plan::Worker),
}

/// Runs the command of the arguments.
pub fn run() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Approvals(command) => command.run(),
        Command::Args(command) => command.run(),
        Command::Ask(command) => command.run(),
        Command::Call(command) => command.run(),
        Command::Catalog(command) => command.run(),
        Command::Key(command) => command.run(),
        Command::Ledger(command) => command.run(),
        Command::Mcp(command) => command.run(),
        Command::Plan(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Translate(command) => command.run(),
        Command::Worker(command) => command.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
