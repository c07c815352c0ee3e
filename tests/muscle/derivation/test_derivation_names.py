"""Names in a model never become code in a derived function."""

import ctypes
import itertools
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.muscle import path_jacobian, path_lengths
from myoquat.muscle.derivation import LANGUAGES, derive, source

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


@pytest.fixture(scope="module")
def attacked():
    """(derivation, model) whose names attack all languages; each must stand all of them."""
    model = load_model("two_link")
    names = [*itertools.chain(*EVIL.values()), *ODD]
    muscles = [replace(muscle, name=name) for muscle, name in zip(itertools.cycle(model.muscles), names, strict=False)]
    title = " ".join(attacks[0] for attacks in EVIL.values())
    model = replace(model, name=title, description=title, muscles=tuple(muscles))
    return derive(model, "quaternion"), model


def state(model):
    return model.system.neutral(), np.full(len(model.muscles), 0.5)


def test_symbols_are_identifiers_and_apart(attacked):
    d, _ = attacked
    words = [str(symbol) for symbols in d.inputs.values() for symbol in symbols]
    assert len(set(words)) == len(words)
    assert all(word.isascii() and word.isidentifier() for word in words)


def test_an_imported_module_runs_nothing(attacked, tmp_path):
    d, model = attacked
    (tmp_path / "derived.py").write_text(source(d, "python", "derived"), encoding="utf-8")
    q, a = state(model)
    script = f"import derived; print(derived.derived({q.tolist()}, {a.tolist()})[0])"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, env=environment
    )
    np.testing.assert_allclose(np.array(eval(done.stdout)), path_lengths(model, q), rtol=1e-12)
    assert {p.name for p in tmp_path.iterdir()} == {"derived.py"}


@pytest.mark.compiler
@pytest.mark.parametrize("standard", ["c99", "gnu11"])  # the first one knows trigraphs
def test_a_loaded_library_runs_nothing(attacked, standard, tmp_path):
    d, model = attacked
    (tmp_path / "derived.c").write_text(source(d, "c", "derived"), encoding="utf-8")
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-O0", "-shared", "-fPIC"]
    library = tmp_path / "derived.so"
    subprocess.run(["cc", *flags, "-o", library, "derived.c", "-lm"], check=True, cwd=tmp_path)
    call = "import ctypes; ctypes.CDLL('./derived.so')"
    subprocess.run([sys.executable, "-c", call], check=True, cwd=tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"derived.c", "derived.so"}
    q, a = state(model)
    m = len(model.muscles)
    shapes = [(m,), (m, 8), (m,), (6,)]
    results = [np.empty(shape) for shape in shapes]
    arrays = [np.ascontiguousarray(x, dtype=float) for x in (q, a)] + results
    ctypes.CDLL(str(library)).derived(*(x.ctypes.data_as(ctypes.c_void_p) for x in arrays))
    np.testing.assert_allclose(results[1], path_jacobian(model, q, "quaternion"), atol=1e-12)


@pytest.mark.octave
def test_octave_runs_nothing_but_the_function(attacked, octave, tmp_path):
    d, model = attacked
    (tmp_path / "derived.m").write_text(source(d, "matlab", "derived"), encoding="utf-8")
    q, a = state(model)
    script = f"l = derived({q.tolist()}, {a.tolist()}); printf('%.17g ', l);"
    done = subprocess.run(
        [octave, "--no-gui", "--norc", "--quiet", "--eval", script],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    np.testing.assert_allclose([float(x) for x in done.stdout.split()], path_lengths(model, q), rtol=1e-12)
    assert {p.name for p in tmp_path.iterdir()} == {"derived.m"}


def test_matlab_comments_stay_comments(attacked):
    head, *lines = source(attacked[0], "matlab", "derived").splitlines()
    assert head.startswith("function ")
    code = [line for line in lines if not line.startswith("% ")]
    assert all(line == "end" or (line.endswith(";") and " = " in line) for line in code)


@pytest.mark.parametrize("language", ["latex", "latex_entries"])
def test_latex_holds_no_command_of_a_name(attacked, language):
    text = source(attacked[0], language, "derived")
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
