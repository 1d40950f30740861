def book(db, *, patient_id: str, slot_id: str, reason: str) -> dict:
    patient = db.one("SELECT status FROM patient WHERE patient_id = ?", patient_id)
    if patient is None:
        raise NotFound("patient")
    slot = db.one("SELECT status FROM slot WHERE slot_id = ?", slot_id)
    if slot is None:
        raise NotFound("slot")
    if patient["status"] != "here":
        raise NotAllowed("the patient has left")
    if slot["status"] != "free":
        raise Taken("the slot is not free")
    appointment_id = db.new_id("appointment")
    db.run("INSERT INTO appointment VALUES (?, ?, ?, ?, 'booked')", appointment_id, patient_id, slot_id, reason)
    db.run("UPDATE slot SET status = 'taken' WHERE slot_id = ?", slot_id)
    return {"appointment_id": appointment_id}
