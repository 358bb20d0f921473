"""Projections of a summary: a table for the terminal, one self-contained HTML file."""
