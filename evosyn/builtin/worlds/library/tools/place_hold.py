def place_hold(db, *, member_id: str, title_id: str, note: str = "") -> dict:
    member = db.one("SELECT status FROM member WHERE member_id = ?", member_id)
    if member is None:
        raise NotFound("member")
    if db.one("SELECT 1 AS found FROM title WHERE title_id = ?", title_id) is None:
        raise NotFound("title")
    if member["status"] != "active":
        raise NotAllowed("the member is suspended")
    if db.one(
        "SELECT 1 AS found FROM hold WHERE member_id = ? AND title_id = ? AND status = 'waiting'", member_id, title_id
    ):
        raise AlreadyThere("hold")
    hold_id = db.new_id("hold")
    db.run("INSERT INTO hold VALUES (?, ?, ?, ?, 'waiting', ?)", hold_id, member_id, title_id, note, db.now())
    return {"hold_id": hold_id}
