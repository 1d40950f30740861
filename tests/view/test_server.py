"""Who gets an answer and who does not; and the command as a user runs it."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from starlette.testclient import TestClient

from evosyn.errors import EXIT_UNAVAILABLE, MissingExtra, UsageError
from evosyn.hosts import listening_socket
from evosyn.view.answers import open_view
from evosyn.view.server import build_app

SECRET = "s3cret &/=;%"


@pytest.fixture
def client(run_dir):
    return TestClient(build_app(open_view(run_dir)), base_url="http://127.0.0.1:7575", follow_redirects=False)


def guarded(run_dir, host: str, base: str) -> TestClient:
    app = build_app(open_view(run_dir), host=host, token=SECRET)
    return TestClient(app, base_url=base, follow_redirects=False)


def test_page_and_answers_come_with_a_policy_that_forbids_everything_external(client, run_dir):
    found = client.get("/")
    assert found.status_code == 200 and "<title>evosyn view</title>" in found.text
    for response in (found, client.get("/api/overview"), client.get("/nothing")):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in response.headers
    assert client.get("/api/overview").json()["path"] == str(run_dir)


def test_questions_and_filters_go_through(client):
    rows = client.get("/api/candidates", params={"sort": "newest"}).json()["rows"]
    assert client.get("/api/candidates", params={"q": rows[0]["id"]}).json()["matching"] >= 1
    assert client.get(f"/api/candidate/{rows[0]['id']}").json()["id"] == rows[0]["id"]
    missing = client.get("/api/candidate/c_none")
    assert missing.status_code == 404 and "c_none" in missing.json()["error"]
    assert client.get("/api/candidates", params={"sort": "up"}).status_code == 404


@pytest.mark.parametrize("path", ["/api/../../etc/passwd", "/api/%2e%2e/%2e%2e/etc/passwd", "/journal.jsonl"])
def test_no_file_can_be_asked_for(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(client, method):
    assert client.request(method, "/api/overview").status_code == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7575", "127.0.0.1.evil.example", "[::2]:7575", ""])
def test_a_name_that_was_pointed_here_is_refused(client, host):
    for path in ("/", "/api/overview"):
        refused = client.get(path, headers={"host": host})
        assert refused.status_code == 403 and "overview" not in refused.text and "<title>" not in refused.text


@pytest.mark.parametrize("host", ["localhost:7575", "LOCALHOST", "127.0.0.1", "[::1]:7575"])
def test_the_names_of_loopback_are_accepted(client, host):
    assert client.get("/api/overview", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {SECRET}"},
        {"authorization": "Bearer "},
        {"cookie": "evosyn-view="},
        {"cookie": "evosyn-view=s3cret"},
    ],
)
def test_a_wrong_token_is_refused(run_dir, headers):
    client = guarded(run_dir, "127.0.0.1", "http://127.0.0.1:7575")
    for path in ("/", "/api/overview", "/?token=wrong", "/?token=", f"/api/overview?token={SECRET}"):
        assert client.get(path, headers=headers).status_code == 401


def test_the_printed_address_lets_a_browser_in_and_leaves_no_token_in_it(run_dir):
    client = guarded(run_dir, "127.0.0.1", "http://127.0.0.1:7575")
    entered = client.get("/", params={"token": SECRET})
    assert entered.status_code == 303 and entered.headers["location"] == "/"
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "s3cret" not in cookie
    assert client.get("/").status_code == client.get("/api/overview").status_code == 200


def test_a_program_gets_in_with_a_bearer_token_at_the_given_host(run_dir):
    headers = {"authorization": f"Bearer {SECRET}"}
    assert guarded(run_dir, "10.0.0.5", "http://10.0.0.5:80").get("/api/overview", headers=headers).status_code == 200
    assert guarded(run_dir, "10.0.0.5", "http://evil.example").get("/api/overview", headers=headers).status_code == 403
    assert guarded(run_dir, "0.0.0.0", "http://box.lan:80").get("/api/overview", headers=headers).status_code == 200
    assert guarded(run_dir, "0.0.0.0", "http://box.lan:80").get("/api/overview").status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.4", "box.lan"])
@pytest.mark.parametrize("token", [None, ""])
def test_another_host_without_a_token_is_refused(run_dir, host, token):
    with pytest.raises(UsageError, match="--token"):
        build_app(open_view(run_dir), host=host, token=token)


def test_a_damaged_journal_is_an_answer_not_a_crash(hostile_run):
    client = TestClient(build_app(open_view(hostile_run)), base_url="http://127.0.0.1")
    lines = (hostile_run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (hostile_run / "journal.jsonl").write_bytes(lines[0] + b"nonsense\n" + b"".join(lines[2:]))
    found = client.get("/api/overview")
    assert found.status_code == 500 and "damaged" in found.json()["error"]


def test_a_used_port_is_named():
    with (
        listening_socket("127.0.0.1", 0) as held,
        pytest.raises(UsageError, match="--port 0 takes a free port"),
    ):
        listening_socket("127.0.0.1", held.getsockname()[1])


def test_without_the_extra_the_command_names_it_and_the_export_works(run_dir, tmp_path):
    code = "import sys; sys.modules['starlette.applications'] = None; from evosyn.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "view", str(run_dir)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == EXIT_UNAVAILABLE == MissingExtra.exit_code
    assert "pip install 'evosyn[view]'" in result.stderr and "Traceback" not in result.stderr
    written = subprocess.run([*command, "--export", str(tmp_path / "deep" / "run.html")], check=False, timeout=60)
    assert written.returncode == 0 and (tmp_path / "deep" / "run.html").stat().st_size > 50_000


def test_a_wrong_directory_ends_with_the_code_of_wrong_usage(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    for path in (tmp_path / "notes", tmp_path / "notes" / "mine.txt"):
        result = subprocess.run(
            [sys.executable, "-m", "evosyn", "view", str(path)], capture_output=True, text=True, check=False, timeout=60
        )
        assert result.returncode == 2 and str(path) in result.stderr and "Traceback" not in result.stderr


def test_the_command_serves_the_page_until_it_is_interrupted(data_dir):
    command = [sys.executable, "-m", "evosyn", "view", str(data_dir), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
            if shutil.which("node") is not None:
                browser = Path(__file__).parent / "browser.js"
                arguments = [
                    "node",
                    str(browser),
                    address,
                    "overview",
                    "samples/evosyn?q=syn",
                    "problem/0",
                    "problem/99",
                ]
                result = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
                assert result.returncode == 0, result.stderr
                seen = [json.loads(line) for line in result.stdout.splitlines()]
                assert "24 problems asked for" in seen[0]["text"] and "syn-0000" in seen[1]["text"]
                assert "simulated: made by a stand-in" in seen[2]["text"]
                assert [bool(line["alerts"]) for line in seen] == [False, False, False, True]
        finally:
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=20)
    assert process.returncode == 0 and "stopped" in out and "Traceback" not in errors
