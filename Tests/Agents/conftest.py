"""Programs that people run a local model for, each with a scratch repository, a home folder of its own and a server
whose model follows a script.

They are run by `make agents` in a network namespace without an outside, with the environment variable SHIM (the
server). The programs are in `.build/agents`, one virtual environment each.
"""

import fcntl
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "Tests/Clients"))

from fields import unknown
from recorder import Recorder
from scripted_model import write
from support import Shim

BROKEN = "def add(a, b):\n    return a - b\n\n\nprint('2 + 3 =', add(2, 3))\n"
MENDED = BROKEN.replace("a - b", "a + b")
TASK = "calc.py prints a wrong sum. Read it, correct it, run it with python3 and say what it prints."
ANSWER = "It adds now: the sum is 5."
# Shell commands for the task, and a text that each prints.
COMMANDS = ["cat calc.py", "sed -i 's/a - b/a + b/' calc.py && git diff --stat", "python3 calc.py"]
PRINTED = ["return a - b", "1 insertion", "2 + 3 = 5"]


def script(calls, end=(ANSWER,)):
    """The model's answers: calls that read, change and run the file, then the pieces of the last answer."""
    read, change, run = calls
    return [["I read the file.", read], [change], [run], [*end]]


def pytest_sessionstart(session):
    """Brings up the loopback device of a fresh network namespace."""
    SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sH14x", b"lo", 0))
        fcntl.ioctl(control, SIOCGIFFLAGS, request)
        flags = struct.unpack_from("H", request, 16)[0]
        if not flags & IFF_UP:
            struct.pack_into("H", request, 16, flags | IFF_UP)
            fcntl.ioctl(control, SIOCSIFFLAGS, request)


def pytest_terminal_summary(terminalreporter):
    for line in Workplace.summaries:
        terminalreporter.write_line(line)


class Workplace:
    """A program's folders, its server, and the requests that it sent."""

    # A line on each program, for the end of the run.
    summaries = []

    def __init__(self, folder, program, turns, aside):
        self.program, self.aside = program, aside
        self.folder, self.home, self.repository = folder, folder / "home", folder / "repository"
        self.bin = ROOT / ".build/agents" / program / "bin"
        if not self.bin.exists():
            pytest.skip(f"{program} is not installed: make agents")
        for path in (self.home, self.repository):
            path.mkdir()
        write(folder / "scripted.gguf", TASK, turns, aside)
        self.server = Shim(folder, model=folder / "scripted.gguf")
        self.recorder = Recorder(self.server.port)
        self.environment = {
            "HOME": str(self.home), "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "TERM": "dumb", "NO_COLOR": "1",
            # Python takes a compiled file for that of a source of the same second and size.
            "PYTHONDONTWRITEBYTECODE": "1"}
        (self.home / ".gitconfig").write_text("[user]\nname = Tester\nemail = tester@example.org\n")
        (self.repository / "calc.py").write_text(BROKEN)
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "Add calc"]):
            self.run("git", *arguments)

    @property
    def url(self):
        return self.recorder.url

    def run(self, *command, seconds=120, **environment):
        """Runs a command in the repository to its end; returns its output."""
        done = subprocess.run(
            [str(part) for part in command], cwd=self.repository, env=self.environment | environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
        (self.folder / "output").write_text(done.stdout)
        assert done.returncode == 0, done.stdout[-5000:]
        return done.stdout

    def stop(self):
        self.recorder.stop()
        self.recorder.save(self.folder / "exchanges")
        answered = [turn for turn in self.turns if turn.pieces]
        seconds = max((turn.pieces[0][0] for turn in answered), default=0)
        pings = sum(turn.answer.count(": ping\n") for turn in answered)
        tokens = ", ".join("{}-{}".format(*turn.usage) if turn.usage else "?" for turn in answered)
        self.summaries.append(
            f"{self.program}: first bytes within {seconds:.2f} s, {pings} pings, prompt tokens minus cached: {tokens}")
        self.server.stop()

    def metric(self, name):
        page = self.server.request("GET", "/metrics").body.decode()
        return sum(int(value) for value in re.findall(rf"^shim_{name}(?:{{[^}}]*}})? (\d+)$", page, re.MULTILINE))

    # What is asserted of every program

    @property
    def turns(self):
        """The requests of the conversation, in order; others have no tools, or are not streamed where the first is."""
        requests = [each for each in self.recorder.exchanges if each.api]
        if self.aside is not None:
            return [each for each in requests if each.json.get("tools")]
        return [each for each in requests if each.json.get("stream") == requests[0].json.get("stream")]

    def check_file(self):
        assert (self.repository / "calc.py").read_text() == MENDED

    def check_nothing_refused(self):
        assert [each for each in self.recorder.exchanges if not each.status or each.status >= 400] == []

    def check_results(self, *results):
        """Request i + 1 has the text that tool i returned, which the request before has not."""
        assert len(self.turns) == len(results) + 1
        for before, after, result in zip(self.turns, self.turns[1:], results):
            assert result in after.body.decode() and result not in before.body.decode(), result

    def check_cache(self):
        """Each turn computes its new tokens, rounded up to pages of 32, and no more than the end of the turn before."""
        usages = [turn.usage for turn in self.turns]
        assert None not in usages
        for (before, _), (tokens, cached) in zip(usages, usages[1:]):
            assert cached >= before - 64, usages

    def check_fields(self):
        """Fields that the server does not read are listed in docs/connect.md."""
        for each in self.recorder.exchanges:
            if each.api:
                assert unknown(each.api, each.json) == set()

    def check(self, *results):
        self.check_file()
        self.check_nothing_refused()
        self.check_fields()
        self.check_results(*results)
        self.check_cache()


@pytest.fixture
def workplace(tmp_path):
    """A function that makes a workplace, which the end of the test takes down."""
    made = []

    def make(program, turns, aside=None):
        made.append(Workplace(tmp_path, program, turns, aside))
        return made[-1]

    yield make
    for each in made:
        each.stop()
