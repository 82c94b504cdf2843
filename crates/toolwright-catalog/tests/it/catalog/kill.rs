//! A process that publishes is killed a hundred times. Each version is there entirely or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use toolwright_catalog::{Access, Catalog, Package, PublishOptions};
use toolwright_testing::process::{self, Player};

use super::{folder, publish};

const KILLS: u32 = 100;
/// Files of a version.
const FILES: usize = 8;

/// Publishes version after version until it is killed.
fn play(role: &[String]) -> ! {
    let [data, source] = role else { panic!("{role:?}") };
    let catalog = Catalog::open(data.as_ref()).unwrap();
    let next = catalog.versions(&Access::everything(), "test-prefab").unwrap().len();
    // The first publication of a process compiles the patterns of credentials.
    publish(&catalog, "other-prefab", "1.0.0").unwrap();
    process::say("open");
    for minor in next.. {
        let version = format!("1.{minor}.0");
        let names: Vec<String> =
            (0..FILES).map(|index| format!("lib{}/f{index}", index % 2)).collect();
        let files: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), version.as_str())).collect();
        let folder = folder(source.as_ref(), "test-prefab", &version, &files);
        let package = Package::read(&folder).unwrap();
        process::say("start");
        catalog.publish(package, PublishOptions::default()).unwrap();
        process::say("published");
        fs::remove_dir_all(folder).unwrap();
    }
    process::leave()
}

/// What a kill has interrupted, by what is in the folders before the catalog is opened again.
fn interrupted(data: &Path) -> &'static str {
    let stage = data.join("catalog/.publish");
    let Some(entry) = fs::read_dir(stage).ok().and_then(|mut entries| entries.next()) else {
        return "between publications";
    };
    let path = entry.unwrap().path();
    if path.join("files").exists() { "while files were written" } else { "after they were moved" }
}

#[test]
fn a_killed_publication_leaves_a_version_entirely_or_not_at_all() {
    const TEST: &str =
        "catalog::kill::a_killed_publication_leaves_a_version_entirely_or_not_at_all";
    if let Some(role) = process::role() {
        play(&role);
    }
    let (data, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let role = [data.path().to_str().unwrap(), source.path().to_str().unwrap()];
    let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
    let mut before = 0;
    let mut duration = Duration::ZERO;
    for round in 0..KILLS {
        let mut publisher = Player::start(TEST, &role);
        assert_eq!(publisher.next().as_deref(), Some("open"));
        assert_eq!(publisher.next().as_deref(), Some("start"));
        let start = Instant::now();
        if round % 4 == 0 {
            // After a publication, whose duration the next three kills divide.
            assert_eq!(publisher.next().as_deref(), Some("published"));
            duration = start.elapsed();
        } else {
            std::thread::sleep(duration.min(Duration::from_millis(100)) * (round * 37 % 100) / 100);
        }
        publisher.kill();
        drop(publisher);
        *phases.entry(interrupted(data.path())).or_default() += 1;

        let catalog = Catalog::open(data.path()).unwrap();
        let versions = catalog.versions(&Access::everything(), "test-prefab").unwrap();
        assert!(versions.len() >= before, "no version is lost");
        before = versions.len();
        for summary in &versions {
            let version = Some(summary.version.as_str());
            let found = catalog.version(&Access::everything(), "test-prefab", version).unwrap();
            let package = Package::read(&found.folder.clone().unwrap()).unwrap();
            assert_eq!(package.digest(), found.digest, "{} is whole", summary.version);
        }
        let folders = match fs::read_dir(data.path().join("catalog/test-prefab")) {
            Ok(entries) => entries.count(),
            Err(_) => 0,
        };
        assert_eq!(folders, versions.len(), "no folder is left without its version");
        assert_eq!(
            fs::read_dir(data.path().join("catalog/.publish")).map_or(0, Iterator::count),
            0
        );
        for entry in fs::read_dir(source.path()).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
    }
    println!("{KILLS} kills: {phases:?}; {before} versions");
    assert!(before >= 25, "some were published");
    assert!(phases.contains_key("while files were written"), "{phases:?}");
}
