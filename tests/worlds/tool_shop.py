"""A small world for tests: a shop with a check, a number, a nullable reference and a self-made key."""

from evosyn.worlds.tools.records import ToolWorld

BUY = """
def buy(db, *, item_id: str, count: int, note: str = "") -> dict:
    item = db.one("SELECT stock, price FROM item WHERE item_id = ?", item_id)
    if item is None:
        raise NotFound("item")
    if count < 1 or item["stock"] < count:
        raise SoldOut("stock")
    sale_id = db.new_id("sale")
    db.run("INSERT INTO sale VALUES (?, ?, ?, ?, ?)", sale_id, item_id, count, note, db.now())
    db.run("UPDATE item SET stock = stock - ?, sold = sold + ? WHERE item_id = ?", count, count, item_id)
    return {"sale_id": sale_id, "price": item["price"] * count}
"""
FIND = """
def find_item(db, *, name: str) -> list:
    return db.all("SELECT item_id, name, stock FROM item WHERE name = ? ORDER BY item_id", name)
"""


def shop(buy: str = BUY, **more: str) -> ToolWorld:
    """The world, with another program for `buy` and further tools that take nothing."""
    columns = [
        {"name": "item_id"},
        {"name": "name", "unique": True, "draw": "book"},
        {"name": "price", "type": "number", "minimum": 0},
        {"name": "stock", "type": "integer", "minimum": 0, "maximum": 50},
        {"name": "sold", "type": "integer", "minimum": 0},
        {"name": "kind", "values": ["toy", "tool"]},
    ]
    sale = [
        {"name": "sale_id"},
        {"name": "item_id", "references": "item"},
        {"name": "count", "type": "integer", "minimum": 1},
        {"name": "note", "nullable": True},
        {"name": "at", "type": "timestamp"},
    ]
    extra = [
        {"name": name, "description": "Does something.", "raises": ["NotFound"], "source": source}
        for name, source in more.items()
    ]
    return ToolWorld.model_validate(
        {
            "name": "shop",
            "title": "A shop",
            "clock": "2026-01-05T10:00:00",
            "tables": [
                {"name": "sale", "prefix": "S", "columns": sale, "called": "the sale of {item_id}"},
                {"name": "item", "prefix": "I", "columns": columns, "called": "{name}", "checks": [["<=", "sold", ["+", 100, "stock"]]]},
            ],
            "tools": [
                {"name": "find_item", "description": "Find items by name.", "parameters": [{"name": "name", "description": "Name", "column": "item.name"}], "source": FIND},
                {
                    "name": "buy",
                    "description": "Buy some of an item.",
                    "parameters": [
                        {"name": "item_id", "description": "Id", "ref": "item"},
                        {"name": "count", "description": "How many", "type": "integer", "minimum": 1, "maximum": 5},
                        {"name": "note", "description": "A note", "required": False},
                    ],
                    "raises": ["NotFound", "SoldOut"],
                    "request": "buy {count} of {item_id} with the note {note}",
                    "source": buy,
                },
                *extra,
            ],
        }
    )  # fmt: skip


def rows(stock: int = 9) -> dict[str, list[dict[str, object]]]:
    items = [
        {"item_id": f"I100{number}", "name": f"Thing {number}", "price": 2.5, "stock": stock, "sold": 0, "kind": "toy"}
        for number in range(3)
    ]
    sales = [
        {"sale_id": "S0004", "item_id": "I1001", "count": 1, "note": "gift wrapped please", "at": "2026-01-01T00:00:00"}
    ]
    return {"item": items, "sale": sales}
