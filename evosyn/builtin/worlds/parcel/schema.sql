CREATE TABLE "depot" (
  "depot_id" TEXT PRIMARY KEY NOT NULL,
  "city" TEXT NOT NULL UNIQUE,
  "room" INTEGER NOT NULL CHECK ("room" >= 1) CHECK ("room" <= 9)
) STRICT;
CREATE TABLE "customer" (
  "customer_id" TEXT PRIMARY KEY NOT NULL,
  "name" TEXT NOT NULL UNIQUE,
  "street" TEXT NOT NULL
) STRICT;
CREATE TABLE "courier" (
  "courier_id" TEXT PRIMARY KEY NOT NULL,
  "name" TEXT NOT NULL UNIQUE,
  "depot_id" TEXT NOT NULL REFERENCES "depot",
  "seats" INTEGER NOT NULL CHECK ("seats" >= 1) CHECK ("seats" <= 4)
) STRICT;
CREATE TABLE "parcel" (
  "parcel_id" TEXT PRIMARY KEY NOT NULL,
  "customer_id" TEXT NOT NULL REFERENCES "customer",
  "depot_id" TEXT NOT NULL REFERENCES "depot",
  "grams" INTEGER NOT NULL CHECK ("grams" >= 50) CHECK ("grams" <= 30000),
  "status" TEXT NOT NULL CHECK ("status" IN ('stored', 'out', 'delivered')),
  "courier_id" TEXT REFERENCES "courier"
) STRICT;
CREATE TABLE "event" (
  "event_id" TEXT PRIMARY KEY NOT NULL,
  "parcel_id" TEXT NOT NULL REFERENCES "parcel",
  "kind" TEXT NOT NULL CHECK ("kind" IN ('moved', 'delivered', 'note')),
  "note" TEXT NOT NULL,
  "at" TEXT NOT NULL CHECK ("at" GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]')
) STRICT;
