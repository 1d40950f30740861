"""Calls of tools as model families write them, each a text that holds one call of `renew`: what a reader must read."""

import json

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "renew",
            "description": "Renew a loan.",
            "parameters": {
                "type": "object",
                "properties": {
                    "loan": {"type": "string"},
                    "weeks": {"type": "integer"},
                    "fast": {"type": "boolean"},
                },
                "required": ["loan", "weeks", "fast"],
            },
        },
    },
    {"type": "function", "function": {"name": "list_loans", "parameters": {"type": "object", "properties": {}}}},
]
ARGS = {"loan": "L0003 </b>", "weeks": 2, "fast": True}
BODY = json.dumps(ARGS)
DSML = "｜DSML｜"


def _json(name, args):
    return json.dumps({"name": name, "arguments": args})


def _pairs(opens, closes, args):
    return "".join(
        f"{opens.format(one)}{value if isinstance(value, str) else json.dumps(value)}{closes}"
        for one, value in args.items()
    )


def _deepseek_v32(name, args):
    kinds = {one: "true" if isinstance(value, str) else "false" for one, value in args.items()}
    told = "".join(
        _pairs(f'<{DSML}parameter name="{{}}" string="{kinds[one]}">', f"</{DSML}parameter>\n", {one: value})
        for one, value in args.items()
    )
    return f'<{DSML}function_calls>\n<{DSML}invoke name="{name}">\n{told}</{DSML}invoke>\n</{DSML}function_calls>'


WRITERS = {
    "hermes": lambda name, args: f"<tool_call>\n{_json(name, args)}\n</tool_call>",
    "qwen3_coder": lambda name, args: (
        f"<tool_call>\n<function={name}>\n"
        + _pairs("<parameter={}>\n", "\n</parameter>\n", args)
        + "</function>\n</tool_call>"
    ),
    "glm45": lambda name, args: (
        f"<tool_call>{name}\n" + _pairs("<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>\n", args) + "</tool_call>"
    ),
    "mistral": lambda name, args: f"[TOOL_CALLS]{name}[ARGS]{json.dumps(args)}",
    "llama3_json": lambda name, args: "<|python_tag|>" + json.dumps({"name": name, "parameters": args}),
    "pythonic": lambda name, args: f"[{name}({', '.join(f'{one}={value!r}' for one, value in args.items())})]",
    "deepseek_v3": lambda name, args: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{json.dumps(args)}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek_v31": lambda name, args: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(args)}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜>"
    ),
    "deepseek_v32": _deepseek_v32,
    "kimi_k2": lambda name, args: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>"
        f"{json.dumps(args)}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "minimax_m2": lambda name, args: (
        f'<minimax:tool_call>\n<invoke name="{name}">\n'
        + _pairs('<parameter name="{}">', "</parameter>\n", args)
        + "</invoke>\n</minimax:tool_call>"
    ),
    "openai": lambda name, args: (
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{json.dumps(args)}<|call|>"
    ),
}
"""A call as the template of each dialect writes it: (name, arguments)."""

HERMES = WRITERS["hermes"]("renew", ARGS)
FORMS = {
    **{name: write("renew", ARGS) for name, write in WRITERS.items()},
    "no closing tag": HERMES.removesuffix("\n</tool_call>"),
    "end of turn for a closing tag": HERMES.replace("\n</tool_call>", "<|im_end|>"),
    "parameters": HERMES.replace('"arguments"', '"parameters"'),
    "raw control characters": HERMES.replace("L0003 </b>", "L0003\n\t</b>"),
    "trailing comma": HERMES.replace("true}}", "true,},}"),
    "fence inside the tag": HERMES.replace("<tool_call>\n", "<tool_call>\n```json\n").replace("\n</", "\n```\n</"),
    "fence around": f"```\n{HERMES}\n```",
    "words around": f"First I renew it.\n{HERMES}\nThat is all.",
    "list": HERMES.replace("{", "[{", 1).replace("true}}", "true}}]"),
    "Python literals": f"<tool_call>{ {'name': 'renew', 'arguments': ARGS} }</tool_call>",
    "wrapper": HERMES.replace('{"name"', '{"type": "function", "function": {"name"').replace("true}}", "true}}}"),
    "arguments as text": f"<tool_call>{_json('renew', BODY)}</tool_call>",
    "prefix": HERMES.replace("renew", "functions.renew"),
    "tag only mentioned": f"I write it in <tool_call> and </tool_call>, as told. {HERMES}",
    "Qwen3-Coder without the outer tag": WRITERS["qwen3_coder"]("renew", ARGS).split("\n", 1)[1].rsplit("\n", 1)[0],
    "GLM 4.7": WRITERS["glm45"]("renew", ARGS).replace("\n", ""),
    "Mistral 0.3": f"[TOOL_CALLS] [{_json('renew', ARGS)}]</s>",
    "Mistral Small 3.2": f"[TOOL_CALLS]renew[CALL_ID]call_abc12[ARGS]{BODY}",
    "Mistral 11": f"[TOOL_CALLS]renew{BODY}",
    "Llama without a tag": json.dumps({"name": "renew", "parameters": ARGS}),
    "Llama with a type": json.dumps({"type": "function", "name": "renew", "parameters": ARGS}),
    "bare JSON in a fence": f"So:\n```json\n{_json('renew', ARGS)}\n```",
    "Llama 4": f"<|python_start|>{WRITERS['pythonic']('renew', ARGS)}<|python_end|>",
    "DeepSeek V4": _deepseek_v32("renew", ARGS).replace("function_calls", "tool_calls"),
    "gpt-oss without its special tokens": f"assistantcommentary to=functions.renew json{BODY}",
    "gpt-oss, the recipient first": (
        f"<|start|>assistant to=functions.renew<|channel|>commentary json<|message|>{BODY}<|call|>"
    ),
}
EXPECTED = dict.fromkeys(FORMS, ARGS) | {"raw control characters": ARGS | {"loan": "L0003\n\t</b>"}}
