def move_appointment(db, *, appointment_id: str, slot_id: str) -> dict:
    found = db.one("SELECT status, slot_id FROM appointment WHERE appointment_id = ?", appointment_id)
    if found is None:
        raise NotFound("appointment")
    slot = db.one("SELECT status FROM slot WHERE slot_id = ?", slot_id)
    if slot is None:
        raise NotFound("slot")
    if found["status"] != "booked":
        raise NotAllowed("it is cancelled")
    if slot["status"] != "free":
        raise Taken("the slot is not free")
    db.run("UPDATE slot SET status = 'free' WHERE slot_id = ?", found["slot_id"])
    db.run("UPDATE slot SET status = 'taken' WHERE slot_id = ?", slot_id)
    db.run("UPDATE appointment SET slot_id = ? WHERE appointment_id = ?", slot_id, appointment_id)
    return {"appointment_id": appointment_id, "slot_id": slot_id}
