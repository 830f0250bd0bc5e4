"""Prompts as files, and replies read through forms."""
