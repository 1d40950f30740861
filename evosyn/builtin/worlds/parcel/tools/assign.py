def assign(db, *, parcel_id: str, courier_id: str) -> dict:
    parcel = db.one("SELECT status, depot_id FROM parcel WHERE parcel_id = ?", parcel_id)
    if parcel is None:
        raise NotFound("parcel")
    courier = db.one("SELECT depot_id, seats FROM courier WHERE courier_id = ?", courier_id)
    if courier is None:
        raise NotFound("courier")
    if parcel["status"] != "stored" or parcel["depot_id"] != courier["depot_id"]:
        raise NotAllowed("it does not lie in the courier's depot")
    load = db.one("SELECT count(*) AS parcels FROM parcel WHERE courier_id = ? AND status = 'out'", courier_id)[
        "parcels"
    ]
    if load >= courier["seats"]:
        raise Full("the courier has no seat left")
    db.run("UPDATE parcel SET status = 'out', courier_id = ? WHERE parcel_id = ?", courier_id, parcel_id)
    return {"parcel_id": parcel_id, "load": load + 1}
