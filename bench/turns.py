"""Programs that take turns, to measure differences of a percent on a machine that is not quiet.

Two runs of a JVM differ by five to ten percent for as long as they run, and the machine's speed changes from second to second.
So two JVMs do the same work in short turns, and whoever has no turn is stopped, with the processes that work
for it. What is measured happens to one of them from some moment on: compared are not the two, but how they compare before and
after that moment.
"""

import contextlib
import math
import os
import re
import signal
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

from shared import ANTHILL


@dataclass
class Work:
    """What some turns of a program took, in seconds."""

    rounds: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    # Processor time of the processes that work for it.
    beside: float = 0.0

    def add(self, other):
        self.rounds += other.rounds
        self.wall += other.wall
        self.cpu += other.cpu
        self.beside += other.beside

    @property
    def round(self):
        return self.wall / self.rounds

    @property
    def cpu_round(self):
        return (self.cpu + self.beside) / self.rounds


class Program:
    """A JVM that does a turn for each line of its input, and works only while it has its turn."""

    def __init__(self, command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.recorder = None
        self.expect("READY")
        self.stop()

    def expect(self, pattern):
        line = self.process.stdout.readline()
        found = re.match(pattern, line)
        if not found:
            self.process.kill()
            raise SystemExit(f"error: the program said: {line}{self.process.stderr.read()}")
        return found

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def turn(self, work):
        """Adds what the turn took."""
        before = self.beside()
        self.go_on()
        self.say("turn")
        took = self.expect(r"TURN rounds=(\d+) wall=([\d.]+) cpu=([\d.]+)")
        self.stop()
        work.add(Work(int(took[1]), float(took[2]), float(took[3]), self.beside() - before))

    def stop(self):
        self.send(signal.SIGSTOP)

    def go_on(self):
        self.send(signal.SIGCONT)

    def send(self, sent):
        self.process.send_signal(sent)
        for helper in self.helpers():
            # It may be gone by now.
            with contextlib.suppress(OSError):
                os.kill(helper, sent)

    def helpers(self):
        """The processes that work for it: those that it started, and its recorder."""
        if self.recorder:
            yield self.recorder.pid
        for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                yield from map(int, children.read_text(encoding="utf-8").split())

    def beside(self):
        """Processor time of those who work for it: user and system time are 11 and 12 words after the name of a process."""
        ticks = 0
        for helper in self.helpers():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{helper}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                ticks += int(words[11]) + int(words[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def attach(self, *options):
        """Lets Anthill work for it."""
        self.go_on()
        command = [str(ANTHILL), "attach", str(self.process.pid), "--foreground", *options]
        self.recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not any("ends it" in line for line in self.recorder.stderr):
            raise SystemExit("error: Anthill cannot attach to the program")
        self.stop()

    def detach(self):
        self.go_on()
        anthill("detach", str(self.process.pid))
        self.recorder.communicate()
        self.recorder = None
        self.stop()

    def end(self):
        """What it says at last, and what it complained about."""
        self.go_on()
        said, complained = self.process.communicate()
        if self.process.returncode != 0:
            raise SystemExit(f"error: the program did not end well: {complained}")
        return said, complained


def take_turns(programs, turns):
    """What each of the programs did in so many turns."""
    works = [Work() for _ in programs]
    pairs = list(zip(programs, works))
    for _ in range(turns):
        for program, work in pairs:
            program.turn(work)
        # Who was last is first the next time.
        pairs.reverse()
    return works


@dataclass
class Estimate:
    """A mean with its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values):
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else math.inf
        return cls(statistics.mean(values), error)

    def __str__(self):
        return f"{self.mean:+.1%} ±{self.error:.1%}"


def anthill(*words):
    ran = subprocess.run([str(ANTHILL), *words], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"error: anthill {' '.join(words)}: {ran.stderr}")
    return ran.stdout


def java(name):
    return str(Path(os.environ["JAVA_HOME"]) / "bin" / name)
