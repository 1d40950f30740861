def track(db, *, parcel_id: str) -> dict:
    found = db.one("SELECT status, depot_id, courier_id FROM parcel WHERE parcel_id = ?", parcel_id)
    if found is None:
        raise NotFound("parcel")
    found["events"] = db.all("SELECT kind, note FROM event WHERE parcel_id = ? ORDER BY event_id", parcel_id)
    return found
