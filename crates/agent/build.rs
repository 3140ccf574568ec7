//! How the library is linked.

fn main() {
    // Everything the agent needs in a JVM is its code: debug information would make it five times as large.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-debug");
    // The JVM unloads a library whose start failed, even if threads still run in it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
