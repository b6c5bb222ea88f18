//! States and roles, as each dialect calls them.

use serde_json::Value;

use super::Dialect;

/// The states: in 1.0, in the JSON of older versions, and in 0.3's protobuf definition.
const STATES: [[&str; 3]; 9] = [
    ["TASK_STATE_UNSPECIFIED", "unknown", "TASK_STATE_UNSPECIFIED"],
    ["TASK_STATE_SUBMITTED", "submitted", "TASK_STATE_SUBMITTED"],
    ["TASK_STATE_WORKING", "working", "TASK_STATE_WORKING"],
    ["TASK_STATE_COMPLETED", "completed", "TASK_STATE_COMPLETED"],
    ["TASK_STATE_FAILED", "failed", "TASK_STATE_FAILED"],
    ["TASK_STATE_CANCELED", "canceled", "TASK_STATE_CANCELLED"],
    ["TASK_STATE_INPUT_REQUIRED", "input-required", "TASK_STATE_INPUT_REQUIRED"],
    ["TASK_STATE_REJECTED", "rejected", "TASK_STATE_REJECTED"],
    ["TASK_STATE_AUTH_REQUIRED", "auth-required", "TASK_STATE_AUTH_REQUIRED"],
];

const ROLES: [[&str; 2]; 2] = [["ROLE_USER", "user"], ["ROLE_AGENT", "agent"]];

/// Reads a state of any dialect; one that is not known stays, to be complained of by its name.
pub(super) fn read_state(value: Value) -> Value {
    let known = value.as_str().and_then(|word| STATES.iter().find(|row| row.contains(&word)));
    match known {
        Some([name, ..]) => (*name).into(),
        None => value,
    }
}

/// Writes a state. 0.1 knows two fewer: REJECTED failed there, and AUTH_REQUIRED asks.
pub(super) fn write_state(dialect: Dialect, value: Value) -> Value {
    let Some(row) = value.as_str().and_then(|word| STATES.iter().find(|row| row[0] == word)) else {
        return value;
    };
    match (dialect, row[1]) {
        (Dialect::V0_3Proto, _) => row[2].into(),
        (Dialect::V0_1, "rejected") => "failed".into(),
        (Dialect::V0_1, "auth-required") => "input-required".into(),
        (Dialect::V0_3 | Dialect::V0_1, word) => word.into(),
    }
}

/// Reads a role of any dialect.
pub(super) fn read_role(value: Value) -> Value {
    let known = value.as_str().and_then(|word| ROLES.iter().find(|row| row[1] == word));
    match known {
        Some([name, _]) => (*name).into(),
        None => value,
    }
}

/// Writes a role.
pub(super) fn write_role(dialect: Dialect, value: Value) -> Value {
    if dialect == Dialect::V0_3Proto {
        return value;
    }
    let known = value.as_str().and_then(|word| ROLES.iter().find(|row| row[0] == word));
    match known {
        Some([_, name]) => (*name).into(),
        None => value,
    }
}
