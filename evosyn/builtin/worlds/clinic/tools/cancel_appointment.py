def cancel_appointment(db, *, appointment_id: str) -> dict:
    found = db.one("SELECT status, slot_id FROM appointment WHERE appointment_id = ?", appointment_id)
    if found is None:
        raise NotFound("appointment")
    if found["status"] != "booked":
        raise NotAllowed("it is cancelled already")
    db.run("UPDATE appointment SET status = 'cancelled' WHERE appointment_id = ?", appointment_id)
    db.run("UPDATE slot SET status = 'free' WHERE slot_id = ?", found["slot_id"])
    return {"appointment_id": appointment_id, "slot_id": found["slot_id"]}
