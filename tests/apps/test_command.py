"""The command line, as a user meets it."""

import importlib
import inspect
import json
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from myoquat.apps.command import COMMANDS, main
from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint, SphericalJoint
from myoquat.kernels.runtime.cache import LIMIT_BYTES
from myoquat.muscle import ActivationDynamics, ExponentialMuscle, Model, Muscle, PathPoint

LEG = str(Path(__file__).parents[1] / "data" / "small_leg.osim")
PATH = PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0))
BICEPS = Muscle("biceps", PATH, ExponentialMuscle(0.3, 50.0))


def rod(folder, muscles=(BICEPS,), mass=1.0, joint=RevoluteJoint((0, 1, 0))):  # noqa: B008
    """The file of a model with one hinge, or another joint."""
    body = Body("rod", "ground", joint, mass=mass, center_of_mass=(0.1, 0.0, 0.0))
    Model(ArticulatedSystem((body,)), muscles, name="rod").save(folder / "rod.toml", overwrite=True)
    return folder / "rod.toml"


def run(capsys, *arguments):
    """(exit code, standard output, standard error)."""
    try:
        main([str(a) for a in arguments])
        code = 0
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_mapping_prints_writes_and_draws(capsys, tmp_path):
    """Over files that are there already, which only --force replaces."""
    model, folder, page = rod(tmp_path, joint=SphericalJoint()), tmp_path / "figures", tmp_path / "m.html"
    outputs = ["--json", tmp_path / "m.json", "--figures", folder, "--report", page]
    folder.mkdir()
    names = {"moment_arms.png", "quaternion.png", "constrained.png", "singular.png"}
    for file in (tmp_path / "m.json", folder / "singular.png", page):
        file.write_text("old")
    for output in (outputs[:2], outputs[2:4], outputs[4:]):
        code, _, err = run(capsys, "mapping", model, "--samples", 50, *output)
        assert code == 2
        assert "exists; --force" in err
    code, out, _ = run(capsys, "mapping", model, "--samples", 50, "--seed", 2, *outputs, "--force")
    assert code == 0
    assert "All mappings that should hold do" in out
    assert json.loads((tmp_path / "m.json").read_text())["n"] == 50
    assert {file.name: file.read_bytes()[1:4] for file in folder.iterdir()} == dict.fromkeys(names, b"PNG")
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 4
    headings = [text.index(x) for x in ("The published analysis", "J_Q back from J_phi", "The corrected analysis")]
    assert headings == sorted(headings)


def test_derive_writes_a_function(capsys, tmp_path):
    model, file = rod(tmp_path, joint=SphericalJoint()), tmp_path / "f.c"
    arguments = ["derive", model, "--jacobian", "sequence", "--language", "c", "--output", file]
    assert run(capsys, *arguments)[0] == 0
    assert "void f(const double *q" in file.read_text()
    assert run(capsys, *arguments)[0] == 2


def test_mapping_and_derive_take_files_of_opensim(capsys, tmp_path):
    shoulder = Path(__file__).parents[2] / "notebooks" / "shoulder.osim"
    code, out, _ = run(capsys, "mapping", shoulder, "--rotations", "quaternion", "--samples", 20)
    assert code == 0
    assert "All mappings that should hold do" in out
    code, out, _ = run(capsys, "mapping", shoulder, "--samples", 20)  # in the file's own angles
    assert code == 0
    assert "All mappings that should hold do" in out
    arguments = ["--rotations", "YZY", "--jacobian", "sequence", "--output", tmp_path / "f.py"]
    code, _, err = run(capsys, "derive", shoulder, *arguments)
    assert code == 2
    assert "muscle 'deltoid_front': its path runs around a surface" in err


def test_names_send_no_commands_to_a_terminal(capsys, tmp_path):
    base = load_model("two_link")
    name = "\x1b]0;owned\x07m"
    model = replace(base, muscles=(replace(base.muscles[0], name=name), *base.muscles[1:]))
    model.save(tmp_path / "m.toml")
    for arguments in (("info",), ("mapping", "--samples", 5), ("check", "--poses", 5)):
        code, out, err = run(capsys, arguments[0], tmp_path / "m.toml", *arguments[1:])
        assert code == 0
        assert "\x1b" not in out + err
    assert "\\x1b]0;owned" in run(capsys, "info", tmp_path / "m.toml")[1]


def test_info_tells_units(capsys):
    out = run(capsys, "info", Path(__file__).parents[2] / "notebooks" / "shoulder.osim")[1]
    assert "coordinate elevation [rad]: from -2 to 0.5 rad" in out
    assert "F0 = 900 N" in out


