import numpy as np
import pytest
import scipy.sparse

import lincat


def chain(**options):
    return lincat.MarkovRewardProcess(
        [0, 0, 1], [1.0, 2.0, 3.0], [0, 1, 0], [0.25, 0.75, 1.0], **options
    )


def test_outcomes_are_sorted_merged_and_normalised():
    process = lincat.MarkovRewardProcess(
        state=[1, 0, 0, 0, 0],
        reward=[5.0, 1.0, 1.0, 2.0, 9.0],
        next_state=[0, 1, 1, 1, 0],
        probability=[1.0, 0.25, 0.25, 0.5, 0.0],
    )
    assert process.state.tolist() == [0, 0, 1]
    assert process.reward.tolist() == [1.0, 2.0, 5.0]
    assert process.probability.tolist() == [0.5, 0.5, 1.0]
    assert process.offsets.tolist() == [0, 2, 3]
    assert process.reward_range == (1.0, 5.0)


def test_matrices_with_rewards_of_states_or_of_transitions():
    P = [[0.5, 0.5], [0.0, 1.0]]
    by_state = lincat.MarkovRewardProcess.from_matrices(P, [1.0, 2.0])
    assert by_state.reward.tolist() == [1.0, 1.0, 2.0]
    by_step = lincat.MarkovRewardProcess.from_matrices(P, [[1.0, 2.0], [7.0, 3.0]])
    assert by_step.reward.tolist() == [1.0, 2.0, 3.0]
    sparse = lincat.MarkovRewardProcess.from_matrices(scipy.sparse.csr_array(P), [1.0, 2.0])
    np.testing.assert_array_equal(sparse.probability, by_state.probability)
    np.testing.assert_allclose(by_state.transition_matrix().toarray(), P)


def test_terminal_states_end_what_enters_them_and_need_no_outcomes():
    process = lincat.MarkovRewardProcess(
        [0, 0], [1.0, 2.0], [0, 1], [0.5, 0.5], terminal=[1], initial=[1.0, 0.0]
    )
    assert process.terminated.tolist() == [False, True, True]
    assert process.discounts(0.9).tolist() == [0.9, 0.0, 0.0]
    assert process.reward.tolist() == [1.0, 2.0, 0.0]
    np.testing.assert_allclose(process.stationary, [1.0, 0.0])


def test_terminated_outcomes_restart_from_the_initial_distribution():
    process = chain(terminated=[False, False, True], initial=[0.5, 0.5])
    np.testing.assert_allclose(process.transition_matrix().toarray(), [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(process.stationary, [0.4, 0.6])


def test_invariant_range_holds_all_pushed_returns():
    process = lincat.MarkovRewardProcess(
        [0, 0, 0], [-1.0, 0.5, 7.0], [0, 0, 1], [0.4, 0.4, 0.2], terminal=[1]
    )
    assert process.invariant_range(0.75) == (-4.0, 7.0)
    assert lincat.catalog.paper().process.invariant_range(0.75) == (0.0, 4.0)


def test_policy_mixes_the_outcomes_of_actions():
    mdp = lincat.FiniteMDP(
        state=[0, 0, 0, 1],
        action=[0, 0, 1, 1],
        reward=[1.0, 2.0, 3.0, 4.0],
        next_state=[0, 1, 0, 1],
        probability=[0.5, 0.5, 1.0, 1.0],
    )
    assert (mdp.n_states, mdp.n_actions) == (2, 2)
    process = mdp.under([[0.25, 0.75], [0.0, 1.0]])
    table = dict(zip(process.reward.tolist(), process.probability.tolist(), strict=True))
    assert table == {1.0: 0.125, 2.0: 0.125, 3.0: 0.75, 4.0: 1.0}
    with pytest.raises(lincat.InvalidInputError, match=r"0\.5 on action 0 in state 1"):
        mdp.under([[1.0, 0.0], [0.5, 0.5]])
    assert "4 outcomes" in repr(mdp)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: lincat.MarkovRewardProcess([0], [np.nan], [0], [1.0]), "reward: expected finite"),
        (lambda: lincat.MarkovRewardProcess([0], [np.inf], [0], [1.0]), "reward: expected finite"),
        (
            lambda: lincat.MarkovRewardProcess([0, 1], [0.0, 0.0], [0, 0], [1.0, 0.5]),
            "probability: expected a sum of 1 for every state, got 0.5 for state 1",
        ),
        (
            lambda: lincat.MarkovRewardProcess([0], [0.0], [1], [1.0]),
            "probability: expected a sum of 1 for every state, got 0 for state 1",
        ),
        (
            lambda: lincat.MarkovRewardProcess([0, 0], [0.0, 1.0], [0, 0], [1.5, -0.5]),
            "probability: expected probabilities of at least 0, got -0.5 at index 1",
        ),
        (lambda: lincat.MarkovRewardProcess([0.5], [0.0], [0], [1.0]), "state: expected integers"),
        (lambda: lincat.MarkovRewardProcess([-1], [0.0], [0], [1.0]), "state: expected integers"),
        (
            lambda: lincat.MarkovRewardProcess([0], [0.0, 1.0], [0], [1.0]),
            r"reward: expected an array of shape \(1\), got shape \(2,\)",
        ),
        (lambda: chain(n_states=1), "n_states: expected at least 2"),
        (lambda: chain(terminated=[0, 2, 0]), "terminated: expected true or false"),
        (lambda: chain(initial=[0.5, 0.4]), "initial: expected a sum of 1"),
        (lambda: chain(terminated=[1, 0, 0]).stationary, "initial: expected a distribution of"),
        (
            lambda: lincat.MarkovRewardProcess.from_matrices([[0.5, 0.5]], [0.0]),
            "P: expected a square matrix",
        ),
        (
            lambda: lincat.MarkovRewardProcess.from_matrices([[1.0]], [0.0, 1.0]),
            r"R: expected shape \(1,\) or \(1, 1\) to match P",
        ),
        (lambda: lincat.MarkovRewardProcess([], [], [], []), "n_states: expected at least 1"),
        (
            lambda: lincat.FiniteMDP([0], [0], [0.0], [0], [0.5]),
            "probability: expected a sum of 1 for every state-action pair",
        ),
        (
            lambda: lincat.FiniteMDP([0], [0], [0.0], [0], [1.0]).under([[0.5]]),
            "policy: expected a sum of 1 for every state",
        ),
        (
            lambda: lincat.FiniteMDP([0], [0], [0.0], [0], [1.0]).under([0.5]),
            r"policy: expected an array of shape \(1, 1\)",
        ),
        (lambda: chain().sample(3, kind="iid"), "kind: expected one of 'markov', 'generative'"),
        (lambda: chain().sample(-3), "n: expected an integer of at least 0"),
        (lambda: chain().sample(3, seed=-1), "seed: expected an integer of at least 0"),
        (
            lambda: chain().invariant_range(1.0),
            r"gamma: expected below 1, or a process whose episodes end",
        ),
    ],
)
def test_bad_input_is_named_in_one_line(build, message):
    with pytest.raises(lincat.InvalidInputError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)
