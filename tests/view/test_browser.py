"""The page in a real browser: every text can be read in both colour schemes and at both widths, nothing is asked for
outside, nothing goes wrong, the keyboard is enough, and a page that waits shows the run as it begins."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from evosyn.hosts import listening_socket
from evosyn.view.answers import open_view
from evosyn.view.page import exported
from evosyn.view.server import build_app
from tests.reading.test_summaries import EVAL, TRAINED, training, written
from tests.view.chromium import Tab, browsing, found_browser

LEAST = 4.5
"""WCAG 2.2, level AA, for letters of any size."""
WIDTHS, SCHEMES = (1400, 400), ("light", "dark")
HOUSE = Path(__file__).parents[2] / "docs" / "house.svg"

pytestmark = pytest.mark.skipif(found_browser() is None, reason="needs a browser: chromium")


def browse(steps) -> None:
    async def go() -> None:
        async with browsing(found_browser()) as tab:
            await steps(tab)
            assert tab.said == []
            assert [address for address in tab.asked if not address.startswith(("file:", "about:", "data:"))] == []

    asyncio.run(asyncio.wait_for(go(), 240))


async def fine(tab: Tab, address: str, shots: Path) -> None:
    """The page at every width, with a picture, in every scheme."""
    for width in WIDTHS:
        await tab.look(width, SCHEMES[0])
        await tab.open(address)
        assert await tab.run("document.querySelector('[role=alert]')?.textContent ?? null") is None
        assert await tab.run("document.documentElement.scrollWidth") <= width, f"{address} at {width}"
        assert await tab.run("document.images.length") == 0
        for scheme in SCHEMES:
            await tab.look(width, scheme)
            assert await tab.faint(LEAST) == [], f"{address} at {width} in {scheme}"
        await tab.picture(shots / f"{len(list(shots.glob('*.png')))}.png")


def test_every_page_of_a_search_can_be_read_and_asks_for_nothing(run_dir, tmp_path):
    view, file = open_view(run_dir), tmp_path / "run.html"
    file.write_text(exported(view), encoding="utf-8")
    card = json.loads((run_dir / "card.json").read_text())
    best = json.loads((run_dir / "report.json").read_text())["best"]["id"]
    pages = ["overview", "candidates", f"candidate/{best}"]
    pages += [f"matrix/{duel['problem']}?best={duel['mine']['best']}" for duel in card["duels"][:1]]

    async def steps(tab: Tab) -> None:
        for page in pages:
            await fine(tab, f"{file.as_uri()}#{page}", tmp_path)

    browse(steps)
    assert len(list(tmp_path.glob("*.png"))) == len(WIDTHS) * len(pages)


def test_every_page_of_a_dataset_can_be_read_and_hostile_texts_stay_texts(data_dir, tmp_path, visible):
    view, file = open_view(data_dir), tmp_path / "data.html"
    file.write_text(exported(view), encoding="utf-8")
    index = view.answer("samples/evosyn", {})["rows"][0]["index"]

    async def steps(tab: Tab) -> None:
        for page in ("overview", "samples/evosyn", "rejects", f"problem/{index}"):
            await fine(tab, f"{file.as_uri()}#{page}", tmp_path)
        assert visible in await tab.run("document.body.textContent")

    browse(steps)


def test_trainings_and_evaluations_can_be_read(tmp_path):
    folders = {name: tmp_path / name for name in ("running", "trained", "eval")}
    for folder in folders.values():
        folder.mkdir()
    training(folders["running"])
    written(training(folders["trained"]), report=TRAINED)
    written(folders["eval"], report=EVAL, manifest={"kind": "eval"})

    async def steps(tab: Tab) -> None:
        for name, folder in folders.items():
            file = tmp_path / f"{name}.html"
            file.write_text(exported(open_view(folder)), encoding="utf-8")
            await fine(tab, file.as_uri(), tmp_path)
            assert await tab.run("document.querySelectorAll('svg.chart').length") == (0 if name == "eval" else 2)

    browse(steps)


def test_letters_of_all_verdicts_can_be_read(tmp_path):
    page = tmp_path / "run.html"
    page.write_text(exported(open_view(written(tmp_path, report=EVAL, manifest={"kind": "eval"}))), encoding="utf-8")
    show = (
        "main.replaceChildren(h('p', {}, Object.keys(VERDICTS).map(letter)), h('table', {class: 'matrix'}, h('tr', {}, "
        "Object.keys(VERDICTS).map((one) => h('td', {class: 'v-' + one + ' chosen'}, one)))))"
    )

    async def steps(tab: Tab) -> None:
        for scheme in SCHEMES:
            await tab.look(1400, scheme)
            await tab.open(page.as_uri())
            await tab.run(show)
            assert await tab.faint(LEAST) == []
            assert await tab.run("document.querySelectorAll('.v, .matrix td').length") == 16

    browse(steps)


def test_the_keyboard_reaches_rows_and_opens_them_and_columns_sort(run_dir, tmp_path):
    file = tmp_path / "run.html"
    file.write_text(exported(open_view(run_dir)), encoding="utf-8")

    async def press(tab: Tab, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" else {}
            code = {"Tab": 9, "Enter": 13, "ArrowDown": 40}[key]
            await tab.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    async def steps(tab: Tab) -> None:
        await tab.look(1400, "light")
        await tab.open(f"{file.as_uri()}#candidates", "!!document.querySelector('tr[tabindex]')")
        for _ in range(40):
            await press(tab, "Tab")
            if await tab.run("document.activeElement.matches('tr[tabindex]')"):
                break
        assert await tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        await press(tab, "ArrowDown")
        second = await tab.run("[...document.querySelectorAll('tr[tabindex]')].indexOf(document.activeElement)")
        assert second == 1
        wanted = await tab.run("document.activeElement.querySelector('a').textContent")
        await press(tab, "Enter")
        while not await tab.run("!!document.querySelector('pre')"):
            await asyncio.sleep(0.02)
        assert await tab.run("location.hash") == f"#candidate/{wanted}"
        await tab.open(f"{file.as_uri()}#overview", "!!document.querySelector('th button')")
        rows = "[...document.querySelectorAll('table')[0].tBodies[0].rows]"
        scores = f"{rows}.map((row) => parseFloat(row.cells[1].textContent))"
        await tab.run(
            "document.querySelectorAll('th button')[1].click(), document.querySelectorAll('th button')[1].click()"
        )
        found = [score for score in await tab.run(scores) if score is not None]
        assert found == sorted(found) and len(set(found)) > 2

    browse(steps)


def test_the_way_back_leads_to_where_a_list_was_left_and_an_unknown_page_is_said_to_be_one(run_dir, tmp_path):
    file = tmp_path / "run.html"
    file.write_text(exported(open_view(run_dir)), encoding="utf-8")

    async def until(tab: Tab, condition: str) -> None:
        while not await tab.run(condition):
            await asyncio.sleep(0.02)

    async def steps(tab: Tab) -> None:
        await tab.look(1400, "light")
        await tab.open(f"{file.as_uri()}#candidates", "!!document.querySelector('tr[tabindex]')")
        left = await tab.run("(scrollTo(0, 300), scrollY)")
        assert left > 0
        await tab.run("document.querySelectorAll('tr[tabindex] a')[5].click()")
        await until(tab, "location.hash.startsWith('#candidate/') && !!document.querySelector('pre') && scrollY === 0")
        await tab.run("history.back()")
        await until(tab, f"location.hash.startsWith('#candidates') && scrollY === {left}")
        await tab.run("void (location.hash = '#nonsense')")
        await until(tab, "!!document.querySelector('[role=alert]')")
        assert "there is no page #nonsense" in await tab.run("main.textContent")

    browse(steps)


def test_a_page_that_waits_shows_the_run_as_soon_as_it_begins(run_dir, tmp_path):
    import threading

    import uvicorn

    folder = tmp_path / "later"
    view = open_view(folder, wait=True)
    assert view.waits and view.answer("overview", {})["conclusion"]["worked"] == "open"
    server = uvicorn.Server(uvicorn.Config(build_app(view), log_level="warning", lifespan="off"))
    bound = listening_socket("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{bound.getsockname()[1]}/"

    async def steps(tab: Tab) -> None:
        await tab.look(1400, "light")
        await tab.open(address)
        assert "waited for" in await tab.run("main.textContent")
        assert await tab.faint(LEAST) == []
        shutil.copytree(run_dir, folder)
        await tab.run("show()")  # what its clock does every five seconds
        assert "Every candidate" in await tab.run("main.textContent")
        assert {one for one in tab.asked if not one.startswith((address, "about:"))} == set()
        tab.asked.clear()

    try:
        browse(steps)
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
    assert not view.waits


def test_the_picture_of_the_house_can_be_read_in_both_schemes():
    ratios = """(() => {
      const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map((one) => { const c = one / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const under = (node) => { const box = node.getBoundingClientRect(); return document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2).find((one) => one.tagName === "rect"); };
      return [...document.querySelectorAll("text")].map((node) => { const [a, b] = [light(getComputedStyle(node).fill), light(getComputedStyle(under(node)).fill)]; return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); });
    })()"""  # noqa: E501

    async def steps(tab: Tab) -> None:
        for scheme in SCHEMES:
            await tab.look(1400, scheme)
            await tab.open(HOUSE.as_uri(), "document.documentElement.tagName === 'svg'")
            found = await tab.run(ratios)
            assert len(found) > 10 and min(found) >= LEAST, scheme

    browse(steps)
