//! Measures a catalog of 1,000 to 100,000 functions on disk: opening it, a version that is in memory and one
//! that is not, the first search of a process, from a snapshot, and later searches.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::LazyLock;

use divan::{Bencher, black_box};
use tempfile::TempDir;
use toolwright_catalog::{Access, Catalog, Manifest, Package, PublishOptions, SearchOptions};
use toolwright_core::Json;

fn main() {
    divan::main();
}

/// Numbers of functions.
#[cfg(not(debug_assertions))]
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// In the build of the tests, the smallest catalog shows that all of it runs.
#[cfg(debug_assertions)]
const SIZES: [usize; 1] = [1_000];

/// Number of functions of a prefab.
const EACH: usize = 100;

const VERBS: [&str; 8] =
    ["convert", "parse", "render", "translate", "send", "list", "compare", "archive"];
const NOUNS: [&str; 8] =
    ["invoice", "picture", "route", "message", "ticket", "forecast", "contract", "表格"];

static CATALOGS: LazyLock<Vec<(usize, TempDir)>> = LazyLock::new(|| {
    let create = |size: usize| {
        let data = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(data.path()).unwrap();
        let packages = (0..size / EACH).map(package).collect();
        catalog.publish_all(packages, PublishOptions::default(), |_| ()).unwrap();
        // Writes the snapshot.
        search(&catalog);
        (size, data)
    };
    SIZES.into_iter().map(create).collect()
});

fn package(number: usize) -> Package {
    let function = |index: usize| {
        let (verb, noun) = (VERBS[index % 8], NOUNS[(index / 8 + number) % 8]);
        format!(
            r#"{{"name":"{verb}_{noun}_{index}","description":"Can {verb} a {noun} of kind {number} for department {index}.",
                "parameters":[{{"name":"{noun}_id","type":"string","description":"Which {noun}","required":true}},
                {{"name":"format","type":"string","enum":["short","long"]}}],
                "returns":{{"type":"object","properties":{{"ok":{{"type":"boolean"}}}}}}}}"#
        )
    };
    let functions: Vec<String> = (0..EACH).map(function).collect();
    let text = format!(
        r#"{{"id":"prefab-{number}","version":"1.0.0","name":"Prefab {number}",
            "description":"Functions of department {number}.","tags":["t{}"],
            "functions":[{}],"runtime":{{"http":{{"base_url":"https://example.com"}}}}}}"#,
        number % 10,
        functions.join(",")
    );
    Package::new(Manifest::parse(&Json::parse(&text).unwrap()).unwrap())
}

fn data(size: usize) -> &'static Path {
    CATALOGS.iter().find(|(own, _)| *own == size).unwrap().1.path()
}

fn search(catalog: &Catalog) -> usize {
    let options = SearchOptions::default();
    catalog.search(&Access::everything(), "parse forecast department", &options).unwrap().len()
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn open(bencher: Bencher<'_, '_>, size: usize) {
    let data = data(size);
    bencher.bench(|| Catalog::open(data).unwrap());
}

#[divan::bench(args = SIZES)]
fn version_in_memory(bencher: Bencher<'_, '_>, size: usize) {
    let catalog = Catalog::open(data(size)).unwrap();
    bencher.bench(|| catalog.version(&Access::everything(), black_box("prefab-3"), None).unwrap());
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn version_on_disk(bencher: Bencher<'_, '_>, size: usize) {
    let data = data(size);
    bencher.with_inputs(|| Catalog::open(data).unwrap()).bench_values(|catalog| {
        catalog.version(&Access::everything(), black_box("prefab-3"), None).unwrap()
    });
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn first_search(bencher: Bencher<'_, '_>, size: usize) {
    let data = data(size);
    bencher.with_inputs(|| Catalog::open(data).unwrap()).bench_values(|catalog| search(&catalog));
}

#[divan::bench(args = SIZES)]
fn later_search(bencher: Bencher<'_, '_>, size: usize) {
    let catalog = Catalog::open(data(size)).unwrap();
    search(&catalog);
    bencher.bench(|| search(&catalog));
}

#[divan::bench(args = SIZES)]
fn unknown_prefab(bencher: Bencher<'_, '_>, size: usize) {
    let catalog = Catalog::open(data(size)).unwrap();
    bencher.bench(|| catalog.version(&Access::everything(), black_box("prefb-3"), None).is_err());
}
