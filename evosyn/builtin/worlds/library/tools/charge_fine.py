def charge_fine(db, *, member_id: str, cents: int, reason: str) -> dict:
    if cents < 1 or cents > 5000:
        raise BadAmount("1 to 5000")
    if db.one("SELECT 1 AS found FROM member WHERE member_id = ?", member_id) is None:
        raise NotFound("member")
    fine_id = db.new_id("fine")
    db.run("INSERT INTO fine VALUES (?, ?, ?, ?)", fine_id, member_id, cents, reason)
    total = db.one("SELECT sum(cents) AS cents FROM fine WHERE member_id = ?", member_id)["cents"]
    return {"fine_id": fine_id, "total": total}
