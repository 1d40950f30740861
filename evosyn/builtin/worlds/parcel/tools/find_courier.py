def find_courier(db, *, name: str) -> list:
    return db.all("SELECT courier_id, name, depot_id, seats FROM courier WHERE name = ? ORDER BY courier_id", name)
