"""The first thing that runs: becomes root of namespaces of its own in two steps, then a keeper.

The first process keeps what the machine has given us (root, or a user namespace over the user's own range of uids). It
lays out a root with the image and nothing else of the machine, and gives its child a user namespace in which root is
nobody outside. When either ends, everything below it does.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any

from evosyn.worlds.shell._inside import kernel
from evosyn.worlds.shell._inside.keeper import Keeper

BASE = "/sys"
"""Where the root is laid out: a folder that every machine has, and below which no image lies."""
FILES = 200_000
"""Open ones of a process."""
DEVICES = ("null", "zero", "full", "random", "urandom")


def start(control: int, config: Mapping[str, Any]) -> None:
    """Entry of the boot script; returns never.

    Args:
        control: a connection of sequenced packets with those who started us.
        config: `first`, `count`, `creator`: uids of the keeper's namespace and of the process that makes it; `middle`:
            a user namespace has to be had first, whose map our starter writes; `single`: it is a map of one uid, our
            own; `processes`: of all uids together; `image`, `usr`: folders, None where there is none; `build`: the
            image may be written to; `consulted`: see `guard`;
            `filter`: of system calls; `memory_mb`: to be watched, 0 where it is bounded.
    """
    link = socket.socket(fileno=control)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    own = min(FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    for most in (own, FILES):  # more than our own only root may have, and not everywhere
        with contextlib.suppress(PermissionError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if config["middle"]:
        kernel.unshare(kernel.NEWUSER)
        kernel.dumpable(True)
        link.send(f"map {os.getpid()}".encode())
        if link.recv(16) != b"mapped":
            os._exit(1)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    kernel.unshare(kernel.NEWNS)
    kernel.mount("none", "/", None, kernel.REC | kernel.PRIVATE)
    _lay_out(config)
    if config["middle"] and config["single"]:
        _become_parent(link, config)
    else:
        _map_child(link, config)


def _lay_out(config: Mapping[str, Any]) -> None:
    """A root that holds what a keeper needs; it becomes ours."""
    kernel.mount("keeper", BASE, "tmpfs", kernel.NOSUID, "size=1m,mode=755")
    for name in ("proc", "dev", "image", "usr", "store", "room", "before"):
        os.mkdir(f"{BASE}/{name}", 0o755)
    kernel.mount("/proc", f"{BASE}/proc", None, kernel.BIND | kernel.REC)
    for name in DEVICES:
        os.close(os.open(f"{BASE}/dev/{name}", os.O_CREAT))
        kernel.mount(f"/dev/{name}", f"{BASE}/dev/{name}", None, kernel.BIND)
    for name in ("image", "usr"):
        if config[name]:
            kernel.mount(config[name], f"{BASE}/{name}", None, kernel.BIND)
            if name == "usr" or not config["build"]:
                _read_only(f"{BASE}/{name}")
    if config["build"]:
        os.chown(f"{BASE}/image", config["first"], config["first"])
    kernel.change_root(BASE)
    kernel.leave_old_root()


def _read_only(target: str) -> None:
    locked = {"nosuid": kernel.NOSUID, "nodev": kernel.NODEV, "noexec": kernel.NOEXEC}
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        options = next(words[5] for line in lines if (words := line.split())[4] == target).split(",")
    flags = sum(locked.get(option, 0) for option in options)
    kernel.mount("none", target, None, kernel.REMOUNT | kernel.BIND | kernel.RDONLY | flags)


def _map_child(link: socket.socket, config: Mapping[str, Any]) -> None:
    """A child in a user namespace that we write the map of."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        kernel.die_with_parent()
        limit = config["processes"]
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))  # before: so it counts all uids of the namespace
        creator = config["creator"]
        os.setgroups([])
        os.setresgid(creator, creator, creator)
        os.setresuid(creator, creator, creator)
        kernel.dumpable(True)
        kernel.unshare(kernel.NEWUSER)
        theirs.send(b"made")
        theirs.recv(1)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        kernel.die_with_parent()  # who changes its uid forgets
        _become_parent(link, config)
    theirs.close()
    if ours.recv(4):
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w") as file:
                file.write(f"0 {config['first']} {config['count']}")
        ours.send(b"!")
    link.close()
    _wait(child)


def _become_parent(link: socket.socket, config: Mapping[str, Any]) -> None:
    """Root of its namespace: the others, and the keeper as first process of its own numbers."""
    if config["single"]:
        resource.setrlimit(resource.RLIMIT_NPROC, (config["processes"], config["processes"]))
    kernel.unshare(kernel.NEWNS | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWNET | kernel.NEWPID)
    child = os.fork()
    if child:
        link.close()
        _wait(child)
    kernel.die_with_parent()
    kernel.loopback_up()
    kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
    kernel.mount("store", "/store", "tmpfs", kernel.NODEV, f"size={config['store_mb']}m,mode=700")
    kernel.dumpable(False)
    Keeper(link, config).serve()


def _wait(child: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    sys.stderr.flush()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
