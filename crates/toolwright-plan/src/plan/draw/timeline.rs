//! The timeline of a run as SVG.

use super::canvas::{Anchor, Canvas, MARGIN};
use super::label::{duration, shorten, width};
use super::scene::describe;
use super::style;
use crate::plan::document::{Plan, Step};
use crate::plan::state::{StepState, StepStatus};

const SIZE: i64 = 12;
const SMALL: i64 = 11;
const ROW: i64 = 24;
const BAR: i64 = 14;
/// The width of the chart.
const CHART: i64 = 720;
/// Room for the text beside a bar that ends at the right.
const ASIDE: i64 = 150;
const SYMBOL: i64 = 18;
/// Maximum number of lines of the grid.
const MAX_TICKS: u64 = 8;

/// Draws the timeline of a run as SVG: a bar for each step from its start to its end.
pub fn timeline(plan: &Plan, run: &[StepStatus]) -> String {
    let status = |at: usize| run.get(at).copied().unwrap_or_default();
    let mut rows: Vec<(&Step, StepStatus)> =
        plan.steps.iter().enumerate().map(|(at, step)| (step, status(at))).collect();
    rows.sort_by_key(|(_, status)| status.started_ms.unwrap_or(u64::MAX));
    let starts = rows.iter().filter_map(|(_, status)| status.started_ms);
    let first = starts.min().unwrap_or(0);
    let moments = rows.iter().flat_map(|(_, status)| [status.started_ms, status.ended_ms]);
    let total = moments.flatten().max().unwrap_or(first).saturating_sub(first);

    let names = rows.iter().map(|(step, _)| width(&step.id, SIZE)).max();
    let names = names.unwrap_or(0).clamp(60, 220);
    let left = MARGIN + SYMBOL + names + 12;
    let top = MARGIN + 42;
    let bottom = top + ROW * i64::try_from(rows.len()).unwrap_or(i64::MAX / ROW);
    let x = |ms: u64| left + scaled(ms, total);

    let mut canvas = Canvas::new();
    let name = plan.name.as_deref().unwrap_or("plan");
    let heading = format!("{} · {}", shorten(name, 16, CHART), duration(total));
    canvas.text((MARGIN, MARGIN + 14), 16, "bold", Anchor::Start, &heading);
    canvas.raw(format_args!("\n"));
    let tick = tick(total);
    for at in (0..=total).step_by(usize::try_from(tick).unwrap_or(usize::MAX)) {
        let x = x(at);
        canvas.raw(format_args!("<path class=\"grid\" d=\"M{x} {top}L{x} {bottom}\"/>"));
        let text = if at == 0 { "0".to_owned() } else { duration(at) };
        canvas.text((x, top - 6), SMALL, "quiet", Anchor::Middle, &text);
        canvas.raw(format_args!("\n"));
    }
    for ((step, status), y) in rows.iter().zip((top..).step_by(24)) {
        let style = style::of(status.state);
        canvas.raw(format_args!("<g>"));
        canvas.title(&describe(step, Some(status)));
        canvas.symbol(&style, MARGIN + 6, y + ROW / 2);
        let text = &shorten(&step.id, SIZE, names);
        let baseline = y + ROW / 2 + 4;
        canvas.text((MARGIN + SYMBOL, baseline), SIZE, "", Anchor::Start, text);
        let mut aside = left + 4;
        if let Some(started) = status.started_ms {
            let start = x(started - first);
            let end = x(status.ended_ms.map_or(total, |ended| ended.saturating_sub(first)));
            let (wide, y) = ((end - start).max(2), y + (ROW - BAR) / 2);
            let (fill, stroke) = (style.fill, style.stroke);
            canvas.raw(format_args!(
                "<rect class=\"bar\" x=\"{start}\" y=\"{y}\" width=\"{wide}\" height=\"{BAR}\" rx=\"2\" \
                 fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.5\"/>"
            ));
            aside = start + wide + 6;
        }
        canvas.text((aside, baseline), SMALL, "quiet", Anchor::Start, &remark(status));
        canvas.raw(format_args!("</g>\n"));
    }
    canvas.end(left + CHART + ASIDE + MARGIN, bottom + MARGIN, name)
}

/// Returns the text beside a bar.
fn remark(status: &StepStatus) -> String {
    let mut parts: Vec<String> = status.duration_ms().map(duration).into_iter().collect();
    if parts.is_empty() || status.state != StepState::Succeeded {
        parts.push(status.state.as_str().to_owned());
    }
    if let Some((done, total)) = status.items {
        parts.push(format!("{done}/{total}"));
    } else if status.attempts > 1 {
        parts.push(format!("×{}", status.attempts));
    }
    parts.join(" · ")
}

/// Returns the position of a moment in the chart.
fn scaled(ms: u64, total: u64) -> i64 {
    let chart = u128::from(CHART.unsigned_abs());
    let x = u128::from(ms.min(total)) * chart / u128::from(total.max(1));
    i64::try_from(x).unwrap_or(CHART)
}

/// Returns the distance between two lines of the grid: a round number of milliseconds, seconds, minutes or
/// hours.
fn tick(total: u64) -> u64 {
    let fits = |tick: &u64| total / *tick <= MAX_TICKS;
    let decimals = (0..4).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let sexagesimals = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400]
        .map(|s| s * 1000);
    decimals.chain(sexagesimals).find(fits).unwrap_or((total / MAX_TICKS).max(1))
}
