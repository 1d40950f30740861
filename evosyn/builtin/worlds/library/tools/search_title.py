def search_title(db, *, name: str) -> list:
    return db.all("SELECT title_id, name, author FROM title WHERE name = ? ORDER BY title_id", name)
