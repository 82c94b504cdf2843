//! The goals, with the measured values.

use super::case::Pace;
use super::measure::Cell;
use super::report::Report;
use super::route::Route;
use crate::goal::Goal;
use crate::question::{ReplyKind, Size};

/// Compares the figures of a report with the goals.
pub(crate) fn judge(report: &Report) -> Vec<Goal> {
    let mut goals = Vec::new();
    for reply in [ReplyKind::Whole, ReplyKind::Stream] {
        for (route, added, cost, ratio) in limits(reply) {
            let name = format!("{}, {}", route.name(), reply.name());
            let mut add = |what: &str, unit, most, reached: f64| {
                if !reached.is_nan() {
                    goals.push(Goal { what: format!("{name}: {what}"), unit, most, reached });
                }
            };
            let one = |route, clients| find(report, route, reply, clients);
            add("added p50", "µs", added, one(route, 1).p50 - one(Route::Direct, 1).p50);
            add("added first byte", "µs", 300.0, one(route, 1).first - one(Route::Direct, 1).first);
            for clients in [1, 16] {
                let s = if clients == 1 { "" } else { "s" };
                let own = one(route, clients).cost;
                add(&format!("CPU, {clients} client{s}"), "s/1000", cost, own);
                let what = format!("CPU to bare proxy's, {clients} client{s}");
                add(&what, "×", ratio, own / one(Route::Bare, clients).cost);
            }
        }
    }
    for route in [Route::Pass, Route::Translate] {
        let p99 = |route| find_paced(report, route).map_or(f64::NAN, |cell| cell.p99);
        let reached = p99(route) / p99(Route::Bare);
        if !reached.is_nan() {
            let what =
                format!("{}, whole: p99 to bare proxy's, {OPEN_LOAD} a second", route.name());
            goals.push(Goal { what, unit: "×", most: 5.0, reached });
        }
    }
    let memory = |what: &str, most, reached| Goal { what: what.into(), unit: "MB", most, reached };
    if !report.idle.is_nan() {
        goals.push(memory("memory, idle", 40.0, report.idle));
    }
    for streams in
        report.open_streams.iter().filter(|streams| Route::GATEWAY.contains(&streams.route))
    {
        let what = format!("memory, {} streams {}", streams.open, streams.route.name());
        goals.push(memory(&what, 200.0, streams.resident));
    }
    goals
}

/// Route, maximum added microseconds, maximum CPU seconds for a thousand requests, maximum ratio to
/// the bare proxy.
fn limits(reply: ReplyKind) -> [(Route, f64, f64, f64); 2] {
    match reply {
        ReplyKind::Whole => [(Route::Pass, 120.0, 0.11, 2.0), (Route::Translate, 200.0, 0.18, 4.0)],
        ReplyKind::Stream => {
            [(Route::Pass, 120.0, 0.32, 2.0), (Route::Translate, 200.0, 0.42, 4.0)]
        }
    }
}

/// The figures of the standard request.
struct Figures {
    p50: f64,
    first: f64,
    cost: f64,
}

fn find(report: &Report, route: Route, reply: ReplyKind, clients: usize) -> Figures {
    let wanted = |cell: &&Cell| {
        let case = cell.case;
        cell.route == route
            && (case.size, case.reply, case.pace) == (Size::Standard, reply, Pace::Clients(clients))
    };
    match report.cells.iter().find(wanted) {
        Some(cell) => Figures { p50: cell.p50, first: cell.first, cost: cell.cost },
        None => Figures { p50: f64::NAN, first: f64::NAN, cost: f64::NAN },
    }
}

/// Requests per second of the load whose p99 has a goal.
const OPEN_LOAD: u32 = 2000;

fn find_paced(report: &Report, route: Route) -> Option<&Cell> {
    let case = (Size::Standard, ReplyKind::Whole, Pace::Rate(OPEN_LOAD));
    report.cells.iter().find(|cell| {
        cell.route == route && (cell.case.size, cell.case.reply, cell.case.pace) == case
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmeasured_figures_have_no_goal() {
        assert!(judge(&Report { idle: f64::NAN, ..Report::default() }).is_empty());
    }
}
