//! Lists the built pages of the web view, so that they become part of the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let built =
        Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", built.display());
    let mut files = Vec::new();
    if built.is_dir() {
        list(&built, &mut files)?;
    }
    files.sort();
    let mut code = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for file in &files {
        let name = file.strip_prefix(&built).unwrap_or(file).to_string_lossy();
        let path = file.canonicalize()?;
        let line = writeln!(
            code,
            "    ({name:?}, include_bytes!({:?})),",
            path.to_string_lossy()
        );
        line.map_err(io::Error::other)?;
    }
    code.push_str("];\n");
    let to = PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("files.rs");
    fs::write(to, code)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
