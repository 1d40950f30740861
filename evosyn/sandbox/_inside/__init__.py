"""What runs inside the jail. These modules import the standard library only (and as little of it as possible): their
source is sent into the jail, which has neither evosyn nor any installed package."""
