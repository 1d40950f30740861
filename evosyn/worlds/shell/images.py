"""Images of shell worlds: what a room has before anything is done in it. Made once, read-only afterwards.

`host` shows the machine's own /usr, read-only, over a small /etc of ours, and is made by itself. Others are unpacked
from a tar (of debootstrap, of Docker, of the user's own), by a keeper, so that their files belong to users of rooms.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.records import Json
from evosyn.rundir import write_atomic
from evosyn.sandbox import _image
from evosyn.shell_world import HOST, host_digest, image_cache
from evosyn.sources import deciding_sources
from evosyn.worlds.shell._inside.guard import OUTSIDE, resolve
from evosyn.worlds.shell.identity import Identity
from evosyn.worlds.shell.keeping import KeeperLost, KeeperProcess, KeeperSpec

DEFAULT = "debos"
BUILD_LINE = "evosyn sandbox build-image --os"
SIZE_MB = 430
"""Of the default image, unpacked."""
PACKAGES = (
    "python3", "procps", "git", "vim-tiny", "curl", "wget", "unzip", "zip", "tree", "net-tools", "iproute2", "lsof",
    "gawk", "bc", "file", "xxd", "less", "cron", "sudo", "bzip2", "xz-utils",
)  # fmt: skip
SYSTEM = {"usr/bin": 1, "usr/sbin": 1, "usr/lib": 2, "usr/lib64": 1, "usr/libexec": 2, "usr/share": 2}
"""Where links may lead out of /usr, and how deep they may lie."""
UNREAD = ("usr/share/doc", "usr/share/man", "usr/share/locale")
MOST_CONSULTED = 1000
ASKED_FOR = ("etc/environment", "etc/localtime", "etc/timezone")
"""What tasks are about, and no program of a check comes to, since its time zone is given."""
_FOLDERS = {"root": 0o700, "tmp": 0o1777, "var/tmp": 0o1777, "run": 0o755, "home": 0o755, "var/log": 0o755,
            "var/lib": 0o755, "srv": 0o755, "opt": 0o755, "mnt": 0o755, "media": 0o755, "usr": 0o755, "proc": 0o755,
            "dev": 0o755, "etc/cron.d": 0o755, "var/spool/cron": 0o755}  # fmt: skip
_FILES = {
    "etc/passwd": (0o644, "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
                   "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"),
    "etc/group": (0o644, "root:x:0:\ndaemon:x:1:\nmail:x:8:\nusers:x:100:\nnogroup:x:65534:\n"),
    "etc/shadow": (0o640, "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n"),
    "etc/gshadow": (0o640, "root:*::\ndaemon:*::\nmail:*::\nusers:*::\nnogroup:*::\n"),
    "etc/hosts": (0o644, "127.0.0.1\tlocalhost room\n::1\tlocalhost\n"),
    "etc/hostname": (0o644, "room\n"),
    "etc/nsswitch.conf": (0o644, "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"),
    "etc/profile": (0o644, "export PATH\n"),
    "etc/bash.bashrc": (0o644, ""),
    "etc/shells": (0o644, "/bin/sh\n/bin/bash\n"),
    "root/.bashrc": (0o644, ""),
    "root/.profile": (0o644, ""),
}  # fmt: skip
_COPIED = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "login.defs", "pam.d", "security", "skel",
           "default/useradd", "magic", "mime.types", "services", "protocols")  # fmt: skip


@dataclass(frozen=True)
class Image:
    """An image that is there.

    Attributes:
        digest: of what is in it; of the machine's own, of what tells one state of it from another.
        usr: the machine's own /usr is shown over it.
        consulted: what links of its programs and libraries lead to elsewhere, and what it has under /usr/local.
    """

    name: str
    digest: str
    folder: Path
    usr: bool
    consulted: tuple[str, ...] = ()

    def spec(self, identity: Identity, memory_mb: int = 0) -> KeeperSpec:
        return KeeperSpec(identity, self.folder / "root", self.usr, memory_mb=memory_mb, consulted=self.consulted)


def find(name: str, identity: Identity) -> Image:
    """An image by its name; that of the machine is made where it is not there.

    Raises:
        SandboxUnavailable: it is not there, or was made for other users; says how to make it.
    """
    if name == HOST:
        return _host(identity)
    folder = image_cache() / name
    how = f"make it with: {BUILD_LINE}{'' if name == DEFAULT else f' --name {name}'}"
    size = f" (about {SIZE_MB} MB)" if name == DEFAULT else ""
    try:
        said = json.loads((folder / "image.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise SandboxUnavailable(f"the image {name!r} of shell worlds is not there; {how}{size}") from error
    if said["users"] != identity.kind:
        raise SandboxUnavailable(
            f"the image {name!r} was made where users were had by {said['users']!r}, here {identity.kind!r}; {how}"
        )
    return Image(name, said["digest"], folder, said["usr"], _consulted_by(folder, said))


def _host(identity: Identity) -> Image:
    name = f"{HOST}-{identity.kind}-{host_digest()}-{deciding_sources()[:8]}"
    folder = image_cache() / name
    if not (folder / "image.json").is_file():
        with tempfile.TemporaryFile() as file:
            _write_host(file)
            build(file, name, identity, usr=True, digest=name)
    said = json.loads((folder / "image.json").read_text(encoding="utf-8"))
    return Image(HOST, name, folder, True, _consulted_by(folder, said))


def _consulted_by(folder: Path, said: dict[str, Json]) -> tuple[str, ...]:
    """As `image.json` says it; looked for once by this code."""
    if said.get("consulted_by") != deciding_sources():
        said["consulted_by"] = deciding_sources()
        said["consulted"] = list(consulted(Path("/") if said["usr"] else folder / "root"))
        with suppress(OSError):  # a folder that somebody else looks after
            write_atomic(folder / "image.json", json.dumps(said))
    return tuple(said["consulted"])


def consulted(root: Path) -> tuple[str, ...]:
    """What programs and libraries of a system come to by links that lead out of /usr, and its own under /usr/local.

    A check runs them; so what they come to is none of a solution's (`_inside.guard`).

    Raises:
        UsageError: there is more than a room guards.
    """
    found = set[str]()
    for path, _ in _below(root, "usr/local", 2):
        if path.count("/") == 3 and (not (root / path).is_dir() or any(not one for _, one in _below(root, path, 3))):
            found.add(path)
    for top, deep in SYSTEM.items():
        for path, is_folder in _below(root, top, deep):
            if not is_folder:
                found.update(_led_to(root, path))
    led = tuple(sorted(found - set(ASKED_FOR)))
    if len(led) > MOST_CONSULTED:
        raise UsageError(
            f"the image has {len(led)} files outside of /usr or below /usr/local that its programs come to, such as "
            f"/{led[0]}: rooms guard at most {MOST_CONSULTED}. Move programs of its /usr/local to /usr, or remove them"
        )
    return led


def _led_to(root: Path, path: str) -> Iterator[str]:
    """What a link leads to outside of /usr, from hop to hop."""
    links, end = resolve(str(root).rstrip("/"), path)
    for name in (*links, end or ""):
        if name.split("/")[0] in OUTSIDE and "/" in name and not name.startswith("etc/alternatives/"):
            yield "/".join(name.split("/")[:2]) if name.startswith("opt/") else name


def _below(root: Path, top: str, deep: int) -> Iterator[tuple[str, bool]]:
    """Links below a folder to some depth and, of /usr/local, files: their paths, and whether they are folders."""
    try:
        entries = list(os.scandir(root / top))
    except OSError:
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder or entry.is_symlink() or top.startswith("usr/local"):
            yield f"{top}/{entry.name}", is_folder
        if deep > 1 and is_folder and f"{top}/{entry.name}" not in UNREAD:
            yield from _below(root, f"{top}/{entry.name}", deep - 1)


def _write_host(out: IO[bytes]) -> None:
    """What stands beside /usr: folders, links, users, and those files of /etc that its programs read."""
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, mode in _FOLDERS.items():
            _add(tar, name, mode)
        for top in ("bin", "sbin", "lib", "lib64"):
            if Path("/", top).is_symlink():
                link = tarfile.TarInfo(top)
                link.type, link.linkname = tarfile.SYMTYPE, str(Path("/", top).readlink())
                tar.addfile(link)
        for name, (mode, text) in _FILES.items():
            _add(tar, name, mode, text.encode())
        for name in _COPIED:
            if Path("/etc", name).exists():
                tar.add(f"/etc/{name}", f"etc/{name}", filter=_readable)
    out.seek(0)


def _readable(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Nothing that only some may read goes into a room; all of it is root's there."""
    entry.uid = entry.gid = 0
    return entry if entry.issym() or entry.mode & 0o004 else None


