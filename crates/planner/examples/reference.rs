//! Fills the tables of the workflow reference: Markdown comes in, Markdown goes out. `cargo xtask
//! codegen` runs it.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use planner::language::fill_reference;

fn main() -> ExitCode {
    let mut markdown = String::new();
    let done = std::io::stdin()
        .read_to_string(&mut markdown)
        .map_err(|error| error.to_string())
        .and_then(|_| fill_reference(&markdown).map_err(|error| error.to_string()))
        .and_then(|filled| {
            std::io::stdout().write_all(filled.as_bytes()).map_err(|error| error.to_string())
        });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
