def refill(db, *, prescription_id: str) -> dict:
    found = db.one("SELECT refills FROM prescription WHERE prescription_id = ?", prescription_id)
    if found is None:
        raise NotFound("prescription")
    if found["refills"] < 1:
        raise NoneLeft("no refills are left")
    db.run("UPDATE prescription SET refills = refills - 1 WHERE prescription_id = ?", prescription_id)
    return {"prescription_id": prescription_id, "refills": found["refills"] - 1}
