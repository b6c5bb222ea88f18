//! Who asks, and what they see.

use std::sync::Arc;

use axum::{extract::FromRequestParts, http::request::Parts};
use jiff::Timestamp;
use registry::{Decision, Record};

use super::{Directory, accounts::View, problem::Problem};
use crate::access::{Principal, Scope};

/// Somebody who may read the directory.
pub(super) struct Visit {
    pub(super) caller: Arc<Principal>,
    pub(super) view: View,
    may_curate: bool,
}

/// Somebody who may change the directory.
pub(super) struct Curator(pub(super) Visit);

impl Visit {
    /// What this one sees of a record.
    pub(super) fn shown(&self, record: Record) -> Record {
        if self.may_curate { record } else { record.for_readers() }
    }

    /// A decision of this one.
    pub(super) fn decision(&self, why: &str) -> Decision {
        Decision { who: self.caller.who(), why: why.to_owned(), at: Timestamp::now() }
    }
}

impl FromRequestParts<Arc<Directory>> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        directory: &Arc<Directory>,
    ) -> Result<Self, Problem> {
        let home = directory.accounts.home();
        let caller = directory.access.principal(&parts.extensions, home);
        let caller = caller.map_err(|why| Problem::from(&why))?;
        caller.check_read_agents().map_err(|why| Problem::from(&why))?;
        let view = directory.view(&caller.account).await?;
        let may_curate = caller.scopes.hold(&Scope::CurateAgents);
        Ok(Self { caller, view, may_curate })
    }
}

impl FromRequestParts<Arc<Directory>> for Curator {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        directory: &Arc<Directory>,
    ) -> Result<Self, Problem> {
        let visit = Visit::from_request_parts(parts, directory).await?;
        if !visit.may_curate {
            return Err(Problem::lacks("changing the agent directory", Scope::CurateAgents));
        }
        Ok(Self(visit))
    }
}
