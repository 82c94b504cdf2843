//! Rules about the dependencies and features of crates, read from cargo.

use std::collections::BTreeSet;

use super::Finding;

/// Crates that bring a runtime, IO, a clock, randomness or logging. `getrandom` is not among them:
/// `jsonschema` seeds its hash maps with it, which no result depends on.
const DENIED: &[&str] = &[
    "async-std",
    "async-trait",
    "chrono",
    "curl",
    "env_logger",
    "fastrand",
    "futures",
    "hyper",
    "jiff",
    "log",
    "mio",
    "native-tls",
    "openssl",
    "rand",
    "rand_core",
    "reqwest",
    "rusqlite",
    "rustls",
    "slog",
    "smol",
    "socket2",
    "time",
    "tokio",
    "tracing",
    "ureq",
    "uuid",
];

fn finding(path: &str, what: String) -> Finding {
    Finding { path: path.into(), line: 1, what }
}

/// The core has no dependency with effects.
pub(super) fn core_has_no_effects(tree: &str) -> Vec<Finding> {
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    names
        .into_iter()
        .filter(|name| DENIED.contains(name))
        .map(|name| {
            let what =
                format!("core depends on {name}; see cargo tree -p toolwright-dialects -i {name}");
            finding("crates/toolwright-core/Cargo.toml", what)
        })
        .collect()
}

/// No crate enables `serde_json`'s `arbitrary_precision`, which breaks tagged and flattened types
/// in every crate of the build.
pub(super) fn numbers_are_plain(tree: &str) -> Vec<Finding> {
    let feature = concat!("arbitrary", "_precision");
    let on = |line: &&str| line.starts_with("serde_json ") && line.contains(feature);
    let what = format!("serde_json has {feature} on; see cargo tree -e features -i serde_json");
    tree.lines().find(on).map(|_| finding("Cargo.toml", what)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_under_core_is_found() {
        let tree =
            "toolwright-core v0.1.0 (/x)\ncrc32fast v1.5.0\ntokio v1.40.0\ntokio v1.40.0 (*)\n";
        let found = core_has_no_effects(tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("core depends on tokio"));
        assert_eq!(core_has_no_effects("toolwright-core v0.1.0\nthiserror v2.0.0\n"), []);
    }

    #[test]
    fn arbitrary_precision_is_found() {
        let tree = "serde_json v1.0.140 arbitrary_precision,default,std\n";
        assert_eq!(numbers_are_plain(tree).len(), 1);
        assert_eq!(numbers_are_plain("serde_json v1.0.140 default,std\n"), []);
    }
}
