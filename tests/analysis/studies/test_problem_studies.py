"""Studies of problems of optimal control: one structure, other numbers, and interrupts that lose nothing."""

import re
import signal
from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import Duration, Effort, Equations, Ipopt, OwnGoal, Problem
from myoquat.analysis.studies import ProblemStudy, StoreError, open_results, verify_results
from tests.bodies import on_slide, pushing

MODEL = mq.Model(mq.ArticulatedSystem((on_slide("block", "x", "x"),)))
ENDS = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 1.0, "x_dot": 0.0}}


@pytest.fixture(scope="module")
def problem():
    """A block goes 1 m in 1 s from rest to rest: least effort is 12 m^2."""
    return Problem(MODEL, 1.0, (Effort(),), 6, torques=("x_dot",), **ENDS)


def study_of(problem, masses=(1.0, 2.0, 3.0), **options):
    return ProblemStudy(problem, {"bodies.block.mass": list(masses)}, design="grid", **options)


def test_samples_have_their_own_solution_and_share_kernels(problem):
    """12 m^2; after the first sample no kernel is built."""
    study = study_of(problem)
    first = study.problem_of(0).posed().discretization.program.blocks
    last = study.problem_of(2).posed().discretization.program.blocks
    assert all(a.kernels is b.kernels for a, b in zip(first, last, strict=True))
    found = study.run()
    assert found.objective.values == pytest.approx([12.0, 48.0, 108.0], rel=1e-6)
    assert list(found.status.values) == ["solved"] * 3
    assert found["x"].values[:, -1] == pytest.approx(np.ones(3))
    assert found["values"].values.ravel().tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["duration", "objective", "time", "node", "sample", "values"])
def test_quantities_may_have_the_name_of_another_column(problem, name):
    """Of one name, the table has the quantity: m over samples and nodes, from 0 to 1."""
    model, ends = mq.Model(mq.ArticulatedSystem((on_slide("block", "x", name),))), {"initial": 0.0, "final": 1.0}
    given = {end: {name: x, f"{name}_dot": 0.0} for end, x in ends.items()}
    found = study_of(replace(problem, model=model, torques=(f"{name}_dot",), **given), (1.0, 2.0)).run()
    assert found.variables[name].values[:, [0, -1]] == pytest.approx(np.array([[0.0, 1.0]] * 2), abs=1e-9)


def test_an_interrupt_keeps_the_last_iterate_and_the_study_goes_on_there(problem, tmp_path, interruptible):
    """The second sample is interrupted by a signal at its second iterate; resumed, only what is missing is solved."""
    count = []

    def interrupting(point):
        return np.cosh(point["x_dot.torque"] / 4)

    slow = replace(problem, goals=(OwnGoal(interrupting),))
    study, folder = study_of(slow), tmp_path / "solved"
    solve = Problem.solve

    def interrupted(self, guess=None, solver=None, refine=None, watch=None):
        def seen(progress):
            count.append(self.parameters["bodies.block.mass"])
            if count.count(2.0) == 2:
                signal.raise_signal(signal.SIGINT)

        return solve(self, guess, solver, refine, seen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Problem, "solve", interrupted)
        first = study.run(folder)
    assert list(first.status.values) == ["solved", "interrupted", "failed"]
    assert np.isfinite(first["x"].values[1]).all()
    assert np.isnan(first.objective.values[2])
    with pytest.raises(FileExistsError, match="resume=True"):
        study.run(folder)
    second = study.run(folder, resume=True)
    assert list(second.status.values) == ["solved"] * 3
    assert second["x"].values[0] == pytest.approx(first["x"].values[0], abs=0)
    assert second.objective.values == pytest.approx(study.run().objective.values, rel=1e-6)
    with pytest.raises(ValueError, match="another study; what differs: values"):
        study_of(slow, (1.0, 5.0)).run(folder, resume=True)


def test_studies_of_what_cannot_be_are_rejected(problem):
    own = Problem(Equations(("x",), (), lambda point: (-point["x"],)), 1.0, (Duration(),), 4)
    with pytest.raises(ValueError, match="varies parameters of a Model; the problem has none"):
        ProblemStudy(own, {"rate": [1.0]}, design="grid")
    lighter = replace(problem, parameters={"bodies.block.mass": (0.5, 2.0)})
    with pytest.raises(ValueError, match=re.escape("vary: 'bodies.block.mass' is an unknown of the problem already")):
        study_of(lighter)
    with pytest.raises(TypeError, match="solver"):
        study_of(problem, solver="ipopt")
    assert study_of(problem, solver=Ipopt(max_iterations=0)).run().status.values[0] == "iterations"


