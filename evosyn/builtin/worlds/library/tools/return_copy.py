def return_copy(db, *, loan_id: str) -> dict:
    loan = db.one("SELECT status, copy_id FROM loan WHERE loan_id = ?", loan_id)
    if loan is None:
        raise NotFound("loan")
    if loan["status"] != "open":
        raise NotAllowed("the loan is closed")
    db.run("UPDATE loan SET status = 'returned' WHERE loan_id = ?", loan_id)
    db.run("UPDATE copy SET status = 'available' WHERE copy_id = ?", loan["copy_id"])
    return {"loan_id": loan_id, "copy_id": loan["copy_id"]}
