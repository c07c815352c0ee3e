"""Problems: what is refused before a solver starts, what a problem tells while it is solved and where it is not, and
CasADi alone beside it."""

import re
import signal

import numpy as np
import pytest

import myoquat as mq
from benchmarks.control.problems import EFFORT, TRACKING, casadi_alone
from myoquat.analysis.control import (
    BoundaryConstraint,
    Effort,
    Equations,
    Ipopt,
    IterateHistory,
    OwnEndGoal,
    OwnGoal,
    PathConstraint,
    Periodic,
    Problem,
    Radau,
    SolutionStatus,
    TrackCoordinates,
    TrackPose,
)
from myoquat.analysis.control.ipopt import status_of
from myoquat.data import Motion
from tests.bodies import ORIGIN, on_ball, pushing


def rate(point):
    return point["v"], point["force"]


CART = Equations(("x", "v"), ("force",), rate)
REST = {"x": 0.0, "v": 0.0}
SQUARE = OwnGoal(lambda point: point["force"] ** 2, name="effort")
STEEP = OwnGoal(lambda point: np.cosh(point["force"]))


def cart(**changes):
    options = {"intervals": 4, "initial": REST, "final": {"x": 1.0, "v": 0.0}} | changes
    return Problem(options.pop("model", CART), options.pop("duration", 1.0), options.pop("goals", (SQUARE,)), **options)


def arm():
    return mq.load_model("two_link")


STILL = Motion(arm(), [0.0, 1.0], [arm().start] * 2)
OTHER = Motion(mq.load_model("two_link", "sequence"), [0.0, 1.0], np.zeros((2, 6)))
BAD = [
    ({"bounds": {"force1": (0, 1)}}, "bounds: 'force1' does not exist; nearest: force"),
    ({"bounds": {"x": (2, 1)}}, "contradict each other: lower 2 is above upper 1"),
    ({"bounds": {"x": (0, 0.5)}}, "final: 'x' is 1 to 1, outside its bounds 0 to 0.5"),
    ({"initial": {"force": 0.0}}, "'force' is a control"),
    ({"duration": (2.0, 1.0)}, "the bounds contradict each other: lower 2 is above upper 1"),
    ({"intervals": [0.0, 0.7, 0.5, 1.0]}, "increase from 0 to 1"),
    ({"transcription": "euler"}, "transcription is one of midpoint"),
    ({"torques": ("x",)}, "equations of one's own have none"),
    ({"goals": (Effort(weight=np.inf),)}, "the weight must be finite"),
    ({"goals": (Effort(of=("push",)),)}, "push"),
    ({"goals": (TrackCoordinates(("x",), [0.0, 0.5], [[0.0], [1.0]]),)}, "the data cover 0 to 0.5 s"),
    (
        {"goals": (TrackCoordinates(("x",), [0.0, 1.0], [[0.0], [1.0]]),), "duration": (0.5, 1.0)},
        "needs a fixed duration",
    ),
    ({"periodic": Periodic({"x": "force"})}, "'x' is a state and 'force' a control"),
    ({"periodic": Periodic({"y": "x"})}, "periodic: 'y' does not exist"),
    (
        {"periodic": Periodic({"x": "v", "v": "v"}), "initial": {}, "final": {}},
        "periodic: 'x', 'v' all end where 'v' starts; each start belongs to one end",
    ),
    ({"periodic": Periodic()}, "periodic: 'x' ends at 1 to 1, but 'x' starts at 0 to 0"),
    ({"initial": {"x": np.inf}}, "'initial: x' is fixed at inf"),
    ({"start": np.nan}, "start must be finite, not nan"),
    ({"intervals": True}, "intervals must be a number"),
    (
        {"goals": (Effort(weights={"force": np.nan}),)},
        "the weight of 'force' must be finite",
    ),
    ({"goals": (Effort(exponent=1.5),)}, "must be a whole number from 1 on, not 1.5"),
    (
        {"goals": (Effort(exponent=np.nan),)},
        "must be a whole number from 1 on, not nan",
    ),
    (
        {"goals": (TrackCoordinates(("x",), [0.0, 1.0], [[0.0], [1.0]], weights={"x": -1}),)},
        "the weight of 'x' must be finite and at least 0, not -1",
    ),
    (
        {"constraints": (PathConstraint("both", lambda point: (point["x"], point["v"]), 0.0, 1.0),)},
        "path constraint 'both': the formula returns 2 numbers, but there are 1",
    ),
    (
        {
            "model": Equations(("x",), (), lambda point: (-point["x"],)),
            "initial": {},
            "final": {},
            "goals": (Effort(),),
        },
        "goal 'Effort': the problem has no controls",
    ),
    ({"guess": {"duration": 3.0}}, "the duration is 3 s, but the problem fixes it at 1 s"),
    ({"guess": STILL}, "equations of one's own have no bodies"),
    (
        {"goals": (OwnGoal(lambda point: point.states, name="both"),)},
        "goal 'both': the formula returns an array of shape (2,); one number is needed",
    ),
]


