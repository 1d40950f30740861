"""A real browser over its debugging port: pages at a width and in a colour scheme, what they say, ask for and show."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = tuple(
    f"--{name}"
    for name in (
        *("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "hide-scrollbars", "disable-dev-shm-usage"),
        *("disable-background-networking", "disable-component-update", "remote-debugging-port=0"),
    )
)
SHOWN = "!!document.getElementById('main') && !document.getElementById('loading')"
SIZE = {"height": 900, "deviceScaleFactor": 1, "mobile": False}
CONTRASTS = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


def found_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Tab:
    """One tab; `said` holds what the page logged as an error, `asked` every address that it wanted."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read())
        self.said: list[str] = []
        self.asked: list[str] = []

    async def call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        return await self._waiting[number]

    async def begin(self) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")

    async def look(self, width: int, scheme: str) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def open(self, address: str, ready: str = SHOWN) -> None:
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=address)
        while not await self.run(ready):  # the test's own limit ends a page that never gets ready
            await asyncio.sleep(0.02)

    async def run(self, expression: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    async def faint(self, least: float) -> list[dict[str, Any]]:
        """The visible texts whose contrast with what is behind them is below `least`."""
        found = json.loads(await self.run(CONTRASTS))
        assert found["seen"] > 0
        return [one for one in found["texts"] if one["contrast"] < least]

    async def picture(self, file: Path) -> None:
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        shot = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    async def close(self) -> None:
        self._reader.cancel()

    async def _read(self) -> None:
        async for message in self._socket:
            value = json.loads(message.data)
            if "id" in value:
                self._waiting.pop(value["id"]).set_result(value.get("result", value.get("error")))
            elif value["method"] == "Network.requestWillBeSent":
                self.asked.append(value["params"]["request"]["url"])
            elif value["method"] == "Runtime.exceptionThrown":
                self.said.append(str(value["params"]["exceptionDetails"]))
            elif value["method"] == "Log.entryAdded" and value["params"]["entry"]["level"] in ("error", "warning"):
                self.said.append(str(value["params"]["entry"]))
            elif value["method"] == "Runtime.consoleAPICalled" and value["params"]["type"] in ("error", "assert"):
                self.said.append(str(value["params"]["args"]))


@asynccontextmanager
async def browsing(browser: str) -> AsyncIterator[Tab]:
    """A tab of a browser of our own, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="evosyn-browser-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [browser, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port = await _port(Path(folder) / "DevToolsActivePort", process)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    (page,) = [one for one in await answer.json() if one["type"] == "page"]
                async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    tab = Tab(socket)
                    await tab.begin()
                    yield tab
                    await tab.close()
        finally:
            process.terminate()
            process.wait()


async def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    while not file.exists() or not file.read_text().strip():
        if process.poll() is not None:
            raise RuntimeError(f"the browser ended with {process.returncode}")
        await asyncio.sleep(0.05)
    return int(file.read_text().split()[0])
