//! Measures the gateway from outside, as separate processes on loopback. `cargo xtask bench-gateway`,
//! `cargo xtask bench-mcp`, `cargo xtask soak` and `cargo xtask chaos` start it: it starts itself again as mock
//! upstream, as MCP server and as bare proxy.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its terminal")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people, far from the limits of their types"
)]

mod chaos;
mod dice;
mod failure;
mod findings;
mod floor;
mod gateway;
mod goal;
mod load;
mod mcp;
mod mock;
mod nonce;
mod process;
mod question;
mod serve;
mod soak;
mod table;

use std::process::ExitCode;

use failure::Failure;

const HELP: &str = "\
Usage: toolwright-bench <command>

  gateway [--short] [--json FILE]  measure direct, through a bare proxy, through the gateway
  mcp [--short] [--sdk COMMAND]    measure calls of MCP servers, direct and through the gateway: of a
                                   bare one, and of one that COMMAND starts, which prints its address
  soak [--seconds N]               load with faults, then look for what was leaked or forgotten
  chaos [--seconds N] [--seed N]   traffic in all dialects while everything around the gateway
                                   fails; then count effects, exchanges and what is left
  mock                             the mock upstream alone; prints its address
  mcp-server                       the MCP server alone; prints its address
  floor ADDRESS                    the bare proxy alone, before ADDRESS; prints its address
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["mock"] => mock::run("127.0.0.1:0"),
        ["mock", address] => mock::run(address),
        ["floor", upstream] => floor::run(upstream),
        ["gateway", rest @ ..] => gateway::Plan::parse(rest).and_then(|plan| gateway::run(&plan)),
        ["mcp", rest @ ..] => mcp::Plan::parse(rest).and_then(|plan| mcp::run(&plan)),
        ["mcp-server"] => mcp::serve(),
        ["soak"] => soak::run(soak::DEFAULT),
        ["soak", "--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => soak::run(std::time::Duration::from_secs(seconds)),
            Err(_) => Err(Failure(format!("--seconds needs a whole number, not {seconds}"))),
        },
        ["chaos", rest @ ..] => chaos::Plan::parse(rest).and_then(chaos::run),
        ["chaos-in-namespace", rest @ ..] => {
            chaos::Plan::parse(rest).and_then(chaos::run_in_namespace)
        }
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
