def change_street(db, *, customer_id: str, street: str) -> dict:
    customer = db.one("SELECT street FROM customer WHERE customer_id = ?", customer_id)
    if customer is None:
        raise NotFound("customer")
    if customer["street"] == street:
        raise NoChange("it is that street already")
    db.run("UPDATE customer SET street = ? WHERE customer_id = ?", street, customer_id)
    return {"customer_id": customer_id, "street": street}
