//! Everything that a person can do with `convoke`, done with the real binary.

mod answers;
mod asking;
mod authoring;
mod beside;
mod bursts;
mod callbacks;
mod cards;
mod catalogs;
mod chunks;
mod clean_up;
mod client;
mod configuration;
mod crash;
mod credentials;
mod curation;
mod demo;
mod directory;
mod discovery;
mod drifting;
mod echoing;
mod evidence;
mod exchanging;
mod expecting;
mod fields;
mod files;
mod folder;
mod inside;
mod interrupts;
mod keys;
mod kill;
mod nesting;
mod older;
mod pauses;
mod plans;
mod policies;
mod pushes;
mod records;
mod remote;
mod reusing;
mod running;
mod sending;
mod serve;
mod served;
mod settings;
mod signatures;
mod strangers;
mod tokens;
mod trusting;
mod turns;
mod workflows;

/// Hides what differs from run to run before a snapshot is compared: ports, ids, times, folders.
fn steady() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT");
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID");
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME");
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME");
    settings.add_filter(r"in \d+\.\d s\b", "in N s");
    settings.add_filter(r"again at \d\d:\d\d:\d\d", "again at TIME");
    settings.add_filter(r"(?m)^\d\d:\d\d:\d\d ", "TIME ");
    settings.add_filter(r"/\S*/\.tmp\w+", "FOLDER");
    settings.add_filter(r"`[^` ]*/convoke ", "`convoke ");
    settings.add_filter(r"process \d+", "process PID");
    settings.add_filter(r"[0-9a-f]{64}", "DIGEST");
    settings.add_filter(r"(?m) +$", "");
    settings.bind_to_scope()
}
