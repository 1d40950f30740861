def block_slot(db, *, slot_id: str) -> dict:
    slot = db.one("SELECT status FROM slot WHERE slot_id = ?", slot_id)
    if slot is None:
        raise NotFound("slot")
    if slot["status"] != "free":
        raise Taken("the slot is not free")
    db.run("UPDATE slot SET status = 'blocked' WHERE slot_id = ?", slot_id)
    return {"slot_id": slot_id, "status": "blocked"}
