def cancel_hold(db, *, hold_id: str) -> dict:
    hold = db.one("SELECT status FROM hold WHERE hold_id = ?", hold_id)
    if hold is None:
        raise NotFound("hold")
    if hold["status"] != "waiting":
        raise NotAllowed("the hold does not wait")
    db.run("UPDATE hold SET status = 'cancelled' WHERE hold_id = ?", hold_id)
    return {"hold_id": hold_id, "status": "cancelled"}
