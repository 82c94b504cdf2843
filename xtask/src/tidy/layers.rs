//! The layers of the workspace: a crate depends only on crates before it, and a module of a crate imports only from
//! modules to its left.
//!
//! [`CRATES`] is the only table. To add a crate, add an entry after those that it depends on, with the folder of its sources
//! and its top-level modules in order, the lowest first: `cargo xtask tidy` names every dependency and every import
//! against the order, every module that the order lacks and every name of the order that is not a module.
//!
//! The rule reads `crate::…` and `super::…` paths, in imports and in expressions. It reads neither
//! tests nor the crate's root, which assembles all layers. Names that the root re-exports are
//! refused, because they hide the layer; exported macros are at the root and are allowed.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{code, paths};
use super::file::before_tests;
use super::{Finding, Source, Tree};

/// A crate and the order of its top-level modules.
struct Layers {
    /// The folder of its sources
    folder: &'static str,
    /// The top-level modules, each to the right of all modules that it imports
    order: &'static [&'static str],
}

const CRATES: &[Layers] = &[
    Layers {
        folder: "crates/toolwright-json/src",
        order: &[
            "work",
            "scan",
            "decimal",
            "value",
            "canonical",
            "text",
            "line",
            "index",
            "peek",
            "skim",
            "serde",
        ],
    },
    Layers {
        folder: "crates/toolwright-core/src",
        order: &[
            "hash",
            "percent",
            "date",
            "duration",
            "suggest",
            "note",
            "wire_json",
            "model",
            "document",
            "event",
            "loss",
            "profile",
            "schema",
            "args",
        ],
    },
    Layers {
        folder: "crates/toolwright-dialects/src",
        order: &["frame", "codec", "embed", "dialect", "reasoning_cache", "fit", "translate"],
    },
    Layers {
        folder: "crates/toolwright-macros/src",
        order: &["suggest", "docs", "data", "options", "parameter", "parse", "expand"],
    },
    Layers {
        folder: "crates/toolwright-transport/src",
        order: &["private_file", "secret", "environment", "key_file", "http", "oauth"],
    },
    Layers {
        folder: "crates/toolwright-runtime/src",
        order: &[
            "bounded",
            "reference",
            "process",
            "store",
            "context",
            "define",
            "error",
            "output",
            "redact",
            "settings",
            "handle",
            "session",
            "handler",
            "macros",
            "model",
            "offline",
            "chat",
            "ledger",
            "call",
            "toolbox",
            "upstream",
            "resolve",
            "run",
            "prelude",
            "builtin",
        ],
    },
    Layers { folder: "crates/toolwright-plan/src", order: &["plan", "run", "temporal"] },
    Layers {
        folder: "crates/toolwright-mcp/src",
        order: &[
            "output",
            "pins",
            "protocol",
            "message",
            "header",
            "redaction",
            "interaction",
            "client",
            "server",
            "source",
        ],
    },
    Layers {
        folder: "crates/toolwright-search/src",
        order: &[
            "document",
            "tokenize",
            "synonyms",
            "vocabulary",
            "vector",
            "index",
            "snapshot",
            "score",
            "similarity",
            "typo",
            "query",
            "dictionary",
            "phrase",
            "title",
            "options",
            "rank",
            "explain",
            "hint",
        ],
    },
    Layers {
        folder: "crates/toolwright-catalog/src",
        order: &[
            "binding",
            "error",
            "signing",
            "files",
            "manifest",
            "access",
            "compatibility",
            "scan",
            "version",
            "package",
            "store",
            "runtime",
            "openapi",
            "remote",
            "tools",
            "source",
        ],
    },
    Layers { folder: "crates/toolwright/src", order: &[] },
    Layers {
        folder: "crates/toolwright-gateway/src",
        order: &[
            "terminal",
            "config",
            "key",
            "telemetry",
            "http",
            "fault",
            "query",
            "idempotency",
            "monitoring",
            "conversation",
            "journal",
            "models",
            "handles",
            "approvals",
            "inputs",
            "tools",
            "mcp",
            "proxy",
            "catalog",
            "responses",
            "tool_runs",
            "plans",
            "exchange",
            "gateway",
        ],
    },
    Layers {
        folder: "crates/toolwright-cli/src",
        order: &[
            "config",
            "exit",
            "form",
            "tool",
            "config_text",
            "input",
            "tools",
            "args",
            "translate",
            "call",
            "key",
            "ledger",
            "approvals",
            "mcp",
            "catalog",
            "plan",
            "ask",
            "serve",
        ],
    },
    Layers {
        folder: "crates/toolwright-testing/src",
        order: &[
            "fixtures",
            "golden",
            "growth",
            "process",
            "seeds",
            "server",
            "authorization_server",
            "tools",
            "generate",
        ],
    },
    Layers {
        folder: "xtask/src",
        order: &[
            "run",
            "build",
            "packages",
            "tidy",
            "examples",
            "release",
            "args_report",
            "openapi_report",
            "search_report",
            "tokens_report",
            "conformance",
            "recorded",
            "oauth",
            "mcp",
            "temporal",
            "schemathesis",
            "clients",
            "journeys",
            "fuzz",
            "bench",
            "bench_gateway",
            "ci",
        ],
    },
];

