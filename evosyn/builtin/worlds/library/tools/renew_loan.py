def renew_loan(db, *, loan_id: str, days: int) -> dict:
    if days < 7 or days > 28:
        raise BadDays("7 to 28")
    loan = db.one("SELECT status, due FROM loan WHERE loan_id = ?", loan_id)
    if loan is None:
        raise NotFound("loan")
    if loan["status"] != "open":
        raise NotAllowed("the loan is closed")
    due = db.one("SELECT date_add(?, ?) AS day", loan["due"], days)["day"]
    db.run("UPDATE loan SET due = ? WHERE loan_id = ?", due, loan_id)
    return {"loan_id": loan_id, "due": due}
