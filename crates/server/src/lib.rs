//! Everything that listens.
