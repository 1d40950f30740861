def list_prescriptions(db, *, patient_id: str) -> list:
    if db.one("SELECT 1 AS found FROM patient WHERE patient_id = ?", patient_id) is None:
        raise NotFound("patient")
    return db.all(
        "SELECT prescription_id, drug, days, refills FROM prescription WHERE patient_id = ? ORDER BY prescription_id",
        patient_id,
    )
