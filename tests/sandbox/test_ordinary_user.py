"""The sandbox as an ordinary user: the contract and hostile tests once more, where the tests themselves run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 65534
PARTS = 8
"""Of the whole hostile suite, which takes as long as all of it does as root: so they run side by side."""

pytestmark = [pytest.mark.slow, pytest.mark.root]


def interpreter() -> str:
    """A Python of this version that anybody may start, with our packages on its path."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in (os.path.realpath(sys.executable), f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        path = Path(name)
        if path.exists() and all(parent.stat().st_mode & 0o001 for parent in path.parents):
            return name
    pytest.skip(f"no {version} that an ordinary user may start")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anybody may enter and write, unlike `tmp_path` of root."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as an ordinary user already")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv (util-linux)")
@pytest.mark.parametrize(
    "chosen",
    [
        ("tests/sandbox/test_jobs.py", "not docker"),
        ("tests/sandbox/test_canaries.py", "not docker"),
        ("tests/sandbox/test_packages.py", "not docker and not slow"),
        ("tests/hostile/test_hostile.py", "not docker and not long"),
        *(
            pytest.param(("tests/hostile", "not docker and long", f"{part}/{PARTS}"), marks=pytest.mark.long)
            for part in range(PARTS)
        ),
    ],
    ids=" ".join,
)
def test_everything_holds_without_root(chosen: tuple[str, ...], open_folder: Path) -> None:
    where, marks, *part = chosen
    packages = sysconfig.get_path("purelib")
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", interpreter(), "-m", "pytest"]
    done = subprocess.run(
        [*command, where, "-m", marks, "-p", "no:cacheprovider", "-q", f"--basetemp={open_folder / 'inner'}"],
        cwd=ROOT,
        env={
            "HOME": str(open_folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{packages}:{ROOT}",
            "EVOSYN_HOSTILE_PART": "".join(part),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-500:]
