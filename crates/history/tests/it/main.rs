//! Recordings of small heaps: what is known of them over time is what was recorded.

mod evolution;
mod history;