def test_convert_writes_other_files_and_tells_what_they_lack(capsys, tmp_path):
    for name, words in (("m.toml", ""), ("m.osim", "6 muscles with law 'B'"), ("m.xml", "whose tendons pull nothing")):
        code, out, _ = run(capsys, "convert", "two_link", tmp_path / name)
        assert code == 0
        assert words in out
        assert f"wrote {tmp_path / name}" in out
    assert load_model(tmp_path / "m.toml").muscle_names == load_model("two_link").muscle_names
    assert run(capsys, "convert", rod(tmp_path, muscles=()), tmp_path / "m.urdf")[0] == 0
    assert load_model(tmp_path / "m.urdf").system.nq == 1
    for arguments, words in (
        (("m.toml",), "--force"),
        (("m.txt",), "must end in .toml, .osim, .xml, .urdf, not .txt"),
        (("n.urdf", "--strict"), "6 muscles (m1, m2"),
        (("n.osim", "--strict"), "the file cannot hold"),
    ):
        code, _, err = run(capsys, "convert", "two_link", tmp_path / arguments[0], *arguments[1:])
        assert code == 2
        assert words in err


def test_info(capsys):
    code, out, _ = run(capsys, "info", "two_link", "--kernels")
    assert code == 0
    assert "lanes" in out
    assert "6 muscles" in out
    assert not set("{}[]'") & set(out.partition("two_link:")[0])
    assert f"\ncache_limit_bytes {LIMIT_BYTES}\n" in out
    assert "mapping_analysis" in run(capsys, "info")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mapping", "missing"], "no such model file"),
        (["mapping", "."], "this is a directory"),
        (["mapping", "two_link", "--samples", "0"], "positive integer"),
        (["mapping", "two_link", "--samples", "many"], "not a valid integer"),
        (["mapping", "two_link", "--json", "/missing/x.json"], "is not a directory"),
        (["mapping"], "Missing argument"),
        (["derive", "two_link", "--jacobian", "euler", "--output", "x"], "'euler' is not one of"),
        (
            ["derive", "two_link", "--jacobian", "sequence", "--language", "rust", "--output", "x"],
            "'rust' is not one of",
        ),
        (["simulate", "two_link", "--method", "leapfrog"], "rk4, lie_rk4, semi_implicit_euler, variational"),
        (["simulate", LEG], "project_start=True (--project-start) moves it there"),
        (["simulate", LEG, "--project-start"], "give activation= (--activation)"),
        (["fly"], "No such command"),
        (["simulate", "two_link", "--plot", "way.xyz"], "--plot must end in .png, .pdf, .svg, .jpg, .jpeg, not .xyz"),
        (["convert", "two_link", "way.bvh"], "not .bvh; --motion FILE writes one"),
        (["compare", "two_link", "opensim"], "opensim is an engine: myoquat compare two_link --engine"),
        (["compare", LEG, "--engine", "mujoco"], "mujoco reads .xml: myoquat convert"),
        (["info", LEG[:-5]], "'small_leg.osim' is there"),
        (["view", "two_link", "gone.mot"], "'gone.mot' does not exist"),
        (["film", "two_link", LEG, "a.gif"], "this is no .mot or .sto file"),
        (["ik", "two_link", LEG, "a.mot"], "markers are read from .trc, .c3d, .mvnx, .sto files"),
        (["ik", LEG, LEG, "a.txt"], "OUTPUT': output must end in .mot, .sto, .bvh, not .txt"),
        (["loads", LEG, LEG, "a.sto", "--joint", "hipp"], "there is no joint 'hipp'; nearest"),
        (["loads", LEG, LEG, "a.sto", "--frame", "thigh_r"], "there is no body 'thigh_r'; nearest: thigh"),
        (["id", "two_link", LEG, "a.sto", "--uncertainty", "--uncertain", "noise=1"], "no deviation for --uncertain"),
        (["scale", LEG, "a.osim", "--factor", "thigh=long"], "--factor is BODY=S, not 'thigh=long'"),
        (["run", LEG], "<Model> is no tool that is known here"),
    ],
)
def test_mistakes_end_with_one_sentence_and_code_2(capsys, arguments, message):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_every_command_has_help(capsys):
    for name in COMMANDS:
        assert run(capsys, name, "--help")[0] == 0
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)


def test_simulate_stores_and_draws(capsys, tmp_path):
    files = [
        tmp_path / name for name in ("way.npz", "way.csv", "way.sto", "way.mot", "way.png", "way.gif", "jacobians.png")
    ]
    for output in files[:4]:
        code, out, _ = run(capsys, "simulate", "two_link", "--duration", "0.05", "--output", str(output))
        assert code == 0
        assert "50 steps to t = 0.05 s, 51 rows; ran to the end" in out
    extra = [
        "--plot",
        str(files[4]),
        "--film",
        str(files[5]),
        "--mapping",
        str(files[6]),
        "--muscle",
        "m3",
        "--rtol",
        "1e-8",
        "--rotations",
        "sequence",
    ]
    code, out, _ = run(capsys, "simulate", "two_link", "--duration", "0.05", *extra)
    assert code == 0
    assert "dop853" in out
    assert all(file.stat().st_size > 1000 for file in files)
    assert files[1].read_text().startswith("time,A.Q0")


@pytest.fixture
def no_simulation(monkeypatch):
    simulation = importlib.import_module("myoquat.apps.commands.simulate")
    monkeypatch.setattr(simulation, "simulate", lambda *a, **k: pytest.fail("the simulation ran"))


