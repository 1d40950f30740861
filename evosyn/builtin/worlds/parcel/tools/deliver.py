def deliver(db, *, parcel_id: str, note: str) -> dict:
    parcel = db.one("SELECT status FROM parcel WHERE parcel_id = ?", parcel_id)
    if parcel is None:
        raise NotFound("parcel")
    if parcel["status"] != "out":
        raise NotAllowed("the parcel is not out")
    db.run("UPDATE parcel SET status = 'delivered' WHERE parcel_id = ?", parcel_id)
    db.run("INSERT INTO event VALUES (?, ?, 'delivered', ?, ?)", db.new_id("event"), parcel_id, note, db.now())
    return {"parcel_id": parcel_id, "status": "delivered"}
