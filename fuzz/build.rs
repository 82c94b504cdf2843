//! Collects the keywords of the wire formats, which are string literals in the dialects, so that
//! mutated documents contain words that some decoder looks for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const SOURCES: &str = "../crates/toolwright-dialects/src";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCES}");
    let mut words = BTreeSet::new();
    collect(Path::new(SOURCES), &mut words)?;
    let words: Vec<String> = words.into_iter().collect();
    let place = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("words.txt");
    fs::write(place, words.join("\n"))
}

fn collect(folder: &Path, words: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, words)?;
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            // Every second piece between quotation marks is a literal.
            words.extend(
                line.split('"').skip(1).step_by(2).filter(|word| fits(word)).map(Into::into),
            );
        }
    }
    Ok(())
}

fn fits(word: &str) -> bool {
    (2..=40).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}
