"""The render modes that all environments share: text, a picture, a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt

from cuckoo_env.game import View
from cuckoo_env.render import text

if TYPE_CHECKING:
    from cuckoo_env.render.picture import Window

RENDER_MODES: Final = ("ansi", "rgb_array", "human")
RENDER_FPS: Final = 4
"""Pictures a second at most, in a window."""


class Display:
    """Shows what a seat may see, as an environment's ``render_mode`` says.

    Attributes:
        mode: ``ansi`` for text, ``rgb_array`` for a picture, ``human`` for a window, or None.
    """

    def __init__(
        self, mode: str | None, names: Sequence[str], modes: Sequence[str] = RENDER_MODES
    ) -> None:
        """Make ready.

        Args:
            mode: the render mode, or None.
            names: what every seat is called.
            modes: the modes that are accepted.

        Raises:
            ValueError: for another mode.
            gymnasium.error.DependencyNotInstalled: for pictures without the extra ``render``.
        """
        if mode not in (None, *modes):
            accepted = ", ".join(("None", *modes))
            raise ValueError(f"render_mode: {mode!r} is refused; accepted: {accepted}")
        self.mode, self._names = mode, tuple(names)
        self._window: Window | None = None
        if mode in {"rgb_array", "human"}:
            _picture()

    def show(self, view: View) -> str | npt.NDArray[np.uint8] | None:
        """Show a view.

        Returns:
            Text in the mode ``ansi``, (height, width, 3) uint8 in ``rgb_array``, None in ``human``, which
            shows a window, and without a mode, which warns as Gymnasium's own environments do.
        """
        if self.mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode.")
            return None
        if self.mode == "ansi":
            return text.render(view, self._names)
        picture = _picture()
        if self.mode == "rgb_array":
            image: npt.NDArray[np.uint8] = picture.render(view, self._names)
            return image
        if self._window is None:
            self._window = picture.Window(RENDER_FPS)
        self._window.show(view, self._names)
        return None

    def close(self) -> None:
        """Close the window, if there is one; the next view opens it again."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        # A window belongs to the environment that opened it.
        return self.__dict__ | {"_window": None}


def _picture() -> Any:
    from cuckoo_env.render import picture  # noqa: PLC0415 - loads pygame

    return picture
