"""What measurements have in common: dumps of the sample programs, and how results are told."""

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
FOLDER = TARGET / "bench"
ANTHILL = TARGET / "release" / "anthill"

MIB = 1 << 20
MILLION = 1_000_000


@dataclass
class Dump:
    """A heap dump of a sample program with one argument."""

    name: str
    sample: str
    count: int
    heap_bytes_each: int
    top_class: str

    @property
    def path(self):
        return FOLDER / f"{self.name}.hprof"


MULTICACHE = Dump("multicache-1m", "MultiCache", MILLION, 430, "anthill.samples.Product")


def say(text):
    print(f"    {text}", file=sys.stderr, flush=True)


def command_output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def jdk_tool(name):
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / name) if home else name


def make_dump(dump):
    """Lets a JVM write the dump unless it is there from an earlier run."""
    if dump.path.exists():
        return
    say(f"making {dump.path.relative_to(ROOT)}: {dump.sample} with {dump.count:,}")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    classes = FOLDER / "classes"
    sources = sorted((ROOT / "java/samples/anthill/samples").glob("*.java"))
    javac = [jdk_tool("javac"), "-encoding", "UTF-8", "--release", "11", "-nowarn", "-d", classes]
    subprocess.run([*javac, *sources], check=True, env=environment)

    heap = 256 * MIB + 2 * dump.count * dump.heap_bytes_each
    java = [jdk_tool("java"), "-XX:+UseSerialGC", f"-Xmx{heap}", "-cp", classes]
    sample = subprocess.Popen(
        [*java, f"anthill.samples.{dump.sample}", str(dump.count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    partial = dump.path.with_suffix(".partial.hprof")
    partial.unlink(missing_ok=True)
    try:
        if not any(line.strip() == "READY" for line in sample.stdout):
            raise SystemExit(f"error: {dump.sample} ended before it was ready")
        command_output(jdk_tool("jcmd"), str(sample.pid), "GC.heap_dump", f'"{partial}"')
        partial.rename(dump.path)
    finally:
        sample.kill()
        sample.wait()


def read_through(path):
    """Brings the file into the page cache, so that no run pays for the disk."""
    with open(path, "rb", buffering=0) as file:
        while file.read(8 * MIB):
            pass


def print_table(header, rows):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        first, *rest = zip(row, widths)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
        print("  ".join(cells).rstrip())
    print()


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{os.cpu_count()} cores, {memory / (1 << 30):.1f} GiB, {platform.platform()}"


def anthill_version():
    finished = subprocess.run([ANTHILL, "--version"], capture_output=True, text=True, check=False)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return f"{finished.stdout.strip() or 'anthill'} ({commit.stdout.strip() or 'no commit'})"
