def find_depot(db, *, city: str) -> list:
    return db.all("SELECT depot_id, city, room FROM depot WHERE city = ? ORDER BY depot_id", city)
