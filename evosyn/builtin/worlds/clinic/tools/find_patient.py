def find_patient(db, *, name: str) -> list:
    return db.all("SELECT patient_id, name, phone, status FROM patient WHERE name = ? ORDER BY patient_id", name)
