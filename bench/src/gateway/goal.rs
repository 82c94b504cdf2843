//! The goals, with the measured values.

use super::case::{Case, Pace};
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
            let one =
                |route, clients, read| figure(report, route, (reply, Pace::Clients(clients)), read);
            let over_direct = |read| one(route, 1, read) - one(Route::Direct, 1, read);
            add("added p50", "µs", added, over_direct(|cell| cell.figures.p50));
            add("added first byte", "µs", 300.0, over_direct(|cell| cell.figures.first));
            for clients in [1, 16] {
                let s = if clients == 1 { "" } else { "s" };
                let of = |route| one(route, clients, |cell| cell.cost);
                add(&format!("CPU, {clients} client{s}"), "s/1000", cost, of(route));
                let what = format!("CPU to bare proxy's, {clients} client{s}");
                add(&what, "×", ratio, of(route) / of(Route::Bare));
            }
        }
    }
    for route in [Route::Pass, Route::Translate] {
        let load = (ReplyKind::Whole, Pace::Rate(OPEN_LOAD));
        let p99 = |route| figure(report, route, load, |cell| cell.figures.p99);
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

/// Requests per second of the load whose p99 has a goal.
const OPEN_LOAD: u32 = 2000;

/// A figure of the standard request; NaN if it was not measured.
fn figure(
    report: &Report,
    route: Route,
    (reply, pace): (ReplyKind, Pace),
    read: fn(&Cell) -> f64,
) -> f64 {
    let case = Case { size: Size::Standard, reply, pace };
    let cell = report.cells.iter().find(|cell| cell.route == route && cell.case == case);
    cell.map_or(f64::NAN, read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmeasured_figures_have_no_goal() {
        assert!(judge(&Report { idle: f64::NAN, ..Report::default() }).is_empty());
    }
}
