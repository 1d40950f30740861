"""What every genome must keep to, ours and the one of the example outside of the package."""

import pytest
from bit_strings import START, BitStrings
from hypothesis import given
from hypothesis import strategies as st

from evosyn.ports import Genome
from evosyn.strategies import load_known
from evosyn.strategies.genome import StrategyGenome

GENOMES = [(StrategyGenome(), load_known("initial")), (BitStrings(), START.text)]
every_genome = pytest.mark.parametrize(("genome", "text"), GENOMES, ids=["strategies", "bit strings"])
NOISE = st.text(max_size=200) | st.text(alphabet="`<>=SEARCHREPLACEpython01\n def():#", max_size=200)


@every_genome
def test_it_has_its_words_and_knows_its_own_texts(genome, text):
    assert isinstance(genome, Genome)
    assert genome.task.strip() and genome.question.strip().endswith("?") and genome.purpose.isprintable()
    assert genome.key(text) is not None and genome.key(text) == genome.key(text)


@every_genome
@given(NOISE)
def test_no_text_makes_it_raise(genome, text, noise):
    genome.key(noise)
    found = genome.read(noise, text)
    assert (found.value is None) == bool(found.reason)


@every_genome
def test_what_it_reads_in_a_reply_that_quotes_a_text_is_that_text(genome, text):
    found = genome.read(f"I changed nothing.\n```python\n{text.rstrip()}\n```\n", text)
    assert found.value is not None and genome.key(found.value) == genome.key(text)
