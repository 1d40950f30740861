def checkout(db, *, member_id: str, copy_id: str, days: int) -> dict:
    if days < 7 or days > 28:
        raise BadDays("7 to 28")
    member = db.one("SELECT status FROM member WHERE member_id = ?", member_id)
    if member is None:
        raise NotFound("member")
    copy = db.one("SELECT status FROM copy WHERE copy_id = ?", copy_id)
    if copy is None:
        raise NotFound("copy")
    if member["status"] != "active":
        raise NotAllowed("the member is suspended")
    if copy["status"] != "available":
        raise Unavailable("the copy is not available")
    due = db.one("SELECT date_add(?, ?) AS day", db.now(), days)["day"]
    loan_id = db.new_id("loan")
    db.run("INSERT INTO loan VALUES (?, ?, ?, ?, 'open')", loan_id, member_id, copy_id, due)
    db.run("UPDATE copy SET status = 'on_loan' WHERE copy_id = ?", copy_id)
    return {"loan_id": loan_id, "due": due}
