def list_copies(db, *, title_id: str, shelf: str = "") -> list:
    if db.one("SELECT 1 AS found FROM title WHERE title_id = ?", title_id) is None:
        raise NotFound("title")
    found = db.all("SELECT copy_id, shelf, status FROM copy WHERE title_id = ? ORDER BY copy_id", title_id)
    return [row for row in found if not shelf or row["shelf"] == shelf]
