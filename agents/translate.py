"""One observation in another layout, so that a policy can sit at any table it covers.

The layouts of a table differ in how many seats they have room for and in whether they carry the rules. What
differs is known without looking at the game: seats beyond the table are all zeros, and the
rules are the table's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuckoo_env.observation import Layout, sections_of
from cuckoo_env.rules import Rules


def translate(
    observations: npt.NDArray[np.float32], source: Layout, target: Layout, rules: Rules
) -> npt.NDArray[np.float32]:
    """The observations as they would have been encoded in another layout.

    Args:
        observations: (n, source.size) float32, all of tables with these rules.
        source: the layout that they have.
        target: the layout that they get; its action space does not matter here.
        rules: the rules of the table.

    Returns:
        (n, target.size) float32, a new array.

    Raises:
        ValueError: if a layout has no room for the table's seats, or the observations are of another size.

    Example:
        >>> from cuckoo_env.game import Game
        >>> game = Game("practice-table", 7)
        >>> small, wide = Layout(max_seats=3), Layout(max_seats=10, with_rules=True)
        >>> seen, _ = game.observe(0, small)
        >>> directly, _ = game.observe(0, wide)
        >>> bool((translate(seen[None], small, wide, game.rules)[0] == directly).all())
        True
    """
    for layout in (source, target):
        Layout.of(rules, max_seats=layout.max_seats)
    if observations.shape[1:] != (source.size,):
        raise ValueError(
            f"observations: shape {observations.shape} is refused; accepted: (n, {source.size})"
        )
    translated = np.zeros((len(observations), target.size), np.float32)
    for field in target.fields():
        if not field.only_with_rules:
            there, here = source.slices[field.name].start, target.slices[field.name].start
            length = field.width * (rules.seats if field.per_seat else 1)
            translated[:, here : here + length] = observations[:, there : there + length]
    section = sections_of(target, (rules,))
    translated[:, target.size - section.shape[1] :] = section
    return translated
