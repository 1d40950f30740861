def list_slots(db, *, doctor_id: str, day: str, hour: int) -> list:
    if db.one("SELECT 1 AS found FROM doctor WHERE doctor_id = ?", doctor_id) is None:
        raise NotFound("doctor")
    return db.all(
        "SELECT slot_id, hour, status FROM slot WHERE doctor_id = ? AND day = ? AND hour >= ? ORDER BY hour, slot_id",
        doctor_id,
        day,
        hour,
    )
