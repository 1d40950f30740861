def add_note(db, *, parcel_id: str, note: str) -> dict:
    if len(note) > 200:
        raise TooLong("at most 200 characters")
    if db.one("SELECT 1 AS found FROM parcel WHERE parcel_id = ?", parcel_id) is None:
        raise NotFound("parcel")
    event_id = db.new_id("event")
    db.run("INSERT INTO event VALUES (?, ?, 'note', ?, ?)", event_id, parcel_id, note, db.now())
    return {"event_id": event_id}
