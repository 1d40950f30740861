"""`evosyn view`: any directory in the browser, or as one HTML file."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from urllib.parse import quote

import click

from evosyn.cli._command import NewFile
from evosyn.cli._output import echo


@click.command(short_help="Show a run or a dataset in the browser.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Any but loopback needs --token.")
@click.option("--port", type=click.IntRange(0, 65535), default=7575, show_default=True, help="0 takes a free one.")
@click.option("--token", envvar="EVOSYN_VIEW_TOKEN", show_envvar=True, help="What a visitor has to give.")
@click.option("--export", "file", type=NewFile(), help="Write one HTML file; serve nothing.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(directory: Path, host: str, port: int, token: str | None, file: Path | None, no_browser: bool) -> None:
    """Show what DIRECTORY holds: a search, a dataset, a training or any other run, finished or not.

    Serving needs the extra `view`; --export needs nothing.
    """
    from evosyn.view.answers import open_view
    from evosyn.view.page import write_export

    view = open_view(directory, wait=file is None)
    if file is not None:
        write_export(view, file)
        echo(f"written: {file} ({file.stat().st_size / 1024:.0f} KiB); it opens in any browser, without a network")
        return
    from evosyn.hosts import ANY, listening_socket
    from evosyn.view.server import build_app, serve

    app = build_app(view, host=host, token=token)
    with listening_socket(host, port) as bound:
        shown = "127.0.0.1" if host in ANY else f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{bound.getsockname()[1]}/" + (f"?token={quote(token, safe='')}" if token else "")
        echo(f"{directory} on {address} (Ctrl-C stops)")
        if view.waits:
            echo(f"{directory}: nothing is there yet; the page shows the run as soon as one begins")
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            serve(app, bound)
        except KeyboardInterrupt:
            echo("stopped")