/// Every module imports only from layers to its left.
pub(super) fn are_kept(tree: &Tree) -> Vec<Finding> {
    CRATES.iter().flat_map(|layers| layers.check(tree)).collect()
}

/// Every crate is in the table, and depends only on crates before it, by the normal dependencies of its manifest. No test
/// depends on the facade.
pub(super) fn of_crates_are_kept(tree: &Tree) -> Vec<Finding> {
    let folders: Vec<&str> = CRATES.iter().map(|layers| layers.folder).collect();
    crates_against(tree, &folders)
}

/// The crate that only users depend on.
const FACADE: &str = "toolwright";

/// Returns the crates that an order lacks, and the dependencies that are against it, by the folders of their sources.
fn crates_against(tree: &Tree, folders: &[&str]) -> Vec<Finding> {
    let place = |name: &str| folders.iter().position(|folder| crate_name(folder) == name);
    let mut findings = Vec::new();
    for manifest in &tree.files {
        let path = manifest.path.strip_suffix("/Cargo.toml");
        let Some(path) = path.filter(|path| manifest.under("crates") || *path == "xtask") else {
            continue;
        };
        let Some(index) = place(crate_name(path)) else {
            findings.push(manifest.finding(1, format!("the crate is not in {HERE}; add it")));
            continue;
        };
        let mut section = "";
        for (line, text) in manifest.text.lines().enumerate() {
            if text.starts_with('[') {
                section = text;
            }
            let name = text.split([' ', '.', '=']).next().unwrap_or_default();
            if section == "[dev-dependencies]" && name == FACADE {
                let what = "tests depend on the facade; they need the crates that it exports";
                findings.push(manifest.finding(line + 1, what));
            } else if section.ends_with("dependencies]")
                && !section.contains("dev-")
                && place(name).is_some_and(|other| other >= index)
            {
                let what = format!(
                    "{} depends on {name}, which is not before it in {HERE}",
                    crate_name(path)
                );
                findings.push(manifest.finding(line + 1, what));
            }
        }
    }
    findings
}

/// The name of the crate whose sources are in a folder.
fn crate_name(folder: &str) -> &str {
    folder.trim_end_matches("/src").rsplit('/').next().unwrap_or(folder)
}

/// The path of the table, for findings about the table itself.
const HERE: &str = "xtask/src/tidy/layers.rs";

impl Layers {
    fn check(&self, tree: &Tree) -> Vec<Finding> {
        let sources: Vec<&Source> = tree.rust().filter(|file| file.under(self.folder)).collect();
        let modules: BTreeSet<&str> = sources.iter().filter_map(|file| self.module(file)).collect();
        let is_macro = |name: &str| {
            let definition = format!("macro_rules! {name} ");
            sources.iter().any(|file| file.text.contains(&definition))
        };
        let mut findings = self.misplaced(&modules);
        for file in &sources {
            let Some(own) = self.module(file) else { continue };
            for (target, line) in &self.imports(file) {
                if !modules.contains(target.as_str()) {
                    if !is_macro(target) {
                        let what = format!(
                            "imports crate::{target} from the crate's root; name its module"
                        );
                        findings.push(file.finding(*line, what));
                    }
                } else if !self.is_left(target, own) {
                    findings.push(file.finding(*line, remedy(own, target)));
                }
            }
        }
        findings
    }

    /// The top-level module of a file; `None` for the crate's root and for tests.
    fn module<'f>(&self, file: &'f Source) -> Option<&'f str> {
        let inner = self.inner(file);
        let name = inner.split('/').next()?.trim_end_matches(".rs");
        let is_root = matches!(inner, "lib.rs" | "main.rs");
        (!is_root && !inner.ends_with("tests.rs")).then_some(name)
    }

    /// The path below the crate's folder.
    fn inner<'f>(&self, file: &'f Source) -> &'f str {
        file.path.strip_prefix(self.folder).unwrap_or(&file.path).trim_start_matches('/')
    }

    /// Whether a module may be imported by another: it is to its left, or the same.
    fn is_left(&self, target: &str, own: &str) -> bool {
        let place = |name: &str| self.order.iter().position(|own| *own == name);
        target == own || place(target) < place(own)
    }

    /// Modules that the order lacks, and names of the order that are not modules.
    fn misplaced(&self, modules: &BTreeSet<&str>) -> Vec<Finding> {
        let missing = modules.iter().filter(|name| !self.order.contains(name));
        let missing =
            missing.map(|name| format!("{name} of {} is in no layer; add it", self.folder));
        let stale = self.order.iter().filter(|name| !modules.contains(*name));
        let stale = stale.map(|name| format!("{} has no module {name}; drop it", self.folder));
        let finding = |what| Finding { path: HERE.to_owned(), line: 1, what };
        missing.chain(stale).map(finding).collect()
    }

    /// The imports of a file from the crate's root, each name with the line of its first mention.
    fn imports(&self, file: &Source) -> BTreeMap<String, usize> {
        let code = code(before_tests(&file.text)).replace("$crate", "");
        let depth = self.inner(file).split('/').count();
        let mut found = BTreeMap::new();
        for named in paths(&code) {
            let ups = named.segments.iter().take_while(|segment| *segment == "super").count();
            let name = match named.segments.first().map(String::as_str) {
                Some("crate") => named.segments.get(1),
                Some("super") if ups == depth => named.segments.get(ups),
                _ => None,
            };
            if let Some(name) = name {
                found.entry(name.clone()).or_insert(named.line);
            }
        }
        found
    }
}

