def list_parcels(db, *, customer_id: str) -> list:
    if db.one("SELECT 1 AS found FROM customer WHERE customer_id = ?", customer_id) is None:
        raise NotFound("customer")
    return db.all(
        "SELECT parcel_id, depot_id, grams, status FROM parcel WHERE customer_id = ? AND status <> 'delivered' ORDER BY parcel_id",
        customer_id,
    )
