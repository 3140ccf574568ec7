//! Stored dumps, compressed to keep them small, as plain files.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::target;

/// The plain content of a `.gz` or `.zst` file, as a file below `target/unpacked` that keeps the
/// name without that ending; any other file is returned as it is. Unpacked at most once, also when
/// several processes ask for it.
pub fn unpack(packed: &Path) -> io::Result<PathBuf> {
    let source = BufReader::new(File::open(packed)?);
    let content: Box<dyn Read> = match packed.extension().and_then(|e| e.to_str()) {
        Some("gz") => Box::new(MultiGzDecoder::new(source)),
        Some("zst") => Box::new(StreamingDecoder::new(source).map_err(io::Error::other)?),
        _ => return Ok(packed.to_owned()),
    };

    let folder = target().join("unpacked").join(identity(packed)?);
    let plain = folder.join(
        packed
            .file_stem()
            .expect("a file with an ending has a stem"),
    );
    if plain.is_file() {
        return Ok(plain);
    }
    fs::create_dir_all(&folder)?;
    let partial = folder.join(unique_name());
    let written = write(content, &partial).and_then(|()| fs::rename(&partial, &plain));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written.map(|()| plain)
}

fn write(mut content: Box<dyn Read>, to: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(to)?);
    io::copy(&mut content, &mut file)?;
    file.flush()
}

/// Changes when the file does, and differs for files of the same name.
fn identity(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    let mut hasher = DefaultHasher::new();
    path.canonicalize()?.hash(&mut hasher);
    metadata.len().hash(&mut hasher);
    metadata.modified()?.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}.partial", process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    #[test]
    fn all_members_of_a_gzip_file_are_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let packed = folder.path().join("two-members.hprof.gz");
        let mut bytes = Vec::new();
        for member in ["first ", "second"] {
            let mut encoder = GzEncoder::new(&mut bytes, Compression::fast());
            encoder.write_all(member.as_bytes()).unwrap();
            encoder.finish().unwrap();
        }
        fs::write(&packed, bytes).unwrap();

        let plain = unpack(&packed).unwrap();
        assert_eq!(plain.file_name().unwrap(), "two-members.hprof");
        assert_eq!(fs::read_to_string(&plain).unwrap(), "first second");
        assert_eq!(unpack(&packed).unwrap(), plain);
        fs::remove_dir_all(plain.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_zstandard_file_is_unpacked() {
        // What `printf anthill | zstd --no-check` writes: magic number, header, one raw block.
        let frame = b"\x28\xb5\x2f\xfd\x00\x58\x39\x00\x00anthill";
        let folder = tempfile::tempdir().unwrap();
        let packed = folder.path().join("small.hprof.zst");
        fs::write(&packed, frame).unwrap();

        let plain = unpack(&packed).unwrap();
        assert_eq!(fs::read_to_string(&plain).unwrap(), "anthill");
        fs::remove_dir_all(plain.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_damaged_file_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let packed = folder.path().join("damaged.hprof.gz");
        fs::write(&packed, b"no gzip at all").unwrap();

        assert!(unpack(&packed).is_err());
        let left = target().join("unpacked").join(identity(&packed).unwrap());
        assert_eq!(fs::read_dir(&left).unwrap().count(), 0);
        fs::remove_dir(left).unwrap();
    }

    #[test]
    fn a_plain_file_is_returned_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain.hprof");
        fs::write(&plain, b"bytes").unwrap();
        assert_eq!(unpack(&plain).unwrap(), plain);
    }
}
