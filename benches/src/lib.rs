//! Measures Convoke against a floor: the least that could do the same durable work.
//!
//! Both sides run the same workload against the same [`agent`], which lives in a process of its
//! own, and commit to the same disk, one after the other in one go. What is compared is the ratio.
//! Times depend on the machine and gate nothing; counts do not, and `tests/counts.rs` gates them.

pub mod agent;
pub mod convoke;
pub mod directory;
pub mod floor;
pub mod goals;
pub mod measure;
pub mod peers;
pub mod planning;
pub mod report;
pub mod suite;
pub mod workload;
