//! `bench-mcp`: the cost of the gateway between an MCP client and a server. The same calls are sent to the
//! server directly and through the gateway, alternating within one run: to a bare server, as effects, which
//! the gateway records before they run, and as reads; and to one on an SDK. Then the tools of all bare servers
//! are listed. It fails if a reply is wrong, and never because a figure is bad.

mod server;

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::findings::PATIENCE;
use crate::goal::{self, Goal};
use crate::load::{ClientPool, Connection, Expect, Figures, Rounds, Samples, Target, next_nonce};
use crate::process::{Machine, Serving, Site, Usage, mcp_table};
use crate::question::Question;
use crate::table::{Table, figure};

pub(crate) use self::server::run as serve;

/// Servers behind the gateway, and the tools of each.
const SERVERS: usize = 10;
const TOOLS: usize = 100;

/// Numbers of clients that call at the same time.
const CLIENTS: [usize; 2] = [1, 16];

/// What is measured.
pub(crate) struct Plan {
    short: bool,
    /// Starts a server on an SDK, at `/mcp`, whose one tool repeats a text
    sdk: Option<Vec<String>>,
}

impl Plan {
    /// Parses the options.
    pub(crate) fn parse(options: &[&str]) -> Outcome<Plan> {
        let mut plan = Plan { short: false, sdk: None };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--short" => plan.short = true,
                "--sdk" => {
                    plan.sdk = Some(options.by_ref().map(|word| (*word).to_owned()).collect());
                }
                other => return Err(Failure(format!("mcp has no option {other}"))),
            }
        }
        Ok(plan)
    }
}

/// The two ways to one server.
struct Routes {
    server: &'static str,
    direct: Target,
    through: Target,
}

