"""Worlds: places that an agent acts in and that testings look at. One package a kind.

The contract is `ports.worlds`.
"""
