"""The page itself: text of models stays text, nothing from outside is loaded, the script shows what it should."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evosyn.view import answers
from evosyn.view.answers import open_view
from evosyn.view.page import exported, page, policy
from tests.reading.test_summaries import training

BROWSER = Path(__file__).parent / "browser.js"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


class Elements(HTMLParser):
    """The elements of a document, and the text of its scripts, as a browser's parser splits them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags[-1:] == ["script"] and self.scripts:
            self.scripts[-1] += data


def shown(file: Path | str, *hashes: str) -> dict[str, dict]:
    result = subprocess.run(
        ["node", str(BROWSER), str(file), *hashes], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    return {line["hash"]: line for line in map(json.loads, result.stdout.splitlines())}


def write(path: Path, html: str) -> Path:
    path.write_text(html, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["hostile_run", "data_dir"])
def test_an_export_has_the_elements_of_the_empty_page_whatever_the_texts_hold(name, request):
    html = exported(open_view(request.getfixturevalue(name)))
    assert "onerror" in html
    bare, full = Elements(page()), Elements(html)
    assert sorted(full.tags) == sorted([*bare.tags, "meta"])
    assert not {name for name, _ in full.attributes} & {"onerror", "onload", "src", "srcdoc"}
    assert html.isascii() == page().isascii()
    held = json.loads(full.scripts[0])
    assert held["overview"]["path"] == str(request.getfixturevalue(name))
    assert full.scripts[1] == bare.scripts[1]


def test_an_export_holds_the_answers_that_the_server_gives(run_dir):
    view = open_view(run_dir)
    held = json.loads(Elements(exported(view)).scripts[0])
    assert set(held) == set(view.contents())
    for question in ("overview", "candidates", *list(held)[-2:]):
        assert held[question] == json.loads(answers.encoded(view.answer(question, {})))


def test_an_export_is_bounded(run_dir, monkeypatch):
    monkeypatch.setattr(answers, "LISTED", 5)
    monkeypatch.setattr("evosyn.view.answers.DETAILED", 4)
    held = json.loads(Elements(exported(open_view(run_dir))).scripts[0])
    assert len(held["candidates"]["rows"]) == 5
    assert sum(question.startswith("candidate/") for question in held) == 4


def test_the_page_names_nothing_outside_of_itself():
    html = page()
    assert set(re.findall(r"https?://[^\s\"'`]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|<img|<iframe|@import|url\((?!#)|\bsrc=", html)


def test_the_script_never_makes_markup_of_text():
    script = Elements(page()).scripts[1]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser", script
    )


def test_the_policy_allows_the_script_and_style_of_the_page_and_nothing_else():
    html = page()
    allowed = policy(html, connect="'none'")
    assert allowed.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in allowed and "http" not in allowed
    changed = html.replace('"use strict";', '"use strict"; alert(1);')
    assert policy(changed, connect="'none'") != allowed


@needs_node
def test_the_script_is_valid(tmp_path):
    file = write(tmp_path / "page.js", Elements(page()).scripts[1])
    subprocess.run(["node", "--check", str(file)], check=True, capture_output=True)


@needs_node
def test_a_run_is_shown_from_overview_to_lineage(run_dir, tmp_path):
    report = json.loads((run_dir / "report.json").read_text())
    best = report["best"]["id"]
    file = write(tmp_path / "run.html", exported(open_view(run_dir)))
    seen = shown(file, "overview", "candidates", "candidates?q=nosuchword", f"candidate/{best}", "candidate/c_none")
    parts = ["Seed consistency", "evolved", "any ranking could reach", "the best so far", "island 1", "genetic"]
    parts += ["everything ever kept", "Which of its parts matter", "seed by seed", "What won", "held-out problems"]
    for part in parts:
        assert part in seen["overview"]["text"]
    assert "svg" in seen["overview"]["tags"]
    assert best in seen["candidates"]["text"]
    assert "0 that match" in seen["candidates?q=nosuchword"]["text"]
    for part in ("def rank(evidence)", "Lineage", "kept: "):
        assert part in seen[f"candidate/{best}"]["text"]
    assert "evosyn view" in seen["candidate/c_none"]["alerts"][0]
    assert not any(line["alerts"] for name, line in seen.items() if name != "candidate/c_none")


@needs_node
def test_a_dataset_is_shown_from_funnel_to_matrix_and_its_hostile_texts_as_text(data_dir, tmp_path, visible):
    file = write(tmp_path / "data.html", exported(open_view(data_dir)))
    index = open_view(data_dir).answer("samples/evosyn", {})["rows"][0]["index"]
    seen = shown(file, "overview", "samples/evosyn", "rejects", f"problem/{index}")
    assert not any(line["alerts"] for line in seen.values())
    for part in ("24 problems asked for", "near-duplicate", "prune", "Distributions", "became rows"):
        assert part in seen["overview"]["text"]
    assert "syn-0000" in seen["samples/evosyn"]["text"] and "near-duplicate" in seen["rejects"]["text"]
    problem = seen[f"problem/{index}"]
    for part in (visible, ", the best", ", the worst", "the chosen one", "input", "->", "simulated", "kept"):
        assert part in problem["text"]
    assert not {"img", "script"} & set(problem["tags"])


@needs_node
def test_hostile_texts_of_a_run_are_shown_as_text(hostile_run, tmp_path, visible):
    view = open_view(hostile_run)
    name = view.answer("candidates", {"sort": "newest"})["rows"][0]["id"]
    monkey = exported(view)
    seen = shown(write(tmp_path / "run.html", monkey), "overview", "candidates?sort=newest", f"candidate/{name}")
    assert all(visible in line["text"] for hash_, line in seen.items())
    assert not any({"img", "script"} & set(line["tags"]) or line["alerts"] for line in seen.values())


@needs_node
def test_a_training_that_runs_is_shown_with_its_curves(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    file = write(tmp_path / "run.html", exported(open_view(training(folder))))
    (seen,) = shown(file, "overview").values()
    assert not seen["alerts"] and "svg" in seen["tags"]
    for part in ("step 2 of 2", "builtin:tiny", "reward", "loss", "0.1 to 0.2"):
        assert part in seen["text"]
