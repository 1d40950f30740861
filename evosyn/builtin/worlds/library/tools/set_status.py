def set_status(db, *, member_id: str, status: str) -> dict:
    member = db.one("SELECT status FROM member WHERE member_id = ?", member_id)
    if member is None:
        raise NotFound("member")
    if status not in ("active", "suspended") or member["status"] == status:
        raise NoChange(status)
    db.run("UPDATE member SET status = ? WHERE member_id = ?", status, member_id)
    return {"member_id": member_id, "status": status}