def _add(tar: tarfile.TarFile, name: str, mode: int, content: bytes | None = None) -> None:
    entry = tarfile.TarInfo(name)
    entry.mode = mode
    entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
    entry.size = len(content or b"")
    tar.addfile(entry, None if content is None else io.BytesIO(content))


def build(source: IO[bytes], name: str, identity: Identity, *, usr: bool = False, digest: str | None = None) -> Image:
    """Unpack a tar as an image, in place of one of that name.

    Raises:
        SandboxUnavailable: keepers do not start here.
        UsageError: it is no tar, or its files are not those of a system.
    """
    home = image_cache()
    home.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=home))
    folder.chmod(0o755)
    (folder / "root").mkdir(mode=0o755)
    said = ""
    try:
        with _builder(folder / "root", identity) as keeper:
            reply = keeper.ask({"do": "image"}, source.fileno(), 3600).facts
        said = str(reply.get("error", ""))
        if said:
            raise UsageError(f"the image could not be unpacked: {said}")
        led = consulted(Path("/") if usr else folder / "root")
        facts = {
            "v": 1, "digest": digest or f"os-{reply['digest']}", "usr": usr, "users": identity.kind,
            "consulted": list(led), "consulted_by": deciding_sources(),
        }  # fmt: skip
        (folder / "image.json").write_text(json.dumps(facts), encoding="utf-8")
        if not usr and not os.path.lexists(folder / "root/bin/bash"):
            raise UsageError("the image holds no /bin/bash: a room needs bash, coreutils and findutils at least")
        _take_place(folder, home / name, identity)
    except (KeeperLost, KeyError) as error:
        raise UsageError(f"the image could not be unpacked: {error}") from error
    finally:
        remove(folder, identity)
    return Image(name, str(facts["digest"]), home / name, usr, led)


