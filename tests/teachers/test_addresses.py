"""The address of an endpoint is checked before anything is sent, and never repeated with a secret in it."""

import re

import pytest

from evosyn.addresses import fault_of, without_secrets
from evosyn.errors import UsageError
from evosyn.registry import find

WRONG = {
    "localhost:8000/v1": "does not begin with http:// or https://",
    "ftp://localhost/v1": "does not begin with http:// or https://",
    "file:///etc/passwd": "does not begin with http:// or https://",
    "": "does not begin with http:// or https://",
    "http://": "names no host",
    "http:///v1": "names no host",
    "http://:8000/v1": "names no host",
    " http://localhost:8000/v1": "holds a blank",
    "http://local host:8000/v1": "holds a blank",
    "http://localhost:8000/v1\n": "holds a blank, a line end",
    "http://localhost:eighty/v1": "has a port that is none",
    "http://localhost:0/v1": "has a port that is none",
    "http://localhost:99999/v1": "has a port that is none",
    "http://localhost:/v1": "has a port that is none",
    "http://[::1/v1": "is no URL",
    "http://user:pass-word@localhost:8000/v1": "holds a user or a password",
    "http://pass-word@localhost:8000/v1": "holds a user or a password",
    "http://user:pass/word@localhost:8000/v1": "has a port that is none",
    "user:pass-word@localhost:8000/v1": "does not begin with http:// or https://",
    "http://localhost:8000/v1?api_key=pass-word": "holds more than an address",
    "http://localhost:8000/v1#pass-word": "holds more than an address",
    "http://localhost:8000/v1/chat/completions": "ends with /chat/completions, which is added",
}
RIGHT = [
    "http://localhost:8000/v1",
    "https://api.openai.com/v1/",
    "HTTPS://example.org",
    "http://127.0.0.1:65535",
    "http://[::1]:8000/v1",
    "https://gateway.example/team/@me/v1",
]


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_address_is_said_before_anything_is_sent_and_keeps_its_secret(url: str) -> None:
    with pytest.raises(UsageError, match=re.escape(WRONG[url])) as caught:
        find("teachers", "litellm:openai/m").configured({"base_url": url})
    assert "--base-url" in str(caught.value)
    assert "word" not in str(caught.value).replace("a password", "")


@pytest.mark.parametrize("url", RIGHT)
def test_a_good_address_is_taken_as_it_is(url: str) -> None:
    assert fault_of(url) == ""


def test_a_url_is_shown_without_user_password_and_query() -> None:
    assert without_secrets("http://u:p@ss/w?rd@host:1/v1?key=k#f") == "http://...@host:1/v1?..."
    assert without_secrets("https://host/v1") == "https://host/v1"
