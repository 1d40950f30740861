"""A tiny randomly initialised model, made on the spot, as a teacher of this process. It shows the plumbing alone."""

import asyncio
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evosyn.chat import Message, Reply, Request
from evosyn.configs.loading import validated
from evosyn.errors import UsageError
from evosyn.ports import TeacherTools
from evosyn.teachers._local import LocalAsk, TransformersEngine, VllmEngine, cut_at
from evosyn.teachers.chat import ChatTeacher
from evosyn.teachers.local import LocalModelConfig, create, digest_of

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
WORDS = "the a of sum list number def return print zero one two three four five"
TEMPLATE = "{% for m in messages %}<u>{{ m['content'] }}<a>{% endfor %}"


def made(*, calls: int = 32, seed: int = 0, cache: Path | None = None, **options: Any) -> ChatTeacher:
    return create(TeacherTools(seed, calls, cache), validated(LocalModelConfig, options, "local"))


def build(folder: Path, *, template: str | None = TEMPLATE, context: int = 128) -> Path:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<pad>", "<u>", "<a>", "<end>"]
    raw.train_from_iterator(
        [WORDS], trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<end>")
    tokenizer.chat_template = template
    shape = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=context,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        Qwen3ForCausalLM(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def engine(model: Path) -> TransformersEngine:
    return TransformersEngine(model, "cpu", "float32")


def ask(text: str, sample: int = 0, **params: object) -> Request:
    return Request((Message("user", text),), "solution", {"max_tokens": 12, **params}, sample)  # type: ignore[dict-item]


def complete(teacher: ChatTeacher, requests: list[Request]) -> list[Reply]:
    async def main() -> list[Reply]:
        try:
            return list(await asyncio.gather(*(teacher.complete(request) for request in requests)))
        finally:
            await teacher.aclose()

    return asyncio.run(main())


def chat(text: str, seed: int = 0, **more: object) -> LocalAsk:
    return LocalAsk([{"role": "user", "content": text}], seed, max_tokens=12, **more)  # type: ignore[arg-type]


def test_a_reply_does_not_depend_on_what_else_is_in_the_batch(engine: TransformersEngine) -> None:
    asks = [chat("one two" * length, seed=length, temperature=0.5 + length / 4) for length in range(6)]
    together = engine.answers(asks)
    alone = [engine.answers([one])[0] for one in asks]
    plain = [[replace(answer, logprobs=None) for answer in some] for some in (together, alone)]  # type: ignore[type-var]
    assert plain[0] == plain[1]
    for one, other in zip(together, alone, strict=True):
        counts = [[count for count, _ in answer.logprobs or ()] for answer in (one, other)]  # type: ignore[union-attr]
        values = [[value for _, value in answer.logprobs or ()] for answer in (one, other)]  # type: ignore[union-attr]
        assert counts[0] == counts[1] and values[0] == pytest.approx(values[1], abs=1e-3)
    assert any(answer.logprobs for answer in together), (
        "of texts that end in the middle of a character nothing is known"
    )  # type: ignore[union-attr]
    assert len({answer.text for answer in together}) == 6  # type: ignore[union-attr]


def test_the_seed_draws_and_a_temperature_of_zero_does_not(engine: TransformersEngine) -> None:
    hot = engine.answers([chat("sum", seed=seed) for seed in range(6)])
    cold = engine.answers([chat("sum", seed=seed, temperature=0.0) for seed in range(6)])
    only = engine.answers([chat("sum", seed=seed, top_k=1) for seed in range(6)])
    assert len({answer.text for answer in hot}) == 6  # type: ignore[union-attr]
    assert len({answer.text for answer in cold + only}) == 1  # type: ignore[union-attr]


def test_the_share_of_a_token_among_samples_is_its_probability(engine: TransformersEngine) -> None:
    asks = [LocalAsk([{"role": "user", "content": "sum"}], seed, 0.3, max_tokens=1) for seed in range(400)]
    drawn = [answer.text for answer in engine.answers(asks)]  # type: ignore[union-attr]
    tokenizer, network = engine._tokenizer, engine._model
    prompt = tokenizer.apply_chat_template(asks[0].messages, add_generation_prompt=True, return_dict=False)
    with torch.inference_mode():
        shares = (network(torch.tensor([prompt])).logits[0, -1].float() / 0.3).softmax(-1)
    with torch.inference_mode():
        likely = network(torch.tensor([prompt])).logits[0, -1].float().log_softmax(-1)
    (first,) = engine.answers([LocalAsk([{"role": "user", "content": "sum"}], 1, 0.0, max_tokens=1)])
    assert first.logprobs == ((len(first.text), pytest.approx(float(likely.max()), abs=1e-3)),)  # type: ignore[union-attr]
    best = int(shares.argmax())
    expected = float(shares[best])
    assert abs(drawn.count(tokenizer.decode([best], skip_special_tokens=True)) / 400 - expected) < 0.08


def test_each_row_ends_at_its_own_limit_and_stop(engine: TransformersEngine) -> None:
    long = engine.answers([LocalAsk([{"role": "user", "content": "sum"}], 1, max_tokens=40)])[0]
    short, stopped = engine.answers(
        [
            LocalAsk([{"role": "user", "content": "sum"}], 1, max_tokens=3),
            LocalAsk([{"role": "user", "content": "sum"}], 1, max_tokens=40, stop=(long.text[10:12],)),  # type: ignore[union-attr]
        ]
    )
    assert (short.output_tokens, short.finish_reason) == (3, "length")  # type: ignore[union-attr]
    assert stopped.finish_reason == "stop"  # type: ignore[union-attr]
    assert stopped.text == cut_at(long.text, (long.text[10:12],))[0]  # type: ignore[union-attr]
    assert stopped.output_tokens < long.output_tokens  # type: ignore[union-attr]


def test_a_prompt_that_is_too_long_concerns_only_itself(model: Path) -> None:
    replies = complete(made(path=model, device="cpu"), [ask("sum"), ask("zero " * 500)])
    assert [reply.failure in (None, "truncated") for reply in replies] == [True, False]
    assert replies[1].failure == "too-long" and replies[1].detail.endswith("tokens of prompt, window 128")


def test_requests_that_wait_are_answered_together_and_one_alone_is_not_held_back(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    answers = TransformersEngine.answers

    def counted(self: TransformersEngine, asks: list[LocalAsk]) -> object:
        sizes.append(len(asks))
        return answers(self, asks)

    monkeypatch.setattr(TransformersEngine, "answers", counted)
    complete(made(path=model, device="cpu", calls=8), [ask(f"sum {number}") for number in range(20)])
    assert sizes == [8, 8, 4]
    sizes.clear()
    complete(made(path=model, device="cpu", calls=8), [ask("sum")])
    assert sizes == [1]


def test_replies_are_kept_samples_differ_and_the_same_seed_gives_them_again(model: Path, tmp_path: Path) -> None:
    requests = [ask("sum", sample) for sample in range(4)]
    first = complete(made(path=model, device="cpu", cache=tmp_path / "a.sqlite"), requests)
    again = complete(made(path=model, device="cpu", cache=tmp_path / "a.sqlite"), requests)
    anew = complete(made(path=model, device="cpu"), requests)
    other = complete(made(path=model, device="cpu", seed=1), requests)
    assert len({reply.text for reply in first}) == 4
    assert all(reply.cached for reply in again)
    assert [reply.text for reply in first] == [reply.text for reply in again] == [reply.text for reply in anew]
    assert [reply.text for reply in first] != [reply.text for reply in other]
    assert all(reply.input_tokens > 0 and reply.output_tokens > 0 and reply.cost == 0.0 for reply in first)


def test_another_model_in_the_same_directory_has_another_name(tmp_path: Path) -> None:
    folder = build(tmp_path / "m")
    before = digest_of(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert digest_of(folder) != before


@pytest.mark.parametrize(
    ("prepare", "options", "says"),
    [
        (lambda folder: folder / "absent", {}, "no such directory.*hf download"),
        (lambda folder: folder, {}, "no config.json"),
        (build, {"engine": "tensorflow"}, "'auto', 'transformers' or 'vllm'"),
        (build, {"engine": "vllm"}, "needs vllm"),
        (lambda folder: build(folder, template=None), {}, "no chat template"),
        (build, {"dtype": "float17"}, "teacher.dtype float17"),
        (build, {"device": "cuda:7"}, "teacher.device cuda:7"),
    ],
)
def test_what_is_missing_is_said_with_the_next_step(prepare, options, says, tmp_path: Path) -> None:
    if options.get("engine") == "vllm" and "vllm" in sys.modules:
        pytest.skip("vllm is installed")
    with pytest.raises(UsageError, match=says):
        complete(made(path=prepare(tmp_path), **options), [ask("sum")])


def test_a_missing_library_is_named_before_anything_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build(tmp_path)
    found = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "torch" else found(name, *rest))
    with pytest.raises(UsageError, match=r"pip install evosyn\[train\]"):
        made(path=folder)


def test_an_unknown_parameter_is_named(model: Path) -> None:
    with pytest.raises(UsageError, match="frequency_penalty"):
        complete(made(path=model, device="cpu"), [ask("sum", frequency_penalty=1.0)])


def test_making_the_teacher_imports_nothing_heavy(model: Path) -> None:
    import subprocess

    code = "import sys; from evosyn.ports import TeacherTools; from evosyn.registry import make\n"
    code += f"make('teachers', 'local:{model}', TeacherTools())\n"
    code += "assert not {'torch', 'transformers', 'vllm'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_vllm_is_asked_in_its_own_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Against a module with the documented signatures of vLLM; the library itself does not install here."""

    class SamplingParams:
        def __init__(self, *, temperature, top_p, top_k, max_tokens, stop, skip_special_tokens, seed, logprobs) -> None:
            assert skip_special_tokens and logprobs == 0
            self.all = (temperature, top_p, top_k, max_tokens, stop, seed)

    class LLM:
        def __init__(self, *, model, dtype) -> None:
            assert (model, dtype) == (str(tmp_path), "auto")

        def get_tokenizer(self):
            said = {"chat_template": "x", "added_tokens_decoder": {}, "decode": lambda ids: f"{len(ids)} tokens"}
            return types.SimpleNamespace(**said)

        def chat(self, messages, sampling_params, *, use_tqdm, chat_template_kwargs):
            assert not use_tqdm
            return [
                types.SimpleNamespace(
                    prompt_token_ids=[1, 2],
                    outputs=[
                        types.SimpleNamespace(
                            text=(said := f"{chat[0]['content']} {params.all} {chat_template_kwargs}"),
                            finish_reason="length",
                            token_ids=[3],
                            logprobs=[{9: None, 3: types.SimpleNamespace(decoded_token=said, logprob=-0.25)}],
                        )
                    ],
                )
                for chat, params in zip(messages, sampling_params, strict=True)
            ]

    monkeypatch.setitem(sys.modules, "vllm", types.SimpleNamespace(LLM=LLM, SamplingParams=SamplingParams))
    answers = VllmEngine(tmp_path, "auto").answers(
        [chat("a", 5, temperature=0.5), chat("b", 6, template={"enable_thinking": False}), chat("c", 7, stop=("x",))]
    )
    assert [answer.text for answer in answers] == [
        "a (0.5, 1.0, -1, 12, None, 5) None",
        "b (1.0, 1.0, -1, 12, None, 6) {'enable_thinking': False}",
        "c (1.0, 1.0, -1, 12, ['x'], 7) None",
    ]
    assert answers[0].logprobs == ((len(answers[0].text), -0.25),)
    assert (answers[0].finish_reason, answers[0].input_tokens, answers[0].output_tokens) == ("length", 2, 1)


@pytest.mark.parametrize(("opened", "failure"), [("<think>\n", "cut-in-reasoning"), ("<think>\n\n</think>\n\n", None)])
def test_a_reply_to_a_template_that_opens_reasoning_is_reasoning(
    tmp_path: Path, opened: str, failure: str | None
) -> None:
    folder = build(tmp_path, template=TEMPLATE + opened)
    (reply,) = complete(made(path=folder, device="cpu"), [ask("sum")])
    assert reply.failure in (failure, "truncated")
    assert bool(reply.text.strip()) == (failure is None)
