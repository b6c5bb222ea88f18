//! `convoke plan`

use std::path::Path;

use anstream::{eprintln, println};
use planner::Plan;

use crate::{
    args::{Args, PlanFormat},
    failure::{Exit, Failure},
    output,
    place::Place,
    workflow_file,
};

pub(crate) async fn run(
    args: &Args,
    file: &Path,
    format: PlanFormat,
    is_to_lock: bool,
) -> Result<Exit, Failure> {
    let path = workflow_file::find(&file.to_string_lossy());
    let plan = if is_to_lock {
        lock(args, &path).await?
    } else {
        let workflow = workflow_file::load(&path)?;
        workflow_file::bind(&Place::look(args).await?, workflow).await?
    };
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

/// Writes the lock of a workflow's file beside it, whatever is there already.
async fn lock(args: &Args, path: &Path) -> Result<Plan, Failure> {
    let beside = server::lock_of(path);
    let workflow = workflow_file::load_unlocked(path)?;
    let place = Place::look(args).await?;
    let (plan, lock) = workflow_file::bind_and_lock(&place, workflow, &beside).await?;
    let text = lock.to_yaml();
    let shown = workflow_file::shown(&beside);
    if std::fs::read_to_string(&beside).is_ok_and(|known| known == text) {
        eprintln!("{shown} stays as it is");
        return Ok(plan);
    }
    std::fs::write(&beside, text)
        .map_err(|error| Failure::work(format!("cannot write {shown}: {error}")))?;
    let (steps, agents) = lock.size();
    eprintln!("wrote {shown}: steps {steps}, agents {agents}");
    Ok(plan)
}
