def list_holds(db, *, member_id: str) -> list:
    if db.one("SELECT 1 AS found FROM member WHERE member_id = ?", member_id) is None:
        raise NotFound("member")
    return db.all(
        "SELECT hold_id, title_id, note FROM hold WHERE member_id = ? AND status = 'waiting' ORDER BY hold_id",
        member_id,
    )