def _take_place(folder: Path, target: Path, identity: Identity) -> None:
    old = target.with_name(f".old-{folder.name[1:]}")
    if target.exists():
        target.rename(old)
    try:
        folder.rename(target)
    except OSError:  # somebody else was first
        if not target.is_dir():
            raise
    remove(old, identity)


def remove(folder: Path, identity: Identity) -> None:
    """Take an image away, whoever its files belong to."""
    if not folder.is_dir():
        return
    if (folder / "root").is_dir():
        with _builder(folder / "root", identity) as keeper:
            keeper.ask({"do": "empty"}, None, 600)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _builder(root: Path, identity: Identity) -> Iterator[KeeperProcess]:
    keeper = KeeperProcess(KeeperSpec(identity, root, build=True), 0)
    try:
        yield keeper
    finally:
        keeper.kill()


def from_docker(image: str, out: IO[bytes]) -> None:
    """The files of a Docker image as a tar.

    Raises:
        SandboxUnavailable: no engine answers.
        UsageError: it has no such image.
    """
    client = _image.docker_client()
    import docker

    try:
        container = client.containers.create(image, command="true")
    except docker.errors.ImageNotFound as error:
        raise UsageError(f"--from-docker: the engine has no image {image!r}; `docker pull` it first") from error
    try:
        for part in container.export():
            out.write(part)
    finally:
        container.remove(force=True)
    out.seek(0)


def from_debootstrap(suite: str, mirror: str | None, out: IO[bytes]) -> None:
    """A Debian with what shell tasks use, as a tar.

    Raises:
        SandboxUnavailable: not root, no debootstrap, or it failed; says what else there is.
    """
    tool = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if tool is None or os.geteuid() != 0:
        others = "an image of Docker, a tar, or the image 'host', which needs nothing"
        raise SandboxUnavailable(
            f"{BUILD_LINE}: debootstrap needs root and the package debootstrap (it fetches about {SIZE_MB // 3} MB and "
            f"takes {SIZE_MB} MB); otherwise use {others}"
        )
    with tempfile.TemporaryDirectory() as folder:
        include = f"--include={','.join(PACKAGES)}"
        command = [tool, "--variant=minbase", include, suite, folder, *([mirror] if mirror else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SandboxUnavailable(f"debootstrap failed: {(done.stderr or done.stdout).strip()[-400:]}")
        with tarfile.open(fileobj=out, mode="w") as tar:
            tar.add(folder, arcname=".", filter=_image._no_devices)
    out.seek(0)
