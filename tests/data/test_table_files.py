"""Tables with units in their headers, read back by other programs' readers."""

import numpy as np
import pandas as pd
import pytest
from scipy.io import loadmat

import myoquat as mq
from myoquat.data import column_units, save_table

TABLE = pd.DataFrame(
    {"knee": [10.0, 20.5], "knee_moment": [1.0, -2.0], "hip_on_femur_in_ground_fx": [3.0, 4.0]},
    index=pd.Index([0.0, 0.5], name="time"),
)
TABLE.attrs["units"] = {"knee": "deg"}
HEADER = ["time [s]", "knee [deg]", "knee_moment [N m]", "hip_on_femur_in_ground_fx [N]"]
READERS = {".csv": pd.read_csv, ".xlsx": pd.read_excel, ".parquet": pd.read_parquet}


@pytest.mark.parametrize("suffix", READERS)
def test_headers_tell_units_and_numbers_stay(tmp_path, suffix):
    save_table(TABLE, tmp_path / f"a{suffix}", units={})
    found = READERS[suffix](tmp_path / f"a{suffix}")
    assert list(found.columns) == HEADER
    np.testing.assert_array_equal(found.to_numpy(), TABLE.reset_index().to_numpy())


def test_matlab_reads_numbers_names_and_units(tmp_path):
    save_table(TABLE.assign(word="x"), tmp_path / "a.mat")
    found = loadmat(tmp_path / "a.mat", simplify_cells=True)
    np.testing.assert_array_equal(found["data"], TABLE.reset_index().to_numpy())
    assert list(found["names"]) == ["time", *TABLE.columns]
    assert list(found["units"]) == ["s", "deg", "N m", "N"]


def test_motions_bring_their_units(tmp_path):
    motion = mq.simulate(mq.load_model("two_link"), duration=0.02, step=1e-2).to_motion()
    units = column_units(motion.to_dataframe())
    assert (units["q.A.Q0"], units["u.A.omega_x"]) == ("1", "rad/s")
    assert column_units(motion.angles(in_degrees=True)) is not None


def test_other_endings_and_existing_files_are_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"a table is written as \.csv, \.xlsx, \.mat, \.parquet, not \.txt"):
        save_table(TABLE, tmp_path / "a.txt", units={})
    save_table(TABLE, tmp_path / "a.csv", units={"knee": "degrees"})
    assert (tmp_path / "a.csv").read_text().startswith("time [s],knee [degrees],")
    with pytest.raises(FileExistsError):
        save_table(TABLE, tmp_path / "a.csv", units={})
