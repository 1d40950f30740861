def move(db, *, parcel_id: str, depot_id: str) -> dict:
    parcel = db.one("SELECT status, depot_id FROM parcel WHERE parcel_id = ?", parcel_id)
    if parcel is None:
        raise NotFound("parcel")
    depot = db.one("SELECT room FROM depot WHERE depot_id = ?", depot_id)
    if depot is None:
        raise NotFound("depot")
    if parcel["status"] != "stored" or parcel["depot_id"] == depot_id:
        raise NotAllowed("it is not stored, or lies there already")
    stored = db.one("SELECT count(*) AS parcels FROM parcel WHERE depot_id = ? AND status = 'stored'", depot_id)[
        "parcels"
    ]
    if stored >= depot["room"]:
        raise NoRoom("the depot is full")
    db.run("UPDATE parcel SET depot_id = ? WHERE parcel_id = ?", depot_id, parcel_id)
    db.run("INSERT INTO event VALUES (?, ?, 'moved', '', ?)", db.new_id("event"), parcel_id, db.now())
    return {"parcel_id": parcel_id, "depot_id": depot_id}
