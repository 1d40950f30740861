def search_member(db, *, name: str) -> list:
    return db.all("SELECT member_id, name, status FROM member WHERE name = ? ORDER BY member_id", name)
