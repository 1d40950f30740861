CREATE TABLE "member" (
  "member_id" TEXT PRIMARY KEY NOT NULL,
  "name" TEXT NOT NULL UNIQUE,
  "status" TEXT NOT NULL CHECK ("status" IN ('active', 'suspended'))
) STRICT;
CREATE TABLE "title" (
  "title_id" TEXT PRIMARY KEY NOT NULL,
  "name" TEXT NOT NULL UNIQUE,
  "author" TEXT NOT NULL
) STRICT;
CREATE TABLE "copy" (
  "copy_id" TEXT PRIMARY KEY NOT NULL,
  "title_id" TEXT NOT NULL REFERENCES "title",
  "shelf" TEXT NOT NULL,
  "status" TEXT NOT NULL CHECK ("status" IN ('available', 'on_loan', 'lost'))
) STRICT;
CREATE TABLE "hold" (
  "hold_id" TEXT PRIMARY KEY NOT NULL,
  "member_id" TEXT NOT NULL REFERENCES "member",
  "title_id" TEXT NOT NULL REFERENCES "title",
  "note" TEXT,
  "status" TEXT NOT NULL CHECK ("status" IN ('waiting', 'cancelled')),
  "placed" TEXT NOT NULL CHECK ("placed" GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]')
) STRICT;
CREATE TABLE "fine" (
  "fine_id" TEXT PRIMARY KEY NOT NULL,
  "member_id" TEXT NOT NULL REFERENCES "member",
  "cents" INTEGER NOT NULL CHECK ("cents" >= 1) CHECK ("cents" <= 5000),
  "reason" TEXT NOT NULL
) STRICT;
CREATE TABLE "loan" (
  "loan_id" TEXT PRIMARY KEY NOT NULL,
  "member_id" TEXT NOT NULL REFERENCES "member",
  "copy_id" TEXT NOT NULL REFERENCES "copy",
  "due" TEXT NOT NULL CHECK ("due" GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
  "status" TEXT NOT NULL CHECK ("status" IN ('open', 'returned'))
) STRICT;