@pytest.mark.parametrize(("changes", "words"), BAD)
def test_bad_input_is_rejected_before_the_solver(changes, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        cart(**{name: value for name, value in changes.items() if name != "guess"}).solve(changes.get("guess"))


def test_solutions_of_other_problems_are_no_guesses():
    other = cart(
        model=Equations(("x", "w"), ("force",), lambda point: (point["w"], point["force"])), initial={}, final={}
    )
    with pytest.raises(ValueError, match="other state names than the problem, such as 'v'"):
        cart().solve(other.solve(solver=Ipopt(max_iterations=0)))


def of_arm(**options):
    return lambda: Problem(arm(), 1.0, (Effort(),), **options)


WRONG = [
    (ValueError, of_arm(torques={"A.omega_x": 0.0}), "the scale of 'A.omega_x' must be finite and not 0"),
    (ValueError, of_arm(torques={"A.omega_x": np.nan}), "the scale of 'A.omega_x' must be finite and not 0"),
    (ValueError, of_arm(initial={"u": [1.0, 2.0]}), "initial: 'u' needs one finite number for all or (6,)"),
    (ValueError, of_arm(initial={"q": arm().start, "A": [1.0, 0, 0, 0]}), "'A' is given twice, by its name and by 'q'"),
    (ValueError, of_arm(bounds={"A.Q0": (0, 1)}), "component of a quaternion"),
    (ValueError, of_arm(initial={"A": [1.0, 1.0, 0, 0]}), "unit quaternion"),
    (ValueError, of_arm(loads=pushing("C", [0.0, 1.0], ORIGIN)), "no body for the load 'push': 'C'"),
    (
        ValueError,
        of_arm(loads=pushing("B", [0.0, 1.0], ORIGIN, frames=("ground", "elsewhere"))),
        "no body for the load 'push': 'elsewhere'",
    ),
    (ValueError, of_arm(parameters={"bodies.A.mass": (2.0, 1.0)}), "parameters: bodies.A.mass': the bounds contradict"),
    (
        ValueError,
        lambda: PathConstraint("reach", lambda point: point["x"], 1.0, 0.0),
        "path constraint 'reach': the bou",
    ),
    (ValueError, lambda: Problem(arm(), 1.0, (TrackPose(OTHER),)), "another system"),
    (ValueError, lambda: Radau(0), "stages must be between"),
    (TypeError, of_arm(torques="A.omega_x"), "torques must be a mapping or a sequence of names"),
    (TypeError, of_arm(torques=5), "torques must be a mapping or a sequence of names, not 5"),
    (TypeError, lambda: Problem(arm(), 1.0, Effort()), "goals must be a sequence, such as (Effort(...),)"),
    (TypeError, lambda: cart(goals=(1.0,)), "goals must be"),
    (TypeError, lambda: cart(bounds={5: (0.0, 1.0)}), "a name in bounds must be a str, not the int 5"),
    (TypeError, lambda: cart(start="x"), "start must be a number, not the str 'x'"),
    (TypeError, lambda: OwnGoal(5), "formula must be a Callable, not the int 5"),
    (TypeError, lambda: OwnEndGoal(None), "formula must be a Callable, not None"),
    (TypeError, lambda: Radau("x"), "stages must be a whole number, not the str 'x'"),
    (TypeError, lambda: Ipopt(tolerance="x"), "tolerance must be a number, not the str 'x'"),
    (TypeError, lambda: Ipopt(max_iterations=1.5), "max_iterations must be a whole number, not the float 1.5"),
    (TypeError, lambda: Ipopt(barrier="x"), "barrier must be a number or None, not the str 'x'"),
]


@pytest.mark.parametrize(("error", "wrong", "message"), WRONG)
def test_arguments_that_do_not_fit_are_named(error, wrong, message):
    with pytest.raises(error, match=re.escape(message)):
        wrong()


def test_unknown_names_in_formulas_are_named_with_the_formula():
    with pytest.raises(KeyError, match="goal 'wrong': 'y' is no coordinate"):
        cart(goals=(OwnGoal(lambda point: point["y"], name="wrong"),)).solve()


def test_formulas_that_are_not_finite_at_the_guess_are_named():
    logarithm = OwnGoal(lambda point: np.log(point["x"] - 0.5), name="logarithm")
    with pytest.raises(ValueError, match=r"at the guess, the goal 'logarithm' is nan at 0 of the duration \(node 0\)"):
        cart(goals=(logarithm,)).solve()
    inverse_speed = PathConstraint("pace", lambda point: 1 / point["v"], 0.0, 10.0)
    at_start = r"at the guess, path constraint 'pace' is inf at 0 of the duration \(node 0\)"
    for method in ("hermite_simpson", "shooting"):
        with pytest.raises(ValueError, match=at_start):
            cart(constraints=(inverse_speed,), transcription=method).solve()
    with pytest.raises(ValueError, match="guess: force is 9 at 0 of the duration; its bounds are -1 to 1"):
        cart(bounds={"force": (-1, 1)}).solve({"force": 9.0})


def test_infeasible_problem_names_the_constraint():
    """In one second a force of at most 1 N brings a mass of 1 kg 0.25 m far, from rest to rest."""
    solution = cart(bounds={"force": (-1, 1)}, intervals=10).solve()
    assert solution.status is SolutionStatus.INFEASIBLE
    assert not solution.success
    assert solution.violation > 0.01
    words = solution.explain()
    assert "no motion near this one satisfies all constraints" in words
    assert "change of" in words
    assert "force, upper" in words
    assert "'force' is at a bound at" in words
    assert "it may be too weak for what is asked." in words


def test_iterations_run_out_with_a_reason():
    solution = cart(goals=(STEEP,)).solve(solver=Ipopt(max_iterations=1))
    assert solution.status is SolutionStatus.ITERATIONS


def test_an_objective_without_bound_is_named():
    """The farther the better, with a force of any size: IPOPT itself gives up at its number of iterations."""
    far = OwnEndGoal(lambda first, last, duration: -last["x"], name="far")
    problem = cart(goals=(far,), intervals=2, final={}, transcription="midpoint")
    solution = problem.solve(solver=Ipopt(max_iterations=40))
    assert solution.status is SolutionStatus.UNBOUNDED
    assert "the objective falls without bound" in solution.explain()
    assert problem.goal_values({"x": 2.0})["far"] == -2.0


def test_a_word_of_ipopt_that_is_unknown_is_a_failure():
    assert status_of("Internal_Error", 0.0) is SolutionStatus.FAILED
    assert not SolutionStatus.FAILED.success
    words = [word for status in SolutionStatus for word in status.words]
    assert len(words) == len(set(words))


def test_least_acceleration_is_a_cubic_and_parts_agree():
    """x = 3 s^2 - 2 s^3 and f = 6 - 12 s: the objective is 12; frames, controls and saved files say the same."""
    middle = BoundaryConstraint("advance", lambda first, last, duration: last["x"] - first["x"], 1.0, 1.0)
    solution = cart(final={"v": 0.0}, constraints=(middle,), intervals=[0.0, 0.2, 0.7, 1.0]).solve()
    s = solution.time
    assert np.allclose(solution["x"], 3 * s**2 - 2 * s**3, atol=1e-9)
    assert np.allclose(solution.controls_at(s)[:, 0], 6 - 12 * s, atol=1e-8)
    assert np.allclose(solution.to_dataframe()["x"], solution["x"])
    assert solution.goals["effort"] == pytest.approx(12.0)
    with pytest.raises(KeyError, match="known: x, v, force"):
        solution["y"]


def test_iterates_play_one_after_another():
    """All iterates of a ball joint that turns, the last of them the solution; who is shown them may stop the search."""
    ball = on_ball("ball", inertia=(0.1, 0.2, 0.3))
    system, turned = mq.ArticulatedSystem((ball,)), np.array([0.6, 0.0, 0.8, 0.0])
    torques = dict.fromkeys(system.velocity_names, 1.0)
    problem = Problem(
        system, 1.0, (Effort(),), 4, torques=torques, initial={"ball": [1.0, 0, 0, 0], "u": 0.0},
        final={"ball": turned, "u": 0.0},
    )  # fmt: skip
    history = IterateHistory()
    solution = problem.solve(watch=history)
    assert len(history.motions) == solution.iterations + 1
    film = history.motion
    assert len(film.time) == len(history.motions) * len(solution.time)
    assert np.diff(film.time).max() == pytest.approx(0.25)
    assert np.allclose(film.q[-1], turned)
    assert list(solution.norm_errors) == ["ball"]
    assert solution.norm_errors["ball"] == solution.norm_error < 1e-12
    assert "Greatest error of |Q|: ball" in solution.explain()
    assert history.violations[-1] < history.violations[0]
    stopped = problem.solve(watch=IterateHistory(show=lambda progress: progress.iteration == 1))
    assert stopped.status is SolutionStatus.INTERRUPTED
    with pytest.raises(ValueError, match="no iterate was kept"):
        _ = IterateHistory().motion
    with pytest.raises(ValueError, match="every must be at least 1, not 0"):
        IterateHistory(every=0)


def test_lbfgs_finds_the_same_optimum():
    exact, approximate = (cart().solve(solver=Ipopt(hessian=h)) for h in ("exact", "limited-memory"))
    assert approximate.success
    assert approximate.objective == pytest.approx(exact.objective, rel=1e-6)


def test_periodic_motion_and_free_duration():
    """An oscillator of 2 rad/s, without a force, is periodic after pi seconds."""
    swing = Equations(("x", "v"), ("force",), lambda point: (point["v"], point["force"] - 4 * point["x"]))
    problem = Problem(
        swing, (2.5, 4.0), (SQUARE,), 10, "radau", initial={"x": 1.0, "v": 0.0}, periodic=Periodic(),
    )  # fmt: skip
    solution = problem.solve({"x": [1, -1, 1], "duration": 3.0})
    assert solution.success
    assert solution.duration == pytest.approx(np.pi, abs=1e-3)
    assert np.allclose(solution.states[0], solution.states[-1], atol=1e-9)


def test_two_link_has_the_optimum_of_casadi_alone():
    """Quaternions as rotation vectors about a reference, inverse dynamics and compiled derivatives change nothing."""
    model, n, duration = arm(), 5, 0.25
    way = mq.simulate(model, duration=duration, step=duration / 50, output_step=duration / n)
    goals = TrackPose(Motion(model, way.time, way.q), weight=TRACKING), Effort(weight=EFFORT)
    problem = Problem(model, duration, goals, n, "midpoint", initial={"q": way.q[0], "u": way.u[0]})
    ours = problem.solve(solver=Ipopt(tolerance=1e-11))
    solver, start, (low, high) = casadi_alone(model, goals[0], way)
    found = solver(x0=start, lbg=0, ubg=0, lbx=low, ubx=high)
    assert ours.success
    assert ours.objective == pytest.approx(float(found["f"]), abs=1e-8)
    x = np.array(found["x"]).ravel()
    assert np.allclose(x[14 * (n + 1) :].reshape(n, 6), ours.controls, atol=1e-5)
    assert np.allclose(np.abs(np.sum(x[: 14 * (n + 1)].reshape(-1, 14)[:, :4] * ours.q[:, :4], axis=1)), 1, atol=1e-9)


def test_an_interrupt_from_the_keyboard_keeps_the_last_iterate(interruptible):
    def interrupt(progress):
        if progress.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    solution = cart(goals=(STEEP,)).solve(watch=interrupt)
    assert solution.status is SolutionStatus.INTERRUPTED
    assert solution.iterations == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_problems_of_one_structure_share_their_kernels():
    """Trials that begin at other times, with other motions and durations."""
    model = arm()
    kernels = set()
    for start, duration in ((0.0, 0.2), (0.3, 0.4)):
        time = np.linspace(start, start + duration, 5)
        motion = Motion(model, time, [model.start] * 5)
        problem = Problem(model, duration, (TrackPose(motion),), 2, "midpoint", start=start)
        kernels.add(id(problem.posed().discretization.program.blocks[0].kernels))
    assert len(kernels) == 1


def test_plots_show_the_motion_and_the_controls():
    """Of a model with muscles activations and torques, of a cart by its own equations all unknowns."""
    model = arm()
    still = {"q": model.start, "u": np.zeros(model.system.nu)}
    moved = Problem(model, 0.1, (Effort(),), 2, torques={"A.omega_x": 50.0}, initial=still).solve()
    titles = [axis.get_title(loc="left") for axis in moved.plot().axes if axis.get_visible()]
    assert {"controls", "activations"} <= {title.partition(",")[0].partition(" (")[0] for title in titles}
    states, controls = cart(goals=(Effort(),)).solve().plot().axes
    assert [line.get_label() for line in (*states.lines, *controls.lines)] == ["x", "v", "force"]