/// Measures and prints.
pub(crate) fn run(plan: &Plan) -> Outcome {
    let (rounds, window) = if plan.short { (3, 200) } else { (9, 700) };
    let window = Duration::from_millis(window);
    let machine = Machine::watch();
    let site = Site::new("bench-mcp")?;
    let bare = Serving::part(&["mcp-server"])?;
    let sdk = plan.sdk.as_deref().and_then(<[String]>::split_first);
    let sdk = sdk.map(|(program, words)| Serving::program(Command::new(program).args(words)));
    let sdk = sdk.transpose()?;
    let tables = (0..SERVERS).map(|number| {
        mcp_table(&format!("s{number}"), &format!("http://{}/{number}", bare.address))
    });
    let mut tables = tables.collect::<String>();
    // Its tools say that they only read.
    tables += &mcp_table("trusted", &format!("http://{}/trusted", bare.address));
    tables += "trust_annotations = true\n";
    if let Some(sdk) = &sdk {
        tables += &mcp_table("echo", &format!("http://{}/mcp", sdk.address));
    }
    site.configure(&tables)?;
    let gateway = site.serve()?;
    if site.cores().is_split() {
        println!("The gateway has a core to itself; clients and servers share the others.");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let goals = runtime.block_on(async {
        let route = async |server, address, path: &str, prefix: &str| {
            let direct = target(address, path, &tool(0)).await?;
            let through = target(gateway.address, "/mcp", &format!("{prefix}_{}", tool(0))).await?;
            Ok::<_, Failure>(Routes { server, direct, through })
        };
        let mut servers = vec![
            route("bare server, effects", bare.address, "/0", "s0").await?,
            route("bare server, reads", bare.address, "/trusted", "trusted").await?,
        ];
        if let Some(sdk) = &sdk {
            servers.push(route("SDK's server", sdk.address, "/mcp", "echo").await?);
        }
        let mut goals = Vec::new();
        for routes in &servers {
            for clients in CLIENTS {
                goals.push(measure(routes, clients, rounds, window).await?);
            }
        }
        let listed = list(gateway.address, rounds * 20).await?;
        let what = format!("{} tools of {SERVERS} servers listed, p50", SERVERS * TOOLS);
        goals.push(Goal::new(&what, "µs", 5000.0, listed.whole(50.0)));
        println!(
            "\n{what}: {} µs, p99: {} µs",
            figure(listed.whole(50.0)),
            figure(listed.whole(99.0))
        );
        Ok::<_, Failure>(goals)
    })?;
    let children = [Some(&bare), sdk.as_ref(), Some(&gateway)].into_iter().flatten();
    let ours: Duration = children.map(|serving| serving.child.usage().total()).sum();
    let ours = ours + Usage::of(std::process::id()).total();
    goal::print(&goals);
    let others = machine.taken_by_others(ours, site.cores().count());
    println!("other programs took {:.0} % of the machine meanwhile", others * 100.0);
    Ok(())
}

/// Sends calls both ways in turns, prints them, and returns the goal for this number of clients.
async fn measure(
    routes: &Routes,
    clients: usize,
    rounds: usize,
    window: Duration,
) -> Outcome<Goal> {
    let (mut direct, mut through) = (Rounds::default(), Rounds::default());
    for _ in 0..rounds {
        for (target, rounds) in [(&routes.direct, &mut direct), (&routes.through, &mut through)] {
            let pool = ClientPool::warm(target.clone(), clients).await?;
            rounds.add(pool.work(window).await?);
        }
    }
    let (server, direct, through) = (routes.server, direct.figures(), through.figures());
    let plural = if clients == 1 { "" } else { "s" };
    println!("\ntools/call of the {server}, {clients} client{plural}");
    print(&[("direct", direct), ("gateway", through)]);
    Ok(if clients == 1 {
        let added = through.p50 - direct.p50;
        Goal::new(&format!("added p50, {server}"), "µs", 300.0, added)
    } else {
        let factor = direct.rate / through.rate;
        Goal::new(&format!("direct rate to gateway's, {server}"), "×", 2.0, factor)
    })
}

/// The name of a tool at its server.
fn tool(number: usize) -> String {
    format!("tool_{number:03}")
}

/// A call of a tool, and the reply that is expected: learned from one call. Calls fail until the gateway has listed the
/// tools of the server.
async fn target(address: SocketAddr, path: &str, tool: &str) -> Outcome<Target> {
    let question = Question::call_tool(path, tool);
    let begun = Instant::now();
    loop {
        let nonce = next_nonce();
        let answer = Connection::open(address).await?.read(&question, nonce).await?;
        match Expect::like(answer.status, &answer.body, nonce) {
            Err(_) if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            expect => return Ok(Target { address, question, expect: expect? }),
        }
    }
}

/// Lists the tools of all servers, page by page, this many times.
async fn list(address: SocketAddr, times: usize) -> Outcome<Samples> {
    let mut connection = Connection::open(address).await?;
    let mut samples = Samples::default();
    let begun = Instant::now();
    for _ in 0..times {
        let (mut cursor, mut found, mut took) = (None, 0, Duration::ZERO);
        loop {
            let question = Question::list_tools("/mcp", cursor.as_deref());
            let start = Instant::now();
            let answer = connection.read(&question, next_nonce()).await?;
            took += start.elapsed();
            let page = serde_json::from_slice::<serde_json::Value>(&answer.body);
            let page = page.map_err(|error| Failure(format!("a page of tools: {error}")))?;
            let tools = page["result"]["tools"].as_array().into_iter().flatten();
            found += tools.filter(|tool| tool["name"].as_str().is_some_and(is_of_server)).count();
            cursor = page["result"]["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        samples.note(took, took);
        if found != SERVERS * TOOLS {
            return Err(Failure(format!("{found} tools were listed, not {}", SERVERS * TOOLS)));
        }
    }
    samples.finish(begun.elapsed());
    Ok(samples)
}

/// Whether a tool of the gateway is one of the servers.
fn is_of_server(name: &str) -> bool {
    name.starts_with('s') && name.contains("_tool_")
}

fn print(routes: &[(&str, Figures)]) {
    let mut table = Table::new(1, &["route", "count", "calls/s", "p50 µs", "p99 µs"]);
    for (name, Figures { count, rate, p50, p99, .. }) in routes {
        let mut row = vec![(*name).to_owned(), count.to_string()];
        row.extend([*rate, *p50, *p99].map(figure));
        table.row(row);
    }
    table.print();
}
