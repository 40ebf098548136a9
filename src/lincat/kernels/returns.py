"""Returns from a record of rewards, by the backward recursion."""

from lincat.kernels.compiled import njit
from lincat.kernels.guards import guard_numbers


@njit(cache=True, nogil=True)
def returns_to_go(out, missing, reward, discount, terminated, truncated):
    """out[t] = r_t + discount_t out[t+1]; missing[t] = weight of what comes after the record ends.

    At an end nothing is missing; where the record breaks off, all that would follow is.
    """
    guard_numbers(reward.shape[0], discount, terminated, truncated)
    guard_numbers(reward.shape[0], out, missing, reward)
    follows, left = 0.0, 1.0  # the record breaks off after its last step
    for t in range(reward.shape[0] - 1, -1, -1):
        if terminated[t]:
            follows, left = 0.0, 0.0
        elif truncated[t]:
            follows, left = 0.0, 1.0
        follows = reward[t] + discount[t] * follows
        left *= discount[t]
        out[t] = follows
        missing[t] = left
