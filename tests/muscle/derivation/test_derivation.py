"""The derived functions give the library's numbers, in every language."""

import ctypes
import subprocess
from dataclasses import replace
from functools import cache
from itertools import chain, cycle, product
from pathlib import Path

import numpy as np
import pytest

from myoquat import joints
from myoquat.apps.commands.derive import write_derivation
from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, Body, FloatingJoint, ModelError, SphericalJoint
from myoquat.muscle import (
    CubicExponentialMuscle,
    Model,
    Muscle,
    PathPoint,
    muscle_forces,
    muscle_torques,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.derivation import JACOBIANS, LANGUAGES, derive, source

CASES = (*product(["two_link"], JACOBIANS), ("mapping_analysis", "sequence"), ("attacked", "quaternion"))
EVIL = {
    "python": [
        '"""\nimport os; open("ran", "w")\n"""',
        '\\"""\nopen("ran", "w")\n"""',
        "\\x\\",
        '""" + open("ran") + """',
    ],
    "c": [
        '*/ __attribute__((constructor)) void boom(void) { fopen("ran", "w"); } /*',
        "*??/\n/ int ran; /*",
        "x\n*/\n#include </missing>\n/*",
        "/*/ int ran; /*/",
    ],
    "matlab": [
        "x\nfclose(fopen('ran', 'w'));\n%",
        "x\rfclose(fopen('ran', 'w'));\r%",
        "%{",
        "\u2028system('touch ran')",
    ],
    "latex": [
        "x\n\\input{/etc/passwd}",
        "\\immediate\\write18{touch ran}",
        "^^5cinput{x}",
        "}\\end{document}",
        "$x_\\y$%",
    ],
}
ODD = ["for", "", "m 1", "m-1", "三角筋", "\u202e\ud800", "q"]


@cache
def derivation(name, jacobian):
    """Of a model's first three muscles: from the ground to each of its two bodies, and between these.

    The names of "attacked" attack all languages: each must stand what is meant for another, too.
    """
    if name != "attacked":
        model = load_model(name)
        return derive(replace(model, muscles=model.muscles[:3]), jacobian)
    model = load_model("two_link")
    names = [*chain(*EVIL.values()), *ODD]
    muscles = [replace(muscle, name=name) for muscle, name in zip(cycle(model.muscles), names, strict=False)]
    title = " ".join(attacks[0] for attacks in EVIL.values())
    return derive(replace(model, name=title, description=title, muscles=tuple(muscles)), jacobian)


def hung(joint):
    """A body on a joint, with a muscle."""
    path = (PathPoint("ground", (0.1, 0.3, 0.0)), PathPoint("pelvis", (0.1, -0.2, 0.1)))
    muscle = Muscle("m", path, CubicExponentialMuscle(300.0, 0.2))
    return Model(ArticulatedSystem((Body("pelvis", "ground", joint, mass=3.0),)), (muscle,))


@pytest.fixture(params=CASES, ids="-".join)
def case(request, rng, tmp_path, monkeypatch):
    """(derivation, inputs per pose, the library's outputs per pose), in a folder in which nothing but the source and
    what is made of it may be afterwards."""
    name, jacobian = request.param
    d, source_model = derivation(name, jacobian), load_model("two_link" if name == "attacked" else name)
    q = source_model.system.random(10, rng)
    assert (q[:, 0] < 0).any()
    q = joints.convert_coordinates(source_model.system, d.model.system, q)
    count = len(d.model.muscles)
    activation, strength = rng.uniform(0, 1, (10, count)), rng.uniform(10, 250, count)
    monkeypatch.chdir(tmp_path)
    inputs = [q, activation] + ([np.tile(strength, (10, 1))] if "max_isometric_force" in d.inputs else [])
    model = d.model if len(inputs) == 2 else strengthened(d.model, strength)
    wrt = {"sequence": "coordinates"}.get(jacobian, jacobian)
    u = np.zeros(model.system.nu)
    expected = [
        path_lengths(model, q),
        path_jacobian(model, q, wrt),
        muscle_forces(model, q, u, activation),
        muscle_torques(model, q, u, activation),
    ]
    yield d, inputs, expected
    assert {path.stem for path in tmp_path.iterdir()} <= {"derived", *(f"x{k}" for k in range(3))}


def strengthened(model, strengths):
    muscles = [
        replace(m, law=replace(m.law, max_isometric_force=float(s)))
        for m, s in zip(model.muscles, strengths, strict=True)
    ]
    return replace(model, muscles=tuple(muscles))


def assert_agree(results, expected):
    for result, reference in zip(results, expected, strict=True):
        result = np.array(result).reshape(reference.shape)
        assert np.abs(result - reference).max() <= 1e-12 * np.abs(reference).max()


def test_python_gives_the_library_s_numbers(case):
    d, inputs, expected = case
    scope: dict = {}
    exec(source(d, "python", "derived").encode(), scope)
    rows = [scope["derived"](*(list(x) for x in row)) for row in zip(*inputs, strict=True)]
    assert_agree([[row[k] for row in rows] for k in range(4)], expected)


@pytest.mark.compiler
def test_c_gives_the_library_s_numbers(case, tmp_path):
    """Names that attack meet two standards: the first one knows trigraphs."""
    d, inputs, expected = case
    (tmp_path / "derived.c").write_text(source(d, "c", "derived"), encoding="utf-8")
    for standard in ("c99", "gnu11") if len(d.model.muscles) > 3 else ("c99",):
        flags = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
        library = tmp_path / f"derived.{standard}"
        subprocess.run(["cc", *flags, "-o", library, tmp_path / "derived.c", "-lm"], check=True)
        function = ctypes.CDLL(str(library)).derived
        results = [np.empty_like(e) for e in expected]
        for i in range(len(inputs[0])):
            arrays = [np.ascontiguousarray(x[i]) for x in inputs] + [r[i] for r in results]
            function(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
        assert_agree(results, expected)


@pytest.mark.octave
def test_octave_gives_the_library_s_numbers(case, octave, tmp_path):
    d, inputs, expected = case
    (tmp_path / "derived.m").write_text(source(d, "matlab", "derived"), encoding="utf-8")
    for k, x in enumerate(inputs):
        np.savetxt(tmp_path / f"x{k}.txt", x, fmt="%.17g")
    arguments = ", ".join(f"x{k}(i, :)" for k in range(len(inputs)))
    script = "".join(f"x{k} = load('x{k}.txt');" for k in range(len(inputs)))
    script += f"for i = 1:{len(inputs[0])}; [l, J, F, tau] = derived({arguments});"
    script += "J = J'; printf('%.17g ', [l(:); J(:); F(:); tau(:)]); printf('\\n'); end"
    command = [octave, "--no-gui", "--norc", "--quiet", "--eval", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    table = np.array([[float(v) for v in line.split()] for line in done.stdout.splitlines() if line.strip()])
    edges = np.cumsum([e[0].size for e in expected])[:-1]
    assert_agree(np.split(table, edges, axis=1), expected)


def test_symbols_are_identifiers_and_apart():
    d = derivation("attacked", "quaternion")
    words = [str(symbol) for symbols in d.inputs.values() for symbol in symbols]
    assert len(set(words)) == len(words)
    assert all(word.isascii() and word.isidentifier() for word in words)


@pytest.mark.parametrize("eliminated", [1, 2, 3])
def test_other_eliminated_components(eliminated, rng):
    """Of a joint with a muscle: they are eliminated joint by joint."""
    model = hung(SphericalJoint())
    scope: dict = {}
    exec(source(derive(model, "constrained", eliminated), "python", "derived"), scope)
    q = model.system.random(1, rng)[0]
    _, J, _, tau = scope["derived"](list(q), [0.4])
    expected = path_jacobian(model, q, "constrained", eliminated=eliminated)
    assert_agree([J, tau], [expected, muscle_torques(model, q, np.zeros(3), [0.4])])


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_latex_has_a_line_of_every_muscle_and_names_for_its_points(jacobian):
    text = source(derivation("two_link", jacobian), "latex", "two_link")
    assert text.count("{") == text.count("}")
    lines = text.splitlines()
    assert sum(r"\ell_{\mathrm{m3}} = " in line for line in lines) == 1
    assert sum(line.startswith(r"\[ \frac{\partial \ell_{\mathrm{m3}}}") for line in lines) == 1
    assert r"x_{\mathrm{m3},2} - x_{\mathrm{m3},1}" in text
    assert r"$r_{\mathrm{m3},2} = (0.1, 0, -0.3)$ on B" in text
    assert "t_{" not in text
    assert len(lines) < 75


def test_rows_as_latex_writes_them_are_the_jacobian(rng):
    """The row of m2 is e^T R_f D(Q, R^T (x - p)). Joint B moves its second point, and D follows from differences of
    R(Q) s."""
    model = load_model("two_link")
    q = model.system.random(1, rng)[0]
    poses = model.system.poses(q)
    x = [poses[p.body][1] + poses[p.body][0] @ p.position for p in model.muscles[1].path.points]
    e = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    (R_A, _), (R_B, p_B) = poses["A"], poses["B"]
    s, h = R_B.T @ (x[1] - p_B), 1e-6 * np.eye(4)
    D = [joints.rotation_matrix(q[4:] + step) @ s - joints.rotation_matrix(q[4:] - step) @ s for step in h]
    row = e @ R_A @ (np.array(D).T / 2e-6)
    np.testing.assert_allclose(row, path_jacobian(model, q, "quaternion")[1, 4:], atol=1e-8)
    assert (
        r"e_{\mathrm{m2},1}^T R_{f,\mathrm{B}} D(Q_{\mathrm{B}}, R_{\mathrm{B}}^T (x_{\mathrm{m2},2} - p_{\mathrm{B}}))"
        in source(derivation("two_link", "quaternion"), "latex", "two_link")
    )


def test_latex_shows_every_entry_where_asked():
    d = derivation("two_link", "quaternion")
    text = source(d, "latex_entries", "two_link")
    assert text.count(r"\[") == len(d.common) + sum(a.size for a in d.outputs.values())
    assert r"(J_{Q})_{3,8}" in text
    assert text.count("{") == text.count("}")


def test_the_same_derivation_is_written_the_same():
    model = load_model("two_link")
    model = replace(model, muscles=model.muscles[:2])
    d, again = (derive(model, "sequence") for _ in range(2))
    for language in LANGUAGES:
        assert source(d, language, "f") == source(again, language, "f")


def test_bad_words_and_outputs(tmp_path):
    model = load_model("two_link")
    model = replace(model, muscles=model.muscles[:1])
    with pytest.raises(ValueError, match="language is one of python, c, matlab, latex, latex_entries, not 'rust'"):
        write_derivation(model, "sequence", "rust", tmp_path / "f.rs")
    with pytest.raises(ValueError, match="jacobian is one of"):
        derive(model, "euler")
    with pytest.raises(ValueError, match="eliminated is 0, 1, 2 or 3"):
        derive(model, "constrained", 4)
    with pytest.raises(ValueError, match="cannot name a function"):
        write_derivation(model, "sequence", "c", tmp_path / "1-f.c")
    (tmp_path / "f.c").write_text("mine")
    with pytest.raises(FileExistsError, match="exists"):
        write_derivation(model, "sequence", "c", tmp_path / "f.c")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]


def test_error_names_quantities_without_a_closed_form():
    shoulder = load_model(Path(__file__).parents[3] / "notebooks" / "shoulder.osim", "quaternion")
    with pytest.raises(ModelError, match="muscle 'deltoid_front': its path runs around a surface"):
        derive(shoulder, "quaternion")
    straight = replace(
        shoulder, muscles=(replace(shoulder.muscles[0], path=replace(shoulder.muscles[0].path, wraps=())),)
    )
    with pytest.raises(ModelError, match="depends on its fiber length, which a solver finds; take a rigid tendon"):
        derive(straight, "quaternion")
    d = derive(straight, "quaternion", forces=False)
    assert set(d.inputs) == {"q"}
    scope: dict = {}
    exec(source(d, "python", "derived"), scope)
    q = straight.system.random(1, np.random.default_rng(0))[0]
    l, J = scope["derived"](q.tolist())
    assert_agree([l, J], [path_lengths(straight, q), path_jacobian(straight, q, "quaternion")])


def test_a_jacobian_needs_no_force_law():
    model = load_model("two_link")
    model = replace(model, muscles=(replace(model.muscles[0], law=None),))
    with pytest.raises(ModelError, match="muscle 'm1': no force law is given"):
        derive(model, "sequence")
    assert set(derive(model, "sequence", forces=False).outputs) == {"l", "J_phi"}


@pytest.mark.parametrize("jacobian", ["quaternion", "constrained"])
def test_torques_of_a_floating_joint_are_its_generalized_forces(jacobian, rng):
    model = hung(FloatingJoint())
    scope: dict = {}
    exec(source(derive(model, jacobian), "python", "derived"), scope)
    q = model.system.random(1, rng)[0]
    _, J, _, tau = scope["derived"](q, [0.4])
    np.testing.assert_allclose(J, path_jacobian(model, q, jacobian), atol=1e-14)
    np.testing.assert_allclose(tau, muscle_torques(model, q, np.zeros(6), [0.4]), rtol=1e-12)


def test_matlab_comments_stay_comments():
    head, *lines = source(derivation("attacked", "quaternion"), "matlab", "derived").splitlines()
    assert head.startswith("function ")
    code = [line for line in lines if not line.startswith("% ")]
    assert all(line == "end" or (line.endswith(";") and " = " in line) for line in code)


@pytest.mark.parametrize("language", ["latex", "latex_entries"])
def test_latex_holds_no_command_of_a_name(language):
    text = source(derivation("attacked", "quaternion"), language, "derived")
    for command in (r"\input", r"\write", r"\immediate", "^^"):
        assert command not in text
    assert text.count(r"\end{document}") == 1
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert "$x" not in text.replace(r"\$x", "")


@pytest.mark.parametrize(
    ("language", "name"), [("python", "def"), ("python", "math"), ("c", "int"), ("c", "sin"), ("matlab", "end")]
)
def test_words_of_a_language_name_no_function(language, name):
    model = load_model("two_link")
    d = derive(replace(model, muscles=model.muscles[:1]), "sequence")
    with pytest.raises(ValueError, match=f"'{name}' cannot name a function: {language} uses the word itself"):
        source(d, language, name)
    assert source(d, "latex", name)


def test_ordinary_names_are_read_in_the_code():
    model = load_model("two_link")
    d = derive(replace(model, muscles=model.muscles[:1]), "quaternion")
    assert [str(symbol) for symbol in d.inputs["q"][:4]] == ["q_A_Q0", "q_A_Q1", "q_A_Q2", "q_A_Q3"]
    assert "a_m1 = activation(1);" in source(d, "matlab", "f")
    assert set(LANGUAGES) == {*EVIL, "latex_entries"}  # whose names are attacked as those of latex are
