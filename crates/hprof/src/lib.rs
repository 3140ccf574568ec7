//! hprof
