//! Packages: folders with a manifest.

use std::fs;
use std::path::Path;

use toolwright_catalog::{Access, Catalog, Package, PackageError, PublishOptions};
use toolwright_core::Json;

use super::folder;

#[test]
fn the_files_of_a_folder_are_published_with_its_manifest() {
    let (at, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = [
        ("run.py", "print(1)"),
        ("lib/a.py", "A = 1"),
        (".env", "TOKEN=abc"),
        (".git/HEAD", "x"),
        ("__pycache__/run.pyc", "x"),
    ];
    let folder = folder(at.path(), "test-prefab", "1.0.0", &files);
    let package = Package::read(&folder).unwrap();
    assert_eq!(package.paths().collect::<Vec<_>>(), ["lib/a.py", "prefab.json", "run.py"]);
    assert_eq!(Package::read(&folder.join("prefab.json")).unwrap().digest(), package.digest());
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.publish(package, PublishOptions::default()).unwrap();
    let found = catalog.version(&Access::everything(), "test-prefab", None).unwrap();
    let published = found.folder.clone().unwrap();
    assert!(published.starts_with(data.path().join("catalog/test-prefab/1.0.0")));
    assert_eq!(fs::read_to_string(published.join("lib/a.py")).unwrap(), "A = 1");
    assert!(!published.join(".env").exists());
    catalog.remove("test-prefab", None).unwrap();
    assert!(!data.path().join("catalog/test-prefab").exists());
}

#[test]
fn the_digest_covers_every_file() {
    let at = tempfile::tempdir().unwrap();
    let digest = |files: &[(&str, &str)]| {
        let folder = folder(at.path(), "test-prefab", "1.0.0", files);
        let digest = Package::read(&folder).unwrap().digest().to_owned();
        fs::remove_dir_all(folder).unwrap();
        digest
    };
    let one = digest(&[("run.py", "a"), ("b", "c")]);
    assert_eq!(one, digest(&[("b", "c"), ("run.py", "a")]));
    for other in [
        digest(&[("run.py", "a")]),
        digest(&[("run.py", "ab"), ("b", "c")]),
        digest(&[("run.py", "a"), ("b2", "c")]),
        digest(&[("run.pya", ""), ("b", "c")]),
    ] {
        assert_ne!(one, other);
    }
}

#[cfg(unix)]
#[test]
fn links_stay_within_the_folder() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let at = tempfile::tempdir().unwrap();
    let folder = folder(at.path(), "test-prefab", "1.0.0", &[("run.py", "x")]);
    symlink("run.py", folder.join("alias.py")).unwrap();
    fs::set_permissions(folder.join("run.py"), fs::Permissions::from_mode(0o755)).unwrap();
    let package = Package::read(&folder).unwrap();
    assert_eq!(package.paths().collect::<Vec<_>>(), ["alias.py", "prefab.json", "run.py"]);
    for target in ["/etc/hostname", "../other", "."] {
        let link = folder.join("link");
        fs::write(at.path().join("other"), "x").unwrap();
        symlink(target, &link).unwrap();
        let error = Package::read(&folder).unwrap_err();
        assert!(matches!(&error, PackageError::File { path, .. } if *path == link), "{error}");
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn the_files_of_a_package_are_limited_in_number_size_and_depth() {
    let at = tempfile::tempdir().unwrap();
    let folder = folder(at.path(), "test-prefab", "1.0.0", &[]);
    let refused = || Package::read(&folder).unwrap_err().to_string();
    let (count, bytes) = (2_000, 64 << 20);
    // With the manifest, as many as are allowed.
    for file in 1..count {
        fs::write(folder.join(format!("{file}.txt")), "").unwrap();
    }
    assert_eq!(Package::read(&folder).unwrap().paths().count(), count);
    fs::write(folder.join("more.txt"), "").unwrap();
    assert!(refused().contains("at most 2000 files"), "{}", refused());
    fs::remove_file(folder.join("more.txt")).unwrap();

    let manifest = fs::metadata(folder.join("prefab.json")).unwrap().len();
    let large = fs::File::create(folder.join("1.txt")).unwrap();
    large.set_len(bytes - manifest + 1).unwrap();
    assert!(refused().contains("of 67108864 bytes in total"), "{}", refused());
    large.set_len(bytes - manifest).unwrap();
    Package::read(&folder).unwrap();

    let deep = folder.join(vec!["d"; 33].join("/"));
    fs::create_dir_all(&deep).unwrap();
    assert!(refused().contains("more than 32 folders deep"), "{}", refused());
}

#[test]
fn a_folder_has_one_manifest() {
    let at = tempfile::tempdir().unwrap();
    let refused = |path: &Path| Package::read(path).unwrap_err().to_string();
    assert!(refused(at.path()).ends_with("has no manifest (prefab.json or prefab.toml)"));
    let folder = folder(at.path(), "test-prefab", "1.0.0", &[("prefab.toml", "")]);
    assert!(refused(&folder).ends_with("keep one of them"));
    fs::remove_file(folder.join("prefab.toml")).unwrap();
    fs::write(folder.join("prefab.json"), r#"{"id": 5}"#).unwrap();
    let error = Package::read(&folder).unwrap_err();
    assert!(matches!(&error, PackageError::Manifest { faults, .. } if faults.len() > 3), "{error}");
    fs::write(folder.join("prefab.json"), "{").unwrap();
    assert!(refused(&folder).contains("not JSON"));
}

#[test]
fn a_program_of_the_folder_must_be_there() {
    let at = tempfile::tempdir().unwrap();
    let folder = folder(at.path(), "test-prefab", "1.0.0", &[]);
    let text = fs::read_to_string(folder.join("prefab.json")).unwrap();
    fs::write(folder.join("prefab.json"), text.replace("python3", "./bin/run")).unwrap();
    let Err(PackageError::Manifest { faults, .. }) = Package::read(&folder) else { panic!() };
    assert_eq!(faults[0].pointer, "/runtime/process/command/0");
}

#[test]
fn an_index_is_a_list_of_prefabs() {
    let entry = |id: &str, more: &str| {
        format!(
            r#"{{"id":"{id}","version":"0.1.0","name":"N","description":"Listed in an index."{more}}}"#
        )
    };
    let read = |entries: &[String]| {
        let text = format!("[{}]", entries.join(","));
        Package::read_index_with_progress(&Json::parse(&text).unwrap(), |_| ())
    };
    let whole = r#","functions":[{"name":"f","description":"Does it."}],
        "runtime":{"http":{"base_url":"https://example.com"}}"#;
    let packages = read(&[entry("prefab-a", ""), entry("prefab-b", whole)]).unwrap();
    let functions: Vec<usize> =
        packages.iter().map(|package| package.manifest().functions.len()).collect();
    assert_eq!(functions, [0, 1]);
    let process = r#","functions":[{"name":"f","description":"Does it."}],
        "runtime":{"process":{"command":["python3"]}}"#;
    let faults =
        read(&[entry("A", ""), entry("prefab-b", process), entry("prefab-c", r#","x":1"#)]);
    let faults = faults.unwrap_err();
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["/0/id", "/1/runtime/process/command", "/2/x"]);

    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.publish_all(packages, PublishOptions::default(), |_| ()).unwrap();
    let found = catalog.version(&Access::everything(), "prefab-a", None).unwrap();
    assert_eq!(found.functions(&Access::everything()).count(), 0);
}
