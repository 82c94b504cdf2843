//! Runs the shell blocks of the README and of the pages in `docs/` as a reader does: `conformance/journeys.py`.

use crate::build;
use crate::conformance::{JAVASCRIPT, sdks};
use crate::mcp;
use crate::run::Outcome;

/// Installs packages, as the documents tell a reader, and runs the blocks of these documents, or of all.
pub(crate) fn run(documents: &[&str]) -> Outcome {
    build::gateway()?;
    let sdks = sdks();
    sdks.install()?;
    mcp::python_sdk().install()?;
    JAVASCRIPT.install()?;
    mcp::PACKAGES.install()?;
    sdks.python("conformance/journeys.py").with(documents).run()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::run::Program;

    /// Runs a document of this text, and returns whether it passed, and what was printed.
    fn journey(name: &str, text: &str) -> (bool, String) {
        let document =
            std::env::temp_dir().join(format!("journey-{name}-{}.md", std::process::id()));
        fs::write(&document, text).unwrap();
        let script = Program::new("python3").with(&["conformance/journeys.py"]);
        let outcome = script.with(&[&document.to_string_lossy()]).capture().unwrap();
        fs::remove_file(document).unwrap();
        outcome
    }

    #[test]
    fn a_document_whose_blocks_do_what_it_shows_passes_and_names_what_was_not_run() {
        let (passed, printed) = journey(
            "fine",
            "\
<!-- file: note.txt -->
```text
buy tea
```

```console
$ cat note.txt; echo run plan_12ab took 7 ms
buy …
run plan_c5d4… took 25 ms
$ test plan_c5d4… = plan_12ab
$ cd /; { echo error: absent; false; }
error: absent
```

<!-- not run: needs a key -->
```sh
exit 1
```

```sh
pwd
echo '{\"a\": [1]}'
```

```json
/
{
  \"a\": [
    1
  ]
}
```
",
        );
        assert!(passed, "{printed}");
        assert!(printed.contains("2 blocks ran, 1 did not:"), "{printed}");
        assert!(printed.contains(": needs a key"), "{printed}");
    }

    #[test]
    fn a_block_that_does_not_do_what_the_document_shows_fails_with_its_line() {
        for (name, block, why) in [
            (
                "output",
                "```console\n$ echo tea\ncoffee\n```\n",
                "printed\ntea\n\nin place of\ncoffee",
            ),
            ("command", "```sh\nfalse\necho tea\n```\n", "failed, or took more than"),
            (
                "error",
                "```console\n$ echo error: no\nerror: no\n```\n",
                "failed, or took more than",
            ),
            ("nothing", "```sh\necho tea\n```\n", "shows no output to compare"),
        ] {
            let (passed, printed) = journey(name, &format!("Text.\n\n{block}"));
            assert!(!passed && printed.contains(why), "{name}: {printed}");
            assert!(name == "nothing" || printed.contains(".md:3: this"), "{name}: {printed}");
        }
    }
}
