//! The soak test: minutes of load in which upstreams fail and clients disconnect. Each reply is
//! checked on arrival; afterwards memory and open files must be back to normal, no exchange in
//! flight, every exchange recorded, and the gateway still answering.

mod aftermath;
mod visit;
mod watch;
mod worker;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(crate) use self::visit::Visit;
pub(crate) use self::watch::Watch;

use self::aftermath::Aftermath;
use self::worker::{Post, Tally};
use crate::failure::Outcome;
use crate::load::{Connection, Expect, next_nonce};
use crate::mock;
use crate::process::{Serving, Site};
use crate::table::Table;

/// Default duration.
pub(crate) const DEFAULT: Duration = Duration::from_mins(5);
const WORKERS: usize = 64;
/// Short deadlines, so that many stalled upstreams time out.
const SETTINGS: &str = "first_byte = \"1s\"\nidle = \"1s\"\nretries = 1";

/// Runs the soak test.
pub(crate) fn run(time: Duration) -> Outcome {
    let site = Site::new("soak")?;
    let mock = Serving::mock("127.0.0.1:0")?;
    let gateway = site.gateway(mock.address, SETTINGS)?;
    std::thread::sleep(Duration::from_millis(500));
    let idle = gateway.child.files();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut watch = Watch::start(&gateway.child, time);
    let tally = runtime.block_on(async {
        let post = Post::new(gateway.address, expectations(gateway.address).await?);
        work(post, time, &mut watch).await
    })?;
    // Its connections end with the runtime: from here on the gateway has no client.
    drop(runtime);
    print(&tally);
    let mut aftermath = Aftermath::new(&site, mock, gateway);
    aftermath.judge(&tally, &watch, idle)?;
    aftermath.print()
}

/// Number of requests that [`expectations`] sends.
const LEARNED: u64 = 2;

/// The expected reply of each upstream, whole and streamed.
async fn expectations(gateway: std::net::SocketAddr) -> Outcome<BTreeMap<visit::Kind, Expect>> {
    let mut all = BTreeMap::new();
    for kind in visit::Kind::ALL {
        let expect = if kind.upstream == "oa" {
            Expect::Same(mock::plain(kind.reply))
        } else {
            let nonce = next_nonce();
            let question = kind.question("mock");
            let answer = Connection::open(gateway).await?.read(&question, nonce).await?;
            Expect::learn(&answer.body, nonce, kind.reply)?
        };
        all.insert(kind, expect);
    }
    Ok(all)
}

/// Runs all workers until the time is over.
async fn work(post: Post, time: Duration, watch: &mut Watch) -> Outcome<Tally> {
    let until = Instant::now() + time;
    let workers: Vec<_> =
        (0..WORKERS).map(|number| tokio::spawn(post.clone().work(number as u64, until))).collect();
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(500)).await;
        watch.look();
    }
    let mut tally = Tally::default();
    tally.reached = LEARNED;
    for worker in workers {
        tally.add(worker.await?);
    }
    Ok(tally)
}

fn print(tally: &Tally) {
    let mut table = Table::new(1, &["visit", "count", "wrong"]);
    for (visit, (count, wrong)) in tally.visits() {
        table.row(vec![visit.name().into(), count.to_string(), wrong.to_string()]);
    }
    println!();
    table.print();
}
