//! `convoke config`

use anstream::println;

use crate::{
    args::{Args, ConfigArgs},
    config::{Config, Layers},
    failure::{Exit, Failure},
    output::{self, DIM},
};

pub(crate) fn run(args: &Args, config: &ConfigArgs) -> Result<Exit, Failure> {
    let (_, layers) = Config::load(config)?;
    if args.json {
        output::json(&layers.to_json())?;
    } else {
        show(&layers);
    }
    Ok(Exit::Ok)
}

/// What holds, as a configuration file, with a comment on each line that says where the value comes from.
fn show(layers: &Layers) {
    let mut sections: Vec<&str> = Vec::new();
    let lines: Vec<(String, String)> = layers
        .iter()
        .map(|(key, setting)| (key.to_owned(), format!("{}", setting.value.to_json())))
        .collect();
    let width = lines.iter().map(|(key, value)| key.len() + value.len()).max().unwrap_or_default();
    for ((key, value), (_, setting)) in lines.iter().zip(layers.iter()) {
        let mut inside: Vec<&str> = key.split('.').collect();
        let key = inside.pop().unwrap_or_default();
        let shared = sections.iter().zip(&inside).take_while(|(one, other)| one == other).count();
        for (depth, section) in inside.iter().enumerate().skip(shared) {
            println!("{}{section}:", "  ".repeat(depth));
        }
        let indent = "  ".repeat(inside.len());
        sections = inside;
        let line = format!("{indent}{key}: {value}");
        println!("{line:<width$}  {DIM}# {}{DIM:#}", setting.origin, width = width + 2);
    }
}
