def prescribe(db, *, patient_id: str, doctor_id: str, drug: str, days: int, refills: int) -> dict:
    if days < 1 or days > 90 or refills < 0 or refills > 6:
        raise BadAmount("days 1 to 90, refills 0 to 6")
    patient = db.one("SELECT status FROM patient WHERE patient_id = ?", patient_id)
    if patient is None:
        raise NotFound("patient")
    if db.one("SELECT 1 AS found FROM doctor WHERE doctor_id = ?", doctor_id) is None:
        raise NotFound("doctor")
    if patient["status"] != "here":
        raise NotAllowed("the patient has left")
    prescription_id = db.new_id("prescription")
    db.run(
        "INSERT INTO prescription VALUES (?, ?, ?, ?, ?, ?)",
        prescription_id,
        patient_id,
        doctor_id,
        drug,
        days,
        refills,
    )
    return {"prescription_id": prescription_id}
