//! `kill -9` at random instants: after a restart every run ends as if nothing had happened, and nothing that an
//! agent is known to have is sent again.
//!
//! In `middle`, at the instants that matter to a field of the language.
//!
//! `CONVOKE_KILLS` is how often, for `run` (with `runs reply` and `runs cancel`) and for `serve` each, over all their
//! series. A failure names the `CONVOKE_SEED` with which the first run of its series is the one that failed.

mod draw;
mod judge;
mod middle;
mod run;
mod scene;
mod serve;

use std::collections::BTreeMap;

use examples::ReceivedCall;

use self::draw::{Draw, setting};

/// How often one run is killed at most.
const KILLS_OF_ONE_RUN: usize = 3;

/// All Messages that agents were sent, by messageId.
type Calls = BTreeMap<String, Vec<ReceivedCall>>;

/// Plays run after run until this share of the kills, one of so many, has hit a living one. `play` takes the draws
/// of a run and what to say of it in a panic; it returns how many kills hit.
async fn series(
    name: &str,
    kills: u64,
    shares: u64,
    mut play: impl AsyncFnMut(Draw, String) -> usize,
) {
    let kills = setting("CONVOKE_KILLS").unwrap_or(kills);
    let wanted = usize::try_from(kills.div_ceil(shares)).expect("few");
    let mut seed = setting("CONVOKE_SEED").unwrap_or_else(draw::random_seed);
    let (mut kills, mut runs) = (0, 0);
    while kills < wanted {
        runs += 1;
        let about = format!("{name}, CONVOKE_SEED={seed}");
        assert!(runs <= 20 + 5 * wanted, "{about}: kills keep missing the run");
        kills += play(Draw::of(seed), about).await;
        seed = Draw::of(seed).next();
    }
    println!("{name}: {kills} kills in {runs} runs");
}
