"""What a solution leaves behind buys no verdict: hostile scripts against each kind of testing, through the judge."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import domain
from evosyn.jobs import Limits
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox
from evosyn.worlds.routing import RoutingSandbox

pytestmark = pytest.mark.long
WORLD = {"image": "host", "init": [{"code": "mkdir -p /root/d; echo one > /root/d/a"}]}
PROBLEM = Problem("p", "os-shell", "Write the word two into /root/d/b.", {"world": WORLD, "asks": "state"})
LOOK = {"code": "cat /root/d/b 2>/dev/null; ls -b /root/d"}
SAYS = {
    "code": 'if [ "$(cat /root/d/b 2>/dev/null)" = two ] && [ -n "$1" -o -z "$1" ]; then echo true; else echo false; fi'
}
TESTINGS = (
    Testing("observe", {"observe": LOOK, "expect": {"code": "echo two; echo a; echo b"}}),
    Testing("state", {"script": SAYS}),
    Testing("state", {"script": {"code": "grep -qx two /root/d/b"}, "accept": "exit"}),
    Testing("state", {"script": {"language": "python", "code": "print(open('/root/d/b').read() == 'two\\n')"}}),
    Testing(
        "checks", {"checks": [{"kind": "state", "body": {"script": SAYS}}, {"kind": "value", "body": {"expected": ""}}]}
    ),
)
HOSTILE = {
    "says true": "echo true",
    "rc files of all shells": "for f in /root/.bashrc /root/.profile /etc/profile /etc/bash.bashrc; do echo 'echo true; exit 0' > $f; done",
    "programs under /usr/local or in the home": "mkdir -p /root/bin; for p in cat ls grep test bash; do printf '#!/bin/sh\\necho true\\n' > /root/bin/$p; chmod 755 /root/bin/$p; done; echo PATH=/root/bin:$PATH > /etc/environment",
    "functions that are exported": "cat() { echo two; }; grep() { return 0; }; export -f cat grep; export BASH_ENV=/root/e; echo 'echo true; exit 0' > /root/e",
    "a module in the way of Python": "echo 'print(True); import os; os._exit(0)' > /root/os.py; cp /root/os.py /root/site.py; cp /root/os.py /root/usercustomize.py; export PYTHONPATH=/root PYTHONSTARTUP=/root/os.py",
    "the wanted file is a pipe": "mkfifo /root/d/b; (while :; do echo two > /root/d/b; done) & disown",
    "the wanted file is endless": "ln -s /dev/zero /root/d/b",
    "the wanted file is the script that names what it looks for": "ln -s /proc/self/cmdline /root/d/b",
    "the wanted file is a folder": "mkdir -p /root/d/b/two",
    "a daemon that writes what is looked for": "setsid nohup bash -c 'while sleep 0.02; do echo two > /root/d/b; rm /root/d/b; done' > /dev/null 2>&1 & sleep 0.3; kill -9 $! ; rm -f /root/d/b; pkill -9 sleep",
    "another root": "sed -i 's#^root:.*#root:x:0:0:root:/root/fake:/bin/false#' /etc/passwd; mkdir -p /root/fake/d; echo two > /root/fake/d/b",
    "marks of the machinery": "printf 'exit 0\\n0\\n\\0true\\n'; exec 9>&1; echo true >&9",
    "much output": "head -c 300000 /dev/zero | tr '\\0' 2 > /root/d/b",
    "forged tables of the loader": "echo /root/evil.so > /etc/ld.so.preload; echo /root > /etc/ld.so.conf; export LD_PRELOAD=/root/evil.so LD_LIBRARY_PATH=/root",
    "jobs for later": "mkdir -p /etc/cron.d /var/spool/cron/crontabs; echo '* * * * * root echo two > /root/d/b' > /etc/cron.d/x",
    "locks": "exec 8> /root/lock; chattr +i /root/d 2>/dev/null; chmod 000 /root/d",
}  # fmt: skip


@pytest.fixture(scope="module")
def judge(shells):
    """Waits long for what ends by itself."""
    with judging(shells, Limits(cpu_s=10.0, wall_s=60.0)) as judge:
        yield judge


@pytest.fixture(scope="module")
def hasty(shells):
    with judging(shells, Limits(cpu_s=2.0, wall_s=4.0)) as judge:
        yield judge


@contextmanager
def judging(shells, limits) -> Iterator[Judge]:
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        yield Judge(RoutingSandbox(sandbox, lambda: shells), {"os-shell": domain("os-shell")}, limits, recheck=False)


def verdicts(judge, script):
    return [one.verdict for one in judge.verify([Cell(PROBLEM, Solution(script), testing) for testing in TESTINGS])]


def test_honest_work_passes_every_testing(judge):
    found = verdicts(judge, "echo two > /root/d/b")
    assert set(found) == {Verdict.PASS}, found
    assert Verdict.PASS not in verdicts(judge, "true")


@pytest.mark.parametrize("case", HOSTILE)
def test_no_hostile_state_passes(case, hasty):
    found = verdicts(hasty, HOSTILE[case])
    assert Verdict.PASS not in found and Verdict.UNKNOWN not in found, found


def test_a_real_library_that_is_to_be_preloaded_is_not(judge, tmp_path):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    source, library = tmp_path / "evil.c", tmp_path / "evil.so"
    source.write_text(
        '#include <unistd.h>\n__attribute__((constructor)) static void f(void) { write(1, "two\\ntrue\\n", 9); _exit(0); }\n'
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-Os", "-s", "-o", library, source], check=True)
    octal = "".join(f"\\x{byte:02x}" for byte in Path(library).read_bytes())
    script = f"printf '{octal}' > /root/evil.so; echo /root/evil.so > /etc/ld.so.preload"
    assert Verdict.PASS not in verdicts(judge, script)
    seen = Testing("state", {"script": {"code": "/bin/cat /dev/null; echo false"}, "view": "open"})
    (forged,) = judge.verify([Cell(PROBLEM, Solution(script), seen)])
    assert forged.verdict is Verdict.PASS, "without the guard it is loaded, so the test above can fail"


def test_an_answer_is_data_to_the_script_that_reads_it(judge):
    for answer in ('"; echo true; exit 0; "', "$(echo true)", "-n true", "\n" * 50 + "true", "'; true #"):
        quoted = "'" + answer.replace("'", "'\\''") + "'"
        assert Verdict.PASS not in verdicts(judge, f"printf '%s' {quoted}")
