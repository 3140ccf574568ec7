//! Everything the agent needs in a JVM is its code: debug information would make it five times as large.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-debug");
}
