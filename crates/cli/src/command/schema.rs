//! `convoke schema`

use crate::{
    failure::{Exit, Failure},
    output,
};

pub(crate) fn run() -> Result<Exit, Failure> {
    output::json(&planner::language::schema())?;
    Ok(Exit::Ok)
}