fn remedy(own: &str, target: &str) -> String {
    format!(
        "{own} imports crate::{target}, which is not to its left in {HERE}; move what {own} needs \
         into a lower layer, or the importing code into a higher one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: Layers = Layers { folder: "crates/a/src", order: &["low", "middle", "high"] };

    const FILES: [(&str, &str); 3] = [
        ("crates/a/src/low.rs", ""),
        ("crates/a/src/middle.rs", "use crate::low::A;"),
        ("crates/a/src/high.rs", "use crate::{low::A, middle};"),
    ];

    fn check(layers: &Layers, path: &str, text: &str) -> Vec<String> {
        let mut files = FILES.to_vec();
        files.push((path, text));
        layers.check(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_import_against_the_order_names_file_import_and_remedy() {
        let found = check(&LAYERS, "crates/a/src/low/part.rs", "\nuse crate::high::Thing;\n");
        assert_eq!(
            found,
            ["crates/a/src/low/part.rs:2: low imports crate::high, which is not to its left in \
              xtask/src/tidy/layers.rs; move what low needs into a lower layer, or the importing \
              code into a higher one"]
        );
    }

    #[test]
    fn every_spelling_of_an_import_is_read() {
        for text in [
            "use crate::{low::A, high::{B, C}};",
            "fn f() -> crate::high::Thing { x() }",
            "use super::super::high;",
            "pub use crate::high as other;",
            "use crate::Thing;",
            "use crate::reexported::Thing;",
            "#[cfg(test)]\nmod tests;\nuse crate::high::Thing;",
        ] {
            assert_eq!(check(&LAYERS, "crates/a/src/low/part.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn imports_along_the_order_and_in_tests_are_allowed() {
        for (path, text) in [
            ("crates/a/src/high/part.rs", "use crate::{low, middle::B};\nuse super::other;"),
            ("crates/a/src/low/part.rs", "macro_rules! m { }\nuse crate::m;\nuse super::high;"),
            (
                "crates/a/src/low/part.rs",
                "// crate::high\nmacro_rules! m { () => { $crate::high::A } }",
            ),
            ("crates/a/src/low/part.rs", "\n#[cfg(test)]\nmod tests { use crate::high; }"),
            ("crates/a/src/low/tests.rs", "use crate::high;"),
            ("crates/a/src/lib.rs", "mod high; use crate::high::A;"),
            ("crates/b/src/low.rs", "use crate::high;"),
        ] {
            assert_eq!(check(&LAYERS, path, text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_dependency_against_the_order_of_crates_is_found() {
        let manifest = "[dependencies]\nhigh.workspace = true\nother = \"1\"\n[dev-dependencies]\nhigh = { path = \"..\" }\n";
        let tree = Tree::of(&[
            ("crates/low/Cargo.toml", manifest),
            ("crates/high/Cargo.toml", "[dependencies]\nlow = { optional = true }\n"),
        ]);
        let found = crates_against(&tree, &["crates/low/src", "crates/high/src"]);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [format!(
                "crates/low/Cargo.toml:2: low depends on high, which is not before it in {HERE}"
            )]
        );
    }

    #[test]
    fn a_crate_without_a_layer_and_a_test_of_the_facade_are_found() {
        let tree = Tree::of(&[
            ("crates/low/Cargo.toml", "[dev-dependencies]\ntoolwright.workspace = true\n"),
            ("crates/new/Cargo.toml", ""),
        ]);
        let found = crates_against(&tree, &["crates/low/src"]);
        let found: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(found, ["crates/low/Cargo.toml", "crates/new/Cargo.toml"]);
    }

    #[test]
    fn the_order_has_every_module_and_no_other() {
        let found = check(&LAYERS, "crates/a/src/new.rs", "");
        assert!(found[0].ends_with("new of crates/a/src is in no layer; add it"));
        let layers = Layers { order: &["low", "middle", "high", "gone"], ..LAYERS };
        assert!(check(&layers, "crates/a/src/lib.rs", "")[0].ends_with("no module gone; drop it"));
    }
}
