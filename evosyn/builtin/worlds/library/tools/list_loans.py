def list_loans(db, *, member_id: str) -> list:
    if db.one("SELECT 1 AS found FROM member WHERE member_id = ?", member_id) is None:
        raise NotFound("member")
    return db.all(
        "SELECT loan_id, copy_id, due FROM loan WHERE member_id = ? AND status = 'open' ORDER BY loan_id", member_id
    )
