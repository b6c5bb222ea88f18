//! `convoke plan`

use std::path::Path;

use anstream::println;

use crate::{
    args::{Args, PlanFormat},
    failure::{Exit, Failure},
    output,
    place::Place,
    workflow_file,
};

pub(crate) async fn run(args: &Args, file: &Path, format: PlanFormat) -> Result<Exit, Failure> {
    let workflow = workflow_file::load(&workflow_file::find(&file.to_string_lossy()))?;
    let place = Place::look(args).await?;
    let plan = workflow_file::bind(&place, workflow).await?;
    match format {
        _ if args.json => output::json(&planner::show::json(&plan))?,
        PlanFormat::Json => output::json(&planner::show::json(&plan))?,
        PlanFormat::Text => println!("{}", planner::show::text(&plan).trim_end()),
        PlanFormat::Mermaid => println!("{}", planner::show::mermaid(&plan).trim_end()),
        PlanFormat::Dot => println!("{}", planner::show::dot(&plan).trim_end()),
        PlanFormat::Svg => {
            println!("{}", planner::show::svg(&plan).map_err(Failure::work)?.trim_end());
        }
    }
    Ok(Exit::Ok)
}
