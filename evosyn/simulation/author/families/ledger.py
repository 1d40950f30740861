"""Accounts and transfers on standard input, with fees, limits and rejected bookings."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-stdin"

FEES: dict[str, tuple[str, str]] = {
    "none": ("", "0"),
    "flat": (" In addition the sender pays a fee of {f}.", "{f}"),
    "large": (
        " If the amount is greater than {t}, the sender pays a fee of {f} in addition.",
        "({f} if amount > {t} else 0)",
    ),
    "tenth": (" In addition the sender pays a fee of a tenth of the amount, rounded down.", "amount // 10"),
}
REPORT: dict[str, tuple[str, str, float]] = {
    "all": (
        "Print a line `name balance` for each account, in alphabetical order of the names.",
        "for name in sorted(balance):\n    print(name, balance[name])\n",
        0.0,
    ),
    "ranked": (
        "Print the names of the accounts, one a line, the highest balance first; equal balances in alphabetical order.",
        "for name in sorted(balance, key=lambda n: (-balance[n], n)):\n    print(name)\n",
        0.08,
    ),
    "rejected": (
        "Print the number of rejected transfers and the sum of all balances on one line.",
        "print(rejected, sum(balance.values()))\n",
        0.02,
    ),
    "richest": (
        "Print the name and the balance of the account with the highest balance (of several the alphabetically "
        "first) and the number of rejected transfers on one line.",
        "name = min(balance, key=lambda n: (-balance[n], n))\nprint(name, balance[name], rejected)\n",
        0.08,
    ),
}
GENERATOR = """
def generate(rng, size):
    accounts = [1, 2, rng.randint(2, 4), 5][size]
    moves = [rng.randint(0, 1), rng.randint(1, 4), rng.randint(4, 10), rng.randint(60, 120)][size]
    names = ["ann", "bob", "cid", "dot", "eve"][:accounts]
    rng.shuffle(names)
    lines = [f"{accounts} {moves}"] + [f"{name} {rng.randint(0, 60)}" for name in names]
    names = names + ["zed"] if rng.random() < 0.3 else names
    for _ in range(moves):
        lines.append(f"{rng.choice(names)} {rng.choice(names)} {rng.randint(1, 40)}")
    return "\\n".join(lines) + "\\n"
"""


def draw(rng: random.Random) -> Params:
    return {
        "fee": rng.choice(sorted(FEES)),
        "report": rng.choice(sorted(REPORT)),
        "floor": rng.choice((0, 0, -10, -25, 5)),
        "myself": rng.random() < 0.5,
        "limit": rng.choice((0, 0, 2, 3)),
        "f": rng.randint(1, 4),
        "t": rng.randint(10, 25),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    fee_words, fee = (text.format(f=int(params["f"]), t=int(params["t"])) for text in FEES[params["fee"]])
    words, report, harder = REPORT[params["report"]]
    floor, limit, myself = int(params["floor"]), int(params["limit"]), bool(params["myself"])
    reasons = [
        "sender or receiver is not an account",
        f"the sender's balance would fall below {floor}",
        *([] if myself else ["sender and receiver are the same"]),
        *([f"the sender has already made {limit} transfers that were not rejected"] if limit else []),
    ]
    conditions = [
        "sender in balance",
        "receiver in balance",
        f"balance[sender] - amount - fee >= {floor}",
        *([] if myself else ["sender != receiver"]),
        *([f"made[sender] < {limit}"] if limit else []),
    ]
    return FamilyTask(
        title=f"Ledger: fee {params['fee']}, {params['report']}",
        statement="Standard input holds a line with the number of accounts and the number of transfers, then a line "
        "`name balance` for each account, then a line `sender receiver amount` for each transfer (amounts are positive "
        f"integers). The transfers are made one after another.{fee_words} A transfer is rejected, and changes nothing, "
        f"if {' or if '.join(reasons)}. {words}",
        reference=f"""
accounts, moves = map(int, input().split())
balance = {{}}
made = {{}}
for _ in range(accounts):
    name, start = input().split()
    balance[name] = int(start)
    made[name] = 0
rejected = 0
for _ in range(moves):
    sender, receiver, amount = input().split()
    amount = int(amount)
    fee = {fee}
    if {" and ".join(conditions)}:
        balance[sender] -= amount + fee
        balance[receiver] += amount
        made[sender] += 1
    else:
        rejected += 1
{report}""",
        alternatives=(_other(conditions, fee, report),),
        generator=GENERATOR,
        difficulty=0.42 + harder + 0.08 * bool(limit) + 0.06 * (params["fee"] == "large") + 0.04 * (floor < 0),
        topic="simulation",
    )


def _other(conditions: list[str], fee: str, report: str) -> str:
    checks = "".join(f"    if not ({condition}):\n        return False\n" for condition in conditions)
    return f"""
import sys

lines = sys.stdin.read().splitlines()
accounts = int(lines[0].split()[0])
balance = {{line.split()[0]: int(line.split()[1]) for line in lines[1:1 + accounts]}}
made = dict.fromkeys(balance, 0)


def transfer(sender, receiver, amount):
    fee = {fee}
{checks}    balance[sender] = balance[sender] - amount - fee
    balance[receiver] = balance[receiver] + amount
    made[sender] = made[sender] + 1
    return True


rejected = 0
for line in lines[1 + accounts:]:
    parts = line.split()
    if not transfer(parts[0], parts[1], int(parts[2])):
        rejected = rejected + 1
{report}"""
