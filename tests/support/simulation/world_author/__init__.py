"""A stand-in for a model that makes tool worlds: schemas, tools and testings, all of them SIMULATED.

Right tools come from a problem's reference, or from a grammar of entities (`grammar`); what is wrong with a reply is
drawn by rates that are ours. Mistakes are shared: who writes a testing misreads what who writes a tool misreads.
"""
