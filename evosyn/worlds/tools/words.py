"""Word lists that drawn states take their texts from, by the names that a column or a parameter may `draw`. Ours."""

from __future__ import annotations

_FIRST = "Ada Ben Clara David Elena Farid Grace Hugo Ines Jonas Kira Leon Mira Nils Olga Pavel Rosa Samir Tessa Viktor"
_LAST = "Adler Bauer Costa Dorn Ekberg Fuchs Garcia Hansen Ivanov Jensen Kaya Lorenz Moreau Novak Okafor Petrov"
_FIT, _THING = (
    "Silent Hidden Northern Golden Broken Distant Winter Salt",
    "Harbour Garden Letters Bridge Orchard Clocks",
)
_CITIES = "Aalen Bergen Cadiz Delft Evora Fulda Ghent Hamar Ivrea Jena Krems Lucca Malmo Nantes Oulu Parma"
_STREETS = ("Mill Lane", "Oak Road", "Station Street")
WORDS: dict[str, tuple[str, ...]] = {
    "person": tuple([f"{first} {last}" for last in _LAST.split() for first in _FIRST.split()]),
    "book": tuple([f"The {fit} {thing}" for fit in _FIT.split() for thing in _THING.split()]),
    "city": tuple(_CITIES.split()),
    "street": tuple([f"{name} {number}" for name in _STREETS for number in range(1, 40)]),
    "shelf": tuple([f"{letter}{number}" for letter in "ABCDE" for number in range(1, 10)]),
    "phone": tuple([f"0{number}" for number in range(4710, 9990, 37)]),
    "drug": ("amoxil", "bisorex", "cetadin", "dolofen", "elimar", "fluvon", "gastrin", "hydrocal"),
    "complaint": ("a sore throat", "back pain", "a skin rash", "a bad cough", "trouble sleeping", "a yearly checkup"),
    "remark": (
        *("left at the side door", "please call before noon", "the cover is torn", "paid in cash at the desk"),
        *("wants the large print", "handle with care", "asked for it in writing", "the box is dented"),
    ),
}
"""What texts are drawn from, by the name of the list."""
