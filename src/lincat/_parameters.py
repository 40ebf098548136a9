"""Hyper-parameters in the manner of scikit-learn: arguments of the constructor, stored as given."""

from __future__ import annotations

import inspect
from typing import Any, Self

from lincat._arguments import fail


class Parametrised:
    """Base of what is made from hyper-parameters and then fitted."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters, as scikit-learn does."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters; what was learned is forgotten at the next fit, not before."""
        for name, value in params.items():
            if name not in self._parameter_names():
                raise fail("set_params", f"one of {', '.join(self._parameter_names())}", name)
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return an unfitted copy with the same hyper-parameters."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({shown})"
