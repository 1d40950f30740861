def register(db, *, customer_id: str, depot_id: str, grams: int) -> dict:
    if grams < 50 or grams > 30000:
        raise BadWeight("50 to 30000")
    if db.one("SELECT 1 AS found FROM customer WHERE customer_id = ?", customer_id) is None:
        raise NotFound("customer")
    depot = db.one("SELECT room FROM depot WHERE depot_id = ?", depot_id)
    if depot is None:
        raise NotFound("depot")
    stored = db.one("SELECT count(*) AS parcels FROM parcel WHERE depot_id = ? AND status = 'stored'", depot_id)[
        "parcels"
    ]
    if stored >= depot["room"]:
        raise NoRoom("the depot is full")
    parcel_id = db.new_id("parcel")
    db.run("INSERT INTO parcel VALUES (?, ?, ?, ?, 'stored', NULL)", parcel_id, customer_id, depot_id, grams)
    return {"parcel_id": parcel_id, "stored": stored + 1}
