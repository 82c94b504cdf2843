//! The report of a measurement, as text and JSON.

use serde_json::{Value, json};

use super::case::Case;
use super::measure::Cell;
use super::memory::{NAME, OpenStreams};
use super::route::Route;
use crate::goal::Goal;
use crate::load::Figures;
use crate::process::Site;
use crate::question::{ReplyKind, Size};
use crate::table::{Table, figure};

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The gateway's memory before the first request, in megabytes
    pub(crate) idle: f64,
    /// Every case on every route
    pub(crate) cells: Vec<Cell>,
    /// A thousand streams
    pub(crate) open_streams: Vec<OpenStreams>,
}

/// The lines above the tables.
pub(crate) fn opening(site: &Site) -> String {
    let cores = site.cores();
    let split = if cores.is_split() {
        "what is measured has one for itself"
    } else {
        "shared by all, so the times say little"
    };
    let bytes = Route::Pass.question("mock", Size::Standard, ReplyKind::Whole).length();
    format!(
        "{} cores, {split}; the question with four tools and eight messages has {bytes} bytes\n\
         times in µs: p50 and first byte are medians over rounds, p99 and p99.9 of all; \
         CPU in seconds for a thousand",
        cores.count()
    )
}

/// Prints a case.
pub(crate) fn print(case: Case, cells: &[Cell]) {
    println!("\n{}", case.name());
    let heads = [
        "route",
        "count",
        "req/s",
        "p50",
        "p99",
        "p99.9",
        "first byte",
        "added p50",
        "CPU",
        "× bare",
        "× other",
    ];
    let mut table = Table::new(1, &heads);
    let of = |route: Route| cells.iter().find(|cell| cell.route == route);
    let direct = of(Route::Direct).map_or(f64::NAN, |cell| cell.figures.p50);
    let bare = of(Route::Bare).map_or(f64::NAN, |cell| cell.cost);
    for cell in cells {
        let Figures { count, rate, p50, p99, p999, first } = cell.figures;
        let added = if cell.route == Route::Direct { f64::NAN } else { p50 - direct };
        let mut row = vec![cell.route.name().to_owned(), count.to_string()];
        row.extend([rate, p50, p99, p999, first, added, cell.cost].map(figure));
        let other = cell.route.other().and_then(of).map_or(f64::NAN, |cell| cell.cost);
        row.extend([cell.cost / bare, cell.cost / other].map(figure));
        table.row(row);
    }
    table.print();
}

/// Prints the thousand streams.
pub(crate) fn print_open_streams(report: &Report) {
    println!("\n{NAME}");
    let heads = ["route", "open", "first byte", "p99", "p99.9", "CPU", "memory MB"];
    let mut table = Table::new(1, &heads);
    for streams in &report.open_streams {
        let mut row = vec![streams.route.name().to_owned(), streams.open.to_string()];
        row.extend(streams.first.map(figure));
        row.extend([streams.cost, streams.resident].map(figure));
        table.row(row);
    }
    table.print();
}

/// Everything as JSON.
pub(crate) fn json(report: &Report, goals: &[Goal], others: f64) -> String {
    let cells: Vec<Value> = report
        .cells
        .iter()
        .map(|cell| {
            let Figures { count, rate, p50, p99, p999, first } = cell.figures;
            json!({"case": cell.case.name(), "route": cell.route.name(), "count": count,
                "requests_per_second": rate, "p50_us": p50, "p99_us": p99, "p999_us": p999,
                "first_byte_us": first, "cpu_seconds_per_thousand": cell.cost})
        })
        .collect();
    let open_streams: Vec<Value> = report
        .open_streams
        .iter()
        .map(|streams| {
            json!({"route": streams.route.name(), "open": streams.open, "resident_mb": streams.resident,
                "first_byte_us": streams.first, "cpu_seconds_per_thousand": streams.cost})
        })
        .collect();
    let goals: Vec<Value> = goals
        .iter()
        .map(|goal| {
            json!({"goal": goal.what, "unit": goal.unit, "at_most": goal.most,
                "reached": goal.reached, "met": goal.is_met()})
        })
        .collect();
    let whole = json!({"idle_mb": report.idle, "cells": cells, "streams": open_streams, "goals": goals,
        "machine_taken_by_others": others});
    format!("{whole:#}\n")
}
