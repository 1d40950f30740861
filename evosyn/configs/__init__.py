"""Configuration: presets as package data, and their loading. See `evosyn.configs.loading`."""
