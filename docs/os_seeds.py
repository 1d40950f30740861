"""Write the bundled tasks of agents anew from their families: `python -m docs.os_seeds`."""

from pathlib import Path

from evosyn.jsonlines import write_lines
from evosyn.pools import problem_to_json
from evosyn.simulation.shell_author.tasks import seed_problems

HOME = Path(__file__).parents[1] / "evosyn" / "builtin" / "os_seeds" / "seeds.jsonl"

if __name__ == "__main__":
    HOME.parent.mkdir(exist_ok=True)
    write_lines(HOME, (problem_to_json(problem) for problem in seed_problems()))
