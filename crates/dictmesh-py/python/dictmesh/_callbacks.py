"""scikit-learn's callbacks (1.9 or later), and what stands in for them where it has none."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["CallbackSupport", "managed", "task"]

F = TypeVar("F", bound=Callable[..., Any])

class _WithoutCallbacks:
    """An estimator without callbacks."""

    def _init_callback_context(self, **_: object) -> None:
        return None


CallbackSupport: Any = _WithoutCallbacks
_with_callbacks: Any = None
if importlib.util.find_spec("sklearn.callback") is not None:
    _callback = importlib.import_module("sklearn.callback")
    CallbackSupport, _with_callbacks = _callback.CallbackSupportMixin, _callback.with_callbacks


def managed(method: F) -> F:
    """A ``fit`` whose callbacks are set up and torn down."""
    wrapped: F = method if _with_callbacks is None else _with_callbacks(method)
    return wrapped


class Ended:
    """How a task ended."""

    def __init__(self) -> None:
        #: Whether a callback asked to stop.
        self.asked_to_stop = False


@contextmanager
def task(context: Any, estimator: Any, **arguments: object) -> Iterator[Ended]:
    """Tells the callbacks of a task, if there are any, when it begins and when it has ended."""
    ended = Ended()
    if context is None:
        yield ended
        return
    context.call_on_fit_task_begin(estimator=estimator, **arguments)
    yield ended
    ended.asked_to_stop = bool(context.call_on_fit_task_end(estimator=estimator, **arguments))
