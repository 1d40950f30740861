"""The command line: one module a command, imported when that command runs; errors become one line and an exit code.

`evosyn --help` imports none of the commands. Exit codes stand in `evosyn.errors`. DESIGN.md section 6.
"""

from __future__ import annotations

import errno
import importlib
import io
import json
import logging
import os
import signal
import sys
import threading
import warnings
from typing import Any

import click

from evosyn import __version__
from evosyn.cli._output import EscapedLines, echo
from evosyn.errors import EXIT_INTERRUPTED, EXIT_PIPE, EXIT_UNAVAILABLE, EvosynError, nearest

BROKEN_DISK = (errno.EIO, errno.EFBIG)
COMMANDS: dict[str, str] = {
    "quickstart": "Run the whole job on bundled seeds: evolve, synthesize (no GPU).",
    "init": "Write commented seeds and configurations to begin from.",
    "evolve": "Evolve a filtering strategy on seed problems.",
    "synthesize": "Make new problems, cross-execute, rank, prune; write a dataset.",
    "calibrate": "How often a student solves the rows of a dataset.",
    "train": "RLVR on a dataset (GRPO and kin).",
    "coevolve": "RLVR on problems that evolve with the student.",
    "distill": "SFT or DPO on a dataset.",
    "eval": "pass@k of a model on a pool of problems.",
    "inspect": "Show any run directory: leaderboard, lineage, matrices, why.",
    "view": "Show a run or a dataset in the browser.",
    "score": "Score strategies on a pool or on recorded matrices.",
    "ablate": "The ablations of the paper: k, size, curve, search.",
    "crossexec": "Execute a whole pool and write its matrices.",
    "pool": "Validate pool files; make them from published benchmarks.",
    "env": "Verifiable environments: list, make, evolve, check, run, rows, calibrate.",
    "world": "Worlds of tools over a database: list, make, tasks, check, rollout, faults, serve.",
    "export": "Write a dataset or a strategy in another tool's format.",
    "audit": "Compare the kept testings of a dataset with human ones.",
    "reward": "Serve the sandboxed reward to other trainers.",
    "sandbox": "Build images for the Docker sandbox.",
    "doctor": "Say what is installed and what works on this machine.",
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and help line, and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            told = nearest(cmd_name, COMMANDS, "`evosyn --help` lists them")
            raise click.UsageError(f"no such command {cmd_name!r}; {told}", ctx)
        command = importlib.import_module(f"{__name__}.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"{__name__}.{cmd_name}.command is not a click command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # who read has enough (`evosyn inspect RUN | head`); click would call that a failure
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(EXIT_PIPE)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="evosyn")
def group() -> None:
    """Evolve filtering strategies, synthesize verifiable data, train on it.

    Start with `evosyn quickstart --model provider/name`: it needs no GPU.
    """


def main(arguments: list[str] | None = None, command: click.Command = group, name: str = "evosyn") -> None:
    """Run one command and exit with its code.

    Args:
        command: another program that ends as ours do.
    """
    for category in (SyntaxWarning, DeprecationWarning):  # what parsing a model's text may say is not for our users
        warnings.filterwarnings("ignore", category=category, module="<unknown>|<candidate>|<string>")
    previous = _end_like_an_interrupt()
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(EscapedLines())
    try:
        if "--json" in (sys.argv[1:] if arguments is None else arguments):
            sys.stdout = Watched(sys.stdout)
        color = False if no_colour() else None
        code = command.main(args=arguments, prog_name=name, standalone_mode=False, color=color)
        sys.stdout.flush()
    except BrokenPipeError:
        # who read this has enough (`evosyn inspect RUN | head`): the end of a process by SIGPIPE
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_PIPE)
    except click.exceptions.Abort:
        sys.exit(_interrupted())
    except KeyboardInterrupt:
        sys.exit(_interrupted())
    except click.ClickException as error:
        error.show(shown := io.StringIO())
        echo(shown.getvalue(), err=True, nl=False)
        _say_json(error, error.format_message(), error.exit_code)
        sys.exit(error.exit_code)
    except EvosynError as error:
        echo(f"error: {error}", err=True)
        _say_json(error, str(error), error.exit_code)
        sys.exit(error.exit_code)
    except Exception as error:
        failed = _failed_disk(error)
        if failed is None:
            raise
        file, broken = getattr(failed, "filename", None), getattr(failed, "errno", None) in BROKEN_DISK
        where = f" ({file})" if file else ""
        what = f"the disk took no more: {getattr(failed, 'strerror', '')}" if broken else "the disk is full"
        remedy = "See to the disk, or to `ulimit -f`," if broken else "Free some space"
        echo(f"error: {what}{where}; nothing written before is lost. {remedy} and repeat the command", err=True)
        sys.exit(EXIT_UNAVAILABLE)
    finally:
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)
    sys.exit(code if isinstance(code, int) else 0)


class Watched:
    """A stream that knows whether anything was written to it, and passes on what threads of Ray print to standard
    error: one of them tells of nodes that died."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.written = stream, False

    def write(self, text: str) -> int:
        if threading.current_thread().name.startswith("ray_"):
            return sys.stderr.write(text)
        self.written = self.written or bool(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _say_json(error: Exception, message: str, code: int) -> None:
    """With --json, an error on standard output as well, unless a report stands there already."""
    if isinstance(sys.stdout, Watched) and not sys.stdout.written:
        told = {"error": {"kind": type(error).__name__, "message": message, "exit_code": code}}
        echo(json.dumps(told, indent=2))
        sys.stdout.flush()


def no_colour() -> bool:
    """Whether the user wants neither colours nor bold letters (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def _failed_disk(error: BaseException) -> BaseException | None:
    """The error that says that the disk is full or fails, where that is all that went wrong; safetensors passes the
    system's words on, but not as an OSError."""
    if isinstance(error, BaseExceptionGroup):
        found = [_failed_disk(one) for one in error.exceptions]
        return found[0] if all(found) else None
    if isinstance(error, OSError):
        return error if error.errno in (errno.ENOSPC, errno.EDQUOT, *BROKEN_DISK) else None
    told = type(error).__name__ == "SafetensorError" and os.strerror(errno.ENOSPC) in str(error)
    return error if told else None


def _end_like_an_interrupt() -> Any:
    """Have SIGTERM, which batch systems send, end a command as Ctrl-C does: in words, with all that is done kept.

    Returns:
        The handler that it replaced; None where somebody else sees to the signal.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    mine = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    return signal.signal(signal.SIGTERM, stop) if mine else None


def _interrupted() -> int:
    echo("interrupted; repeat the same command: it goes on from what its directory holds", err=True)
    return EXIT_INTERRUPTED
