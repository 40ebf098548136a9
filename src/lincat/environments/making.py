"""Making Gymnasium environments, with one line of explanation where that fails."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lincat._arguments import InvalidInputError, fail, reason
from lincat._imports import import_name
from lincat._text import one_line

#: An id, "module:id", "module:function", or a function that makes an environment.
Environment = str | Callable[..., Any]

#: What ``metadata["autoreset_mode"]`` may be.
_MODES = ("NextStep", "SameStep", "Disabled")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep Gymnasium's own warnings from the user; those of other code pass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"gymnasium(\..*)?$")
        yield


def open_environment(
    environment: Environment, options: Mapping[str, Any] | None = None, *, n_envs: int = 1
) -> Any:
    """Return an environment, or with ``n_envs > 1`` a vector of them.

    Parameters
    ----------
    environment : str or function
        The id of a registered environment, "module:id" where importing the module registers it,
        or a function (or "module:function") that returns an environment or a vector environment.
    options : mapping, optional
        Keyword arguments for it.
    n_envs : int
        More than one: the environment's own vector version if it has one, such as CartPole's, or
        else one after the other in a ``SyncVectorEnv``.

    Examples
    --------
    >>> from lincat.environments.making import open_environment
    >>> open_environment("CartPole-v1", n_envs=2).num_envs
    2
    >>> open_environment("CartPol-v1")
    Traceback (most recent call last):
    lincat._arguments.InvalidInputError: environment: expected the id of a Gymnasium environment,
    got 'CartPol-v1'; Environment `CartPol` doesn't exist. Did you mean: `CartPole`?
    """
    chosen = dict(options or {})
    if isinstance(environment, str) and ":" in environment:
        module, name = import_name(environment, "environment")
        environment = getattr(module, name, name)
    with quiet():
        try:
            return _make(environment, chosen, n_envs)
        except InvalidInputError:
            raise
        except Exception as error:
            trouble = _trouble(error, environment_name(environment), chosen)
            raise fail("environment", *trouble) from error


def _trouble(error: Exception, label: str, options: dict[str, Any]) -> tuple[str, str, str]:
    """What was expected of an environment, what came instead, and the remedy."""
    import gymnasium

    installed = "one whose packages are installed"
    if isinstance(error, gymnasium.error.DependencyNotInstalled):
        return installed, repr(label), one_line(error)
    if isinstance(error, ModuleNotFoundError):
        remedy = f"it needs the package {error.name}: pip install {error.name}"
        return installed, repr(label), remedy
    if isinstance(error, gymnasium.error.Error):
        return "the id of a Gymnasium environment", repr(label), one_line(error)
    return f"{label!r} to start with options {options}", reason(error), ""


def _make(environment: Environment, options: dict[str, Any], n_envs: int) -> Any:
    import gymnasium

    if isinstance(environment, str):

        def one() -> Any:
            return gymnasium.make(environment, disable_env_checker=True, **options)
    elif callable(environment):

        def one() -> Any:
            return environment(**options)
    else:
        raise fail("environment", "an id or a function that makes one", repr(environment))
    made = one()
    if isinstance(made, gymnasium.vector.VectorEnv):
        if n_envs not in (1, made.num_envs):
            raise fail("n_envs", f"{made.num_envs}, as {made} has", n_envs)
        return made
    if not isinstance(made, gymnasium.Env):
        raise fail("environment", "a gymnasium.Env", type(made).__name__)
    if n_envs == 1:
        return made
    made.close()
    spec = made.spec
    if (
        isinstance(environment, str)
        and spec is not None
        and spec.vector_entry_point is not None
        and not spec.additional_wrappers
    ):
        return gymnasium.make_vec(spec.id, num_envs=n_envs, **options)
    return gymnasium.vector.SyncVectorEnv([one] * n_envs)


def environment_name(environment: Environment) -> str:
    """Return the id, or the name of the function."""
    if isinstance(environment, str):
        return environment
    return str(getattr(environment, "__name__", type(environment).__name__))


def autoreset_mode(env: Any) -> str:
    """Return how a vector environment continues after an episode's end, or refuse to guess."""
    import gymnasium

    mode = (env.metadata or {}).get("autoreset_mode")
    if mode is None and not hasattr(gymnasium.vector, "AutoresetMode"):
        return "NextStep"  # Gymnasium 1.0 knew no other, and did not say so
    mode = getattr(mode, "value", mode)
    if mode not in _MODES:
        raise fail(
            "environment",
            "metadata['autoreset_mode'] of NEXT_STEP, SAME_STEP or DISABLED",
            f"{mode!r} in {env}",
            "set it, or use n_envs=1",
        )
    return str(mode)


def lift_time_limit(env: Any) -> int | None:
    """Let episodes last for as long as they do; return the limit that there was."""
    from gymnasium.wrappers import TimeLimit

    limit = None
    for layer in _layers(env):
        if isinstance(layer, TimeLimit):
            own = int(layer._max_episode_steps)
            limit = own if limit is None else min(limit, own)
            layer._max_episode_steps = sys.maxsize
    return limit


def bare(env: Any) -> Any:
    """Return what is below the wrappers, where those only check and count."""
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

    only_checks = all(
        type(layer) in (OrderEnforcing, PassiveEnvChecker, TimeLimit) for layer in _layers(env)
    )
    return env.unwrapped if only_checks else env


def _layers(env: Any) -> Iterator[Any]:
    import gymnasium

    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env
