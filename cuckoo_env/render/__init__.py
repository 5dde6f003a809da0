"""Showing a game to people, from one seat's view."""
