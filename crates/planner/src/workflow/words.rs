//! The words of closed sets, as the decoder reads them.

use registry::Tier;

use super::{asked, gate, inputs, policy, steps};
use crate::criteria::Preference;
use crate::limits::OnConflict;

pub(crate) fn on_error() -> Vec<&'static str> {
    names(&steps::ON_ERROR)
}

pub(crate) fn effect() -> Vec<&'static str> {
    names(&steps::EFFECT)
}

pub(crate) fn push() -> Vec<&'static str> {
    names(&asked::PUSH)
}

pub(crate) fn jitter() -> Vec<&'static str> {
    names(&policy::JITTER)
}

pub(crate) fn from() -> Vec<&'static str> {
    names(&inputs::FROM)
}

pub(crate) fn tiers() -> Vec<&'static str> {
    Tier::ALL.iter().map(|tier| tier.as_str()).collect()
}

pub(crate) fn run_if() -> Vec<&'static str> {
    names(&gate::RUN_IF)
}

pub(crate) fn on_conflict() -> Vec<&'static str> {
    names(&OnConflict::ALL)
}

pub(crate) fn prefer() -> Vec<&'static str> {
    names(&Preference::ALL)
}

fn names<T>(options: &[(&'static str, T)]) -> Vec<&'static str> {
    options.iter().map(|(name, _)| *name).collect()
}
