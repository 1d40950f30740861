"""The registry: plug-ins by name, dotted path or entry point, made in one way; a helpful error for anything else."""

import sys
from pathlib import Path
from typing import Annotated

import pytest

from evosyn import registry
from evosyn.errors import UsageError
from evosyn.ports import Argument, DomainTools, PluginConfig, TeacherTools
from evosyn.teachers.chat import ChatTeacher


class SizedConfig(PluginConfig):
    label: Annotated[str, Argument("LABEL")] = "none"
    size: int = 1


def sized(tools: TeacherTools, config: SizedConfig) -> tuple[TeacherTools, SizedConfig]:
    return tools, config


def plain(tools: DomainTools, config: PluginConfig) -> str:  # noqa: ARG001
    return "plain"


def without_types(tools, config): ...  # type: ignore[no-untyped-def]


def of_a_dictionary(tools: TeacherTools, config: dict[str, int]) -> None: ...


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("litellm:openai/m", True), ("mailbox:letters", True), ("local:./a.b", True), ("package.module:create", True),
        ("package.module:create:weak", True), ("openai/gpt-4.1", False), ("openai/gpt-x:2024", False), ("m", False),
        ("gpt-4.1", False), ("ollama_chat/llama3.2:3b", False), ("hosted_vllm/Qwen/Qwen3-8B", False), ("a.b", False),
    ],
)  # fmt: skip
def test_a_name_or_a_dotted_path_is_a_plugin_and_the_name_of_a_model_is_none(text: str, is_one: bool) -> None:
    assert registry.is_plugin("teachers", text) is is_one


@pytest.mark.parametrize("kind", registry.HOMES)
def test_all_that_is_listed_has_the_one_form(kind: str) -> None:
    for name in registry.names(kind):
        assert name == name.lower()
        assert registry.find(kind, name).text == name


def test_no_name_stands_in_two_homes() -> None:
    for kind in registry.HOMES:
        names = registry.names(kind)
        assert len(set(names)) == len(names)


def test_a_dotted_path_makes_a_part_of_the_user_with_its_tools_and_options() -> None:
    tools = TeacherTools(seed=5)
    assert registry.make("teachers", f"{__name__}:sized", tools, {"size": 3}) == (tools, SizedConfig(size=3))


def test_what_follows_a_name_or_a_dotted_path_is_its_argument(tmp_path: Path) -> None:
    assert isinstance(registry.make("teachers", f"mailbox:{tmp_path}/a:b", TeacherTools()), ChatTeacher)
    assert (tmp_path / "a:b" / "README.md").is_file()
    assert (tmp_path / "a:b").is_dir()
    _, config = registry.make("teachers", f"{__name__}:sized:x:y", TeacherTools())
    assert config.label == "x:y"


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("domains", "python-funktion", "did you mean 'python-function'"),
        ("teachers", "mailbx:DIR", "did you mean 'mailbox'"),
        ("domains", "no.such:thing", "cannot load"),
        ("things", "x", "unknown kind"),
        ("domains", f"{__name__}:plain:more", "takes nothing after its name"),
        (
            "teachers",
            f"{__name__}:without_types",
            "tools are not annotated. The form is create.tools: TeacherTools",
        ),
        ("teachers", f"{__name__}:of_a_dictionary", "its config is dict"),
        ("teachers", f"{__name__}:plain", "its tools are DomainTools"),
        ("teachers", "fractions:Fraction", "Fraction' does not name a plug-in of this kind: it takes "),
        ("teachers", "os:sep", "cannot be read"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_to_do(kind: str, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        registry.make(kind, text, TeacherTools())


@pytest.mark.parametrize(
    ("module", "value", "why"),
    [
        ("import nothing_of_that_name", "broken_part:create", "ModuleNotFoundError: No module named 'nothing_of_that"),
        ("1 / 0", "broken_part:create", "ZeroDivisionError: division by zero"),
        ("def create(:", "broken_part:create", "SyntaxError: "),
        ("", "broken_part:create", "AttributeError: module 'broken_part' has no attribute 'create'"),
    ],
)
def test_an_entry_point_that_cannot_be_imported_is_named_with_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, value: str, why: str
) -> None:
    about = tmp_path / "broken_plugin-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[evosyn.domains]\nbroken = {value}\n")
    (tmp_path / "broken_part.py").write_text(f"{module}\n")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("broken_part", None)
    assert "broken" in registry.names("domains")
    with pytest.raises(UsageError) as found:
        registry.find("domains", "broken")
    says = str(found.value)
    assert says.startswith("domains: the entry point 'broken' (broken_part:create) of broken-plugin 1.2 cannot be load")
    assert why in says and 'python -c "import broken_part"' in says and found.value.exit_code == 2
    sys.modules.pop("broken_part", None)
    with pytest.raises(UsageError, match=r"domains: cannot load 'broken_part:create': ") as found:
        registry.find("domains", "broken_part:create")
    assert why in str(found.value)
    sys.modules.pop("broken_part", None)


def test_an_option_that_does_not_exist_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"sized': unknown key 'sise'; did you mean 'size'"):
        registry.make("teachers", f"{__name__}:sized", TeacherTools(), {"sise": 3})
    with pytest.raises(UsageError, match="unknown key 'size'; known: none"):
        registry.make("domains", f"{__name__}:plain", DomainTools(), {"size": 3})
