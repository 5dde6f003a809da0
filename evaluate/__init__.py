"""How good a way of playing is: sampled games, errors, reports."""
