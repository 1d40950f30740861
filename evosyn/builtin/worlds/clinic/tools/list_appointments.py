def list_appointments(db, *, patient_id: str) -> list:
    if db.one("SELECT 1 AS found FROM patient WHERE patient_id = ?", patient_id) is None:
        raise NotFound("patient")
    return db.all(
        "SELECT appointment_id, slot_id, reason FROM appointment WHERE patient_id = ? AND status = 'booked' ORDER BY appointment_id",
        patient_id,
    )