def test_a_damaged_solution_is_found_again(problem, tmp_path):
    study, folder = study_of(problem), tmp_path / "solved"
    first = study.run(folder)
    chunk = next(file for file in (folder / "q" / "c" / "1").rglob("*") if file.is_file())
    chunk.write_bytes(bytes(reversed(chunk.read_bytes())))
    again = study.run(folder, resume=True)
    assert again["x"].values == pytest.approx(first["x"].values, abs=1e-6)
    assert again.seconds.values[[0, 2]].tolist() == first.seconds.values[[0, 2]].tolist()
    assert open_results(folder).status.values.tolist() == [1, 1, 1]
    with pytest.raises(StoreError, match="holds solutions of a ProblemStudy"):
        verify_results(folder)


OTHERS = {
    "goals": {"goals": (Effort(weight=100.0),)},
    "final": {"final": {"x": 5.0, "x_dot": 0.0}},
    "initial": {"initial": {"x": 0.5, "x_dot": 0.0}},
    "bounds": {"bounds": {"x": (-1.0, 7.0)}},
    "loads": {"loads": pushing("block", [0.0, 1.0], (2.0, 0.0, 0.0))},
    "intervals": {"intervals": 7},
    "transcription": {"transcription": "trapezoid"},
    "torques": {"torques": {"x_dot": 2.0}},
    "duration": {"duration": 2.0},
    "model": {"model": replace(MODEL, start_q=(0.3,))},
}


@pytest.mark.parametrize("field", OTHERS)
def test_results_of_another_problem_are_not_taken_for_those_of_this_one(problem, tmp_path, field):
    loaded = replace(problem, loads=pushing("block", [0.0, 1.0], (1.0, 0.0, 0.0)), goals=(Effort(weight=1.0),))
    study_of(loaded, (1.0,), solver=Ipopt(max_iterations=0)).run(tmp_path / "solved")
    other = replace(
        loaded,
        **(
            {"loads": pushing("block", [0.0, 1.0], (1.0, 0.0, 0.0)), "duration": 0.5}
            if field == "duration"
            else OTHERS[field]
        ),
    )
    with pytest.raises(ValueError, match=f"another study; what differs: .*{field}"):
        study_of(other, (1.0,), solver=Ipopt(max_iterations=0)).run(tmp_path / "solved", resume=True)


def test_formulas_of_users_count_by_what_they_compute_and_names_do_not_count(problem, tmp_path):
    """What a global of a formula holds changes the study; another function that computes the same does not."""
    factor = [1.0]

    def cost(point):
        return factor[0] * point["x_dot.torque"] ** 2

    def run(formula, name="", solver=None, **options):
        own = replace(problem, goals=(OwnGoal(formula, name=name),))
        return study_of(own, (1.0,), solver=solver or Ipopt()).run(tmp_path / "solved", **options)

    assert run(cost).objective.values == pytest.approx([12.0])
    assert run(lambda point: 1.0 * point["x_dot.torque"] ** 2, "other", resume=True).objective.values == pytest.approx(
        [12.0]
    )
    run(cost, solver=Ipopt(print_level=1), resume=True)
    factor[0] = 3.0
    with pytest.raises(ValueError, match=r"what differs: formulas: \S+ -> \S+$"):
        run(cost, resume=True)
    factor[0] = 1.0
    with pytest.raises(ValueError, match=r"what differs: solver: \S+ -> \S+$"):
        run(cost, solver=Ipopt(tolerance=1e-3), resume=True)


def test_the_same_numbers_said_otherwise_are_the_same_study(problem, tmp_path):
    """Torques by names alone have scales of 1; a mesh may be a number or fractions; the order of bounds is none."""
    bounds = {"x": (-1.0, 7.0), "x_dot": (-5.0, 5.0)}
    study = study_of(replace(problem, bounds=bounds), (1.0,))
    first = study.run(tmp_path / "solved")
    said = {"torques": {"x_dot": 1}, "intervals": np.linspace(0, 1, 7), "bounds": dict(reversed(bounds.items()))}
    again = study_of(replace(problem, **said), (1.0,)).run(tmp_path / "solved", resume=True)
    assert again.seconds.values.tolist() == first.seconds.values.tolist()


def test_a_study_may_start_at_the_solution_of_its_problem(problem):
    """The solution has no unknown parameters, the problems of the samples have one."""
    found = study_of(problem, (1.0, 2.0), guess=problem.solve()).run()
    assert found.objective.values == pytest.approx([12.0, 48.0], rel=1e-6)
