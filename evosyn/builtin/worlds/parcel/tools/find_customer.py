def find_customer(db, *, name: str) -> list:
    return db.all("SELECT customer_id, name, street FROM customer WHERE name = ? ORDER BY customer_id", name)
