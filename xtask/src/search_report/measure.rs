//! Measures of a ranking: recall and normalized discounted cumulative gain.

use std::fmt;

/// Number of hits that nDCG considers.
const DEPTH: usize = 10;

/// Normalized discounted cumulative gain of the first ten hits.
pub(crate) fn ndcg(is_relevant: &[bool], relevant: usize) -> f64 {
    let gain = |position: usize| 1.0 / (as_f64(position) + 2.0).log2();
    let hits = is_relevant.iter().take(DEPTH).enumerate();
    let gained: f64 = hits.filter(|(_, hit)| **hit).map(|(position, _)| gain(position)).sum();
    gained / (0..relevant.min(DEPTH)).map(gain).sum::<f64>()
}

/// Share of the relevant documents that are among the first `depth` hits.
pub(crate) fn recall(is_relevant: &[bool], depth: usize, relevant: usize) -> f64 {
    as_f64(is_relevant.iter().take(depth).filter(|hit| **hit).count()) / as_f64(relevant)
}

/// A mean, displayed as a percentage with one digit after the point.
#[derive(Default)]
pub(crate) struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return f.pad("–");
        }
        f.pad_integral(true, "", &format!("{:.1}", 100.0 * self.sum / as_f64(self.count)))
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts are small")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_ranking_has_ndcg_one_and_a_late_hit_less() {
        assert!((ndcg(&[true, true, false], 2) - 1.0).abs() < 1e-9);
        assert!((ndcg(&[false, true], 1) - 1.0 / 3_f64.log2()).abs() < 1e-9);
        assert!(ndcg(&[], 1).abs() < 1e-9);
    }

    #[test]
    fn recall_counts_hits_up_to_the_depth() {
        assert!((recall(&[true, false, true], 2, 2) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_mean_is_a_percentage() {
        let mut mean = Mean::default();
        assert_eq!(mean.to_string(), "–");
        mean.add(1.0);
        mean.add(0.0);
        assert_eq!(format!("{mean:6}"), "  50.0");
    }
}
