CREATE TABLE "patient" (
  "patient_id" TEXT PRIMARY KEY NOT NULL,
  "name" TEXT NOT NULL UNIQUE,
  "phone" TEXT NOT NULL,
  "status" TEXT NOT NULL CHECK ("status" IN ('here', 'left'))
) STRICT;
CREATE TABLE "doctor" (
  "doctor_id" TEXT PRIMARY KEY NOT NULL,
  "name" TEXT NOT NULL UNIQUE,
  "field" TEXT NOT NULL CHECK ("field" IN ('general', 'heart', 'skin'))
) STRICT;
CREATE TABLE "slot" (
  "slot_id" TEXT PRIMARY KEY NOT NULL,
  "doctor_id" TEXT NOT NULL REFERENCES "doctor",
  "day" TEXT NOT NULL CHECK ("day" GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
  "hour" INTEGER NOT NULL CHECK ("hour" >= 8) CHECK ("hour" <= 17),
  "status" TEXT NOT NULL CHECK ("status" IN ('free', 'taken', 'blocked'))
) STRICT;
CREATE TABLE "prescription" (
  "prescription_id" TEXT PRIMARY KEY NOT NULL,
  "patient_id" TEXT NOT NULL REFERENCES "patient",
  "doctor_id" TEXT NOT NULL REFERENCES "doctor",
  "drug" TEXT NOT NULL,
  "days" INTEGER NOT NULL CHECK ("days" >= 1) CHECK ("days" <= 90),
  "refills" INTEGER NOT NULL CHECK ("refills" >= 0) CHECK ("refills" <= 6)
) STRICT;
CREATE TABLE "appointment" (
  "appointment_id" TEXT PRIMARY KEY NOT NULL,
  "patient_id" TEXT NOT NULL REFERENCES "patient",
  "slot_id" TEXT NOT NULL REFERENCES "slot",
  "reason" TEXT NOT NULL,
  "status" TEXT NOT NULL CHECK ("status" IN ('booked', 'cancelled'))
) STRICT;
