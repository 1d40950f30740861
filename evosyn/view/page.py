"""The HTML around the answers: one file without outside references, served as it is or with the answers inside.

Nothing but its own script and style may run in it: both are named by their hash in the Content-Security-Policy, so a
text that found its way into the markup would still not be executed. The script inserts texts as text only.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from pathlib import Path

from evosyn.errors import UsageError
from evosyn.rundir import write_atomic
from evosyn.view.answers import View, encoded

PARTS = ("base", "charts", "search", "data", "summary", "environments", "worlds", "frame")
"""The parts of the script, in the order in which they stand in the page."""
HEAD = "<!-- policy -->"
EMBEDDED = '<script type="application/json" id="embedded">null</script>'


def page() -> str:
    """The page that asks its server."""
    web = resources.files("evosyn.view").joinpath("web")

    def text(name: str) -> str:
        return web.joinpath(name).read_text(encoding="utf-8")

    script = "\n".join(text(f"{part}.js") for part in PARTS)
    return text("page.html").replace("/* style.css */", text("style.css")).replace("/* script */", script)


def policy(html: str, *, connect: str) -> str:
    """The Content-Security-Policy of the page; `connect` is what its script may ask: `'self'` or `'none'`."""
    script, style = (_hash(_only(rf"<{tag}>(.*?)</{tag}>", html)) for tag in ("script", "style"))
    return (
        f"default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )


def exported(view: View) -> str:
    """The page with its answers inside: it works from a file, without server and network."""
    html = page()
    held = ",".join(f"{encoded(question)}:{encoded(view.answer(question, {}))}" for question in view.contents())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(html, connect=chr(39) + "none" + chr(39))}">'
    embedded = EMBEDDED.replace("null", "{" + _inert(held) + "}")
    return html.replace(HEAD, meta, 1).replace(EMBEDDED, embedded, 1)


def write_export(view: View, file: Path) -> None:
    """Write the exported page atomically.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        write_atomic(file, exported(view))
    except OSError as error:
        raise UsageError(f"--export {file}: cannot be written: {error.strerror}") from error


def _inert(text: str) -> str:
    """JSON that no HTML parser can read as markup: these characters only stand inside of strings."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _only(pattern: str, html: str) -> str:
    (found,) = re.findall(pattern, html, re.DOTALL)
    return str(found)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
