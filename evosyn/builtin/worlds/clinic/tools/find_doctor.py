def find_doctor(db, *, name: str) -> list:
    return db.all("SELECT doctor_id, name, field FROM doctor WHERE name = ? ORDER BY doctor_id", name)
