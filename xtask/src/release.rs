//! The library as its users get it: a crate outside of the workspace, the packages, and the API that they
//! rely on.

use std::fs;

use crate::run::{Failure, Outcome, Program, root};

/// The commit whose API must stay compatible, unless the version says otherwise: with `0.x`, a breaking
/// change needs the next minor version. Move it to the commit of each release; before the first release,
/// to the commit before an intended change.
const BASELINE: &str = "95fae59815bf69ee2515dbf7d2368aef4f9c4852";

/// The version of `cargo-semver-checks`, and where it is installed.
const SEMVER_CHECKS: &str = "0.51.0";
const SEMVER_FOLDER: &str = "target/semver";

/// A command of cargo in the crate outside of the workspace. It shares the target directory, and with it the compiled
/// dependencies.
fn outside(command: &[&str]) -> Program {
    let place = ["--manifest-path", "examples/external/Cargo.toml", "--target-dir", "target"];
    Program::cargo().with(command).with(&place)
}

/// Compiles and runs the examples of the README and the guide in a crate outside of the workspace, without warnings,
/// and compares what the compiler says of mistakes. Checks the library without default features, too.
pub(crate) fn external() -> Outcome {
    outside(&["test", "--doc"]).run()?;
    let says = |command: &[&str], succeeds: bool, expected: Option<&str>| -> Outcome {
        let program = outside(command);
        let line = program.line().to_owned();
        let (succeeded, text) = program.capture()?;
        let fits = expected.map_or(!text.contains("warning"), |expected| text.contains(expected));
        if succeeded == succeeds && fits {
            return Ok(());
        }
        Err(Failure(format!("{line} is expected to say {expected:?}, and says\n{text}")))
    };
    says(&["build", "--lib"], true, None)?;
    let handler = "write `name::handler()` in place of `name`";
    says(&["build", "--example", "no_handler"], false, Some(handler))?;
    let description = "the tool `add` has no description";
    says(&["build", "--example", "no_description"], true, Some(description))?;
    without_default_features()
}

/// Checks that the library without default features compiles, and has neither dialects nor plans nor their dependencies.
fn without_default_features() -> Outcome {
    let library = ["--package", "toolwright", "--no-default-features"];
    Program::cargo().with(&["check"]).with(&library).run()?;
    let tree = Program::cargo().with(&["tree", "--edges", "normal", "--prefix", "none"]);
    let (_, text) = tree.with(&library).capture()?;
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let is_there = |name: &&&str| names.contains(*name);
    match ["hyper", "rusqlite", "toolwright-dialects", "toolwright-plan"].iter().find(is_there) {
        Some(name) => {
            Err(Failure(format!("toolwright without default features depends on {name}")))
        }
        None if names.contains(&"toolwright-core") => Ok(()),
        None => Err(Failure(format!("no tree of dependencies, but\n{text}"))),
    }
}

/// Packages every crate of the workspace, and checks the packages against each other, with their default features,
/// which no other step has. Most dependencies are shared with the lints; `cargo publish --dry-run` would build them
/// once more.
pub(crate) fn publish() -> Outcome {
    let folder = root().join("target/package");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Program::cargo().with(&["package", "--workspace", "--no-verify", "--allow-dirty"]).run()?;
    let mut members = Vec::new();
    for package in fs::read_dir(&folder)? {
        let package = package?.path();
        if package.extension().is_some_and(|extension| extension == "crate") {
            let [package, folder] = [&package, &folder].map(|path| path.to_string_lossy());
            Program::new("tar").with(&["-xzf", &package, "-C", &folder]).run()?;
            let name = package.trim_end_matches(".crate").rsplit('/').next().unwrap_or_default();
            members.push(name.to_owned());
        }
    }
    fs::write(folder.join("Cargo.toml"), workspace_of(&members)?)?;
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Program::cargo()
        .with(&["check", "--manifest-path", "target/package/Cargo.toml", "--target-dir", "target"])
        .with(&["--workspace", "--lib", "--bins"])
        .run()
}

/// The manifest of a workspace of packages that depend on each other. It has the profiles of this workspace, because
/// cargo shares dependencies only between equal profiles.
fn workspace_of(members: &[String]) -> Outcome<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let profiles = manifest.find("[profile.").map_or("", |start| &manifest[start..]);
    let patch = |member: &String| {
        let (name, _) = member.rsplit_once('-')?;
        Some(format!("{name} = {{ path = \"{member}\" }}\n"))
    };
    let patches = members.iter().filter_map(patch).collect::<Vec<String>>().concat();
    Ok(format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{patches}\n{profiles}"
    ))
}

/// Compares the public API of the libraries with that of the baseline, in a clone that has it.
pub(crate) fn semver() -> Outcome {
    let commit = format!("{BASELINE}^{{commit}}");
    let found = Program::new("git").with(&["cat-file", "-e", &commit]).capture();
    if !found.is_ok_and(|(is_there, _)| is_there) {
        println!("not compared: commit {BASELINE} is not in this clone; run git fetch --unshallow");
        return Ok(());
    }
    let tool = root().join(SEMVER_FOLDER).join("bin/cargo-semver-checks");
    let version = Program::new(&tool).with(&["semver-checks", "--version"]).capture();
    if !version.is_ok_and(|(_, text)| text.trim().ends_with(SEMVER_CHECKS)) {
        println!("installing cargo-semver-checks {SEMVER_CHECKS} into {SEMVER_FOLDER}");
        // Without optimization it is built in half the time.
        Program::cargo()
            .with(&["install", "cargo-semver-checks", "--version", SEMVER_CHECKS, "--locked"])
            .with(&["--debug", "--quiet", "--root", SEMVER_FOLDER])
            .with(&["--target-dir", &format!("{SEMVER_FOLDER}/build")])
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .run()?;
    }
    Program::new(&tool)
        .with(&["semver-checks", "--baseline-rev", BASELINE])
        .with(&["--package", "toolwright-core", "--package", "toolwright"])
        .run()
}
