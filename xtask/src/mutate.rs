//! `cargo xtask mutate-fields`: whether the tests of the workflow language notice a field that is ignored.
//!
//! Convoke is built once more with the planner's feature `drop-field`. A file is then checked as always, and
//! after that taken as if nobody had written the one field that the environment names. Each field has a row
//! in `tests/every/fields`, which has to pass as things are, and to fail when its field is ignored.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{process, suites::Built};

/// What the test prints before the rows that failed.
const MISSED: &str = "no effect of these fields is seen: ";

/// Drops each field, or those whose names hold a word, and names every one that no row missed.
pub(crate) fn run(word: Option<&str>) -> Result<()> {
    let built = Built::of(&["--features", "planner/drop-field", "--bins", "--test", "every"])?;
    let test = Rows { built: &built };
    process::run(&mut test.command(&[])?).context("the rows have to pass as things are")?;
    let fields = test.fields()?;
    let chosen: Vec<&String> =
        fields.iter().filter(|field| word.is_none_or(|word| field.contains(word))).collect();
    if chosen.is_empty() {
        bail!("no field has `{}` in its name", word.unwrap_or_default());
    }
    let mut survivors = Vec::new();
    for field in &chosen {
        let seen = test.drop(field)?;
        println!("{} {field}", if seen { "noticed" } else { "MISSED " });
        if !seen {
            survivors.push(field.as_str());
        }
    }
    if survivors.is_empty() {
        println!("all of {} fields are missed by their rows when they are ignored", chosen.len());
        return Ok(());
    }
    bail!("nothing failed when these were ignored: {}", survivors.join(", "))
}

struct Rows<'b> {
    built: &'b Built,
}

impl Rows<'_> {
    fn command(&self, settings: &[(&str, &str)]) -> Result<Command> {
        let mut command = self.built.test("tests · every")?;
        command.args(["--exact", "fields::every_field_does_what_its_row_shows"]);
        command.envs(settings.iter().copied());
        Ok(command)
    }

    /// Every field that has a row.
    fn fields(&self) -> Result<Vec<String>> {
        let mut command = self.built.test("tests · every")?;
        command.args(["--exact", "fields::every_field_of_the_language_has_a_row", "--nocapture"]);
        let printed = process::output(&mut command)?;
        let named = printed.lines().filter_map(|line| line.strip_prefix("field "));
        let fields: Vec<String> = named.map(str::to_owned).collect();
        if fields.is_empty() {
            bail!("the test of the rows named no field");
        }
        Ok(fields)
    }

    /// Whether the row of a field failed, and for no other reason, with the field ignored.
    fn drop(&self, field: &str) -> Result<bool> {
        let settings = [("CONVOKE_DROP_FIELD", field), ("CONVOKE_FIELD", field)];
        let done = self.command(&settings)?.output().context("the tests do not start")?;
        let said = String::from_utf8_lossy(&done.stdout).into_owned()
            + &String::from_utf8_lossy(&done.stderr);
        match (done.status.success(), said.contains(&format!("{MISSED}{field} "))) {
            (true, _) => Ok(false),
            (false, true) => Ok(true),
            (false, false) => bail!("the row of {field} failed in another way:\n{said}"),
        }
    }
}