@pytest.mark.usefixtures("no_simulation")
def test_what_a_film_needs_is_asked_for_before_the_simulation(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("myoquat.data.motions.figures.film_encoder", lambda: None)
    code, out, err = run(capsys, "simulate", "two_link", "--film", tmp_path / "way.mp4", "--output", tmp_path / "w.npz")
    assert (code, out) == (2, "")
    assert ".mp4 films need ffmpeg, which is not installed" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_simulation")
def test_what_jacobians_need_is_asked_for_before_the_simulation(capsys, tmp_path):
    code, _, err = run(capsys, "simulate", rod(tmp_path), "--mapping", tmp_path / "j.png")
    assert code == 2
    assert "needs a model with a ball joint" in err


def test_what_was_written_before_a_failure_is_said(capsys, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("myoquat.dynamics.Trajectory.plot", full)
    files = ["--output", tmp_path / "way.npz", "--plot", tmp_path / "way.png"]
    code, out, err = run(capsys, "simulate", "two_link", "--duration", "0.01", *files)
    assert code == 2
    assert f"wrote {tmp_path / 'way.npz'}" in out
    assert "way.png" not in out
    assert "the disk is full" in err


def test_simulate_takes_an_excitation(capsys, tmp_path):
    base = load_model("two_link")
    excited = [replace(muscle, activation_dynamics=ActivationDynamics()) for muscle in base.muscles]
    replace(base, muscles=excited).save(tmp_path / "m.toml")
    given = ["--duration", "0.01", "--excitation", "0.9", "--activation", "0.2", "--output", str(tmp_path / "way.csv")]
    code, _, _ = run(capsys, "simulate", str(tmp_path / "m.toml"), *given)
    assert code == 0
    table = pd.read_csv(tmp_path / "way.csv")
    assert table["m1.activation"].iloc[0] == 0.2 < table["m1.activation"].iloc[-1]
    assert (table["m1.excitation"] == 0.9).all()


def test_check_says_whether_powers_balance(capsys):
    code, out, _ = run(capsys, "check", "two_link", "--poses", "50")
    assert code == 0
    assert "The powers of all muscles balance." in out
    code, _, err = run(capsys, "check", "two_link", "--poses", "0")
    assert code == 2
    assert "poses must be a positive integer" in err


def test_memory_that_is_not_there_is_an_error_in_one_sentence(capsys, monkeypatch):
    def draw(*_):
        raise MemoryError("Unable to allocate 29.1 TiB")

    monkeypatch.setattr("myoquat.apps.commands.check.power_check", draw)
    code, _, err = run(capsys, "check", "two_link")
    assert (code, err) == (2, "myoquat: there is not enough memory: Unable to allocate 29.1 TiB\n")


def test_warm_fills_the_cache(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("MYOQUAT_CACHE", str(tmp_path / "kernels"))
    script = (
        "import sys; from myoquat.apps.command import main; from myoquat.kernels.symbolic.terms import Tracer\n"
        "made, begin = [], Tracer.__init__\n"
        "Tracer.__init__ = lambda self: made.append(begin(self))\n"
        "main(['warm', sys.argv[1]])\n"
        "print(bool(made))\n"
    )
    call = [sys.executable, "-c", script, str(rod(tmp_path))]
    found = [subprocess.run(call, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert all(text.startswith("rod:") and "ready in" in text for text in found)
    assert [text.split()[-1] for text in found] == ["True", "False"]  # nothing is traced the second time
    (tmp_path / "file").write_text("no folder")
    for cache, code, words in (
        ("off", 2, "the cache of kernels is off"), ("file", 2, "the cache of kernels keeps nothing: [Errno"),
        ("other", 0, "no simulation: "),
    ):  # fmt: skip
        monkeypatch.setenv("MYOQUAT_CACHE", cache if cache == "off" else str(tmp_path / cache))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run(capsys, "warm", rod(tmp_path, mass=0.0) if code == 0 else "two_link")
        assert found[0] == code
        assert words in found[1] + found[2]


def test_the_help_of_sweep_shows_a_study_that_runs(capsys, tmp_path):
    text = inspect.cleandoc(run(capsys, "sweep", "--help")[1].split("STUDY.\n")[1].split("All keys")[0])
    (tmp_path / "study.toml").write_text(text.replace("samples = 1000", "samples = 3").replace("1.0  #", "0.01  #"))
    code, _, err = run(capsys, "sweep", tmp_path / "study.toml", "--output", tmp_path / "a.zarr")
    assert (code, err) == (0, "")


def test_an_interrupted_sweep_names_the_way_to_go_on(monkeypatch, tmp_path, capsys):
    study_module = importlib.import_module("myoquat.analysis.studies.study")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(study_module, "compute", interrupted)
    monkeypatch.setattr(study_module.Study, "load", lambda path: None)
    study = tmp_path / "study.toml"
    study.write_text("")
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", str(study), "--output", str(tmp_path / "out.zarr")])
    assert stopped.value.code == 130
    assert "--resume goes on" in capsys.readouterr().err
