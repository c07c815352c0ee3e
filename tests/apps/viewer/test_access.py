"""Access to the viewer's server: the page at its own address, and no other. Over real connections to this
machine.
"""

import http.client
import math
import socket
import threading
import time

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.data.motions import Motion

pytest.importorskip("viser", reason="needs the extra view")

import msgspec
import viser
from viser import _messages
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from myoquat.apps.viewer import view
from myoquat.apps.viewer.window import Access, is_within

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries below the viewer


@pytest.fixture(scope="module")
def viewer():
    viewer = view(load_model("two_link"), browser=False, port=0)
    yield viewer
    viewer.close()


def connected(viewer, host=None, origin=None, path=None):
    """A WebSocket as a page opens it: the headers tell an address, the connection goes to this machine."""
    port = viewer.server.get_port()
    host = f"localhost:{port}" if host is None else host.format(port=port)
    origin = f"http://localhost:{port}" if origin is None else origin.format(port=port)
    path = f"/{viewer.access.token}" if path is None else path
    return connect(
        f"ws://{host}{path}",
        sock=socket.create_connection(("127.0.0.1", port), timeout=20),
        origin=origin or None,
        subprotocols=[f"viser-v{viser.__version__}"],
        compression=None,
        max_size=None,
    )


def scene_of(viewer, host=None, origin=None, path=None):
    """The first message that a WebSocket gets: the scene."""
    with connected(viewer, host, origin, path) as connection:
        return connection.recv(timeout=20)


def page_of(viewer, path, **headers):
    """(status, content) of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server.get_port(), timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "localhost:9999"])
def test_the_page_that_was_opened_gets_the_scene(viewer, host):
    """Through a tunnel with another port too."""
    assert len(scene_of(viewer, host, f"http://{host}")) > 100


OTHERS = [
    *({"origin": x} for x in ("http://evil.example", "https://localhost:{port}", "http://localhost:1", "null", "")),
    # A foreign name that was made to point here, whose page has the same origin
    *({"host": host, "origin": f"http://{host}"}
      for host in ("evil.example:{port}", "localhost.evil.example", "192.168.0.7:{port}")),
    *({"path": path} for path in ("", "/", "/other", "/?token", "/%00")),
]  # fmt: skip


@pytest.mark.parametrize("given", OTHERS, ids=str)
def test_other_origins_hosts_and_paths_are_rejected(viewer, given):
    with pytest.raises(InvalidStatus, match="403"):
        scene_of(viewer, **given)
    if "path" in given:
        assert page_of(viewer, given["path"] or "/")[0] == 403


def test_a_token_that_is_off_by_a_character_is_rejected(viewer):
    token = viewer.access.token
    for wrong in (token[:-1], token + "x", token.swapcase(), "é" + token[1:]):
        assert viewer.access.refusal(f"/{wrong}", ["localhost"], [], False) is not None
    assert viewer.access.refusal(f"/{token}/", ["localhost"], [], False) is None


def test_the_page_is_served_at_its_address_alone(viewer):
    path = f"/{viewer.access.token}/"
    assert viewer.url.endswith(path)
    status, content = page_of(viewer, path)
    assert status == 200
    assert b"<html" in content[:2000].lower()
    assert page_of(viewer, path, Host="evil.example")[0] == 403
    assert page_of(viewer, path, Origin="http://evil.example")[0] == 403
    assert page_of(viewer, f"/..{path}")[0] == 403
    assert page_of(viewer, f"{path}../secret")[0] == 404


def test_the_server_listens_at_this_machine_alone(viewer):
    assert viewer.server.get_host() == "127.0.0.1"


def test_every_viewer_has_a_token_of_its_own():
    assert len({Access().token for _ in range(20)}) == 20
    assert all(len(Access().token) >= 32 for _ in range(20))


def test_a_server_whose_requests_cannot_be_checked_is_an_error(monkeypatch):
    """Of another version of viser, which starts its server in another way."""
    monkeypatch.setattr(Access, "checks", False)
    with pytest.raises(RuntimeError, match="cannot be checked"):
        view("two_link", browser=False, port=0)


# ---- values of controls ----------------------------------------------------------------------------------------


CAMERA = _messages.ViewerCameraMessage(
    (1.0, 0, 0, 0), (0.0, 0, 0), 1.0, 0.1, 10.0, 60, 80, (1.0, 0, 0), (0.0, 0, 1.0)
)  # with which a window says that it is there


def value_after_update(viewer, handle, value):
    """Set the value of a control from a window; the value that it has when the viewer has dealt with that."""
    called, control = threading.Event(), handle._impl
    control.update_cb.append(lambda _: called.set())
    was = handle.value
    with connected(viewer) as connection:
        for message in (CAMERA, _messages.GuiUpdateMessage(control.uuid, {"value": value})):
            connection.send(msgspec.msgpack.encode(message.as_serializable_dict([])))
        assert called.wait(20)
        deadline, same = time.monotonic() + 20, 0
        while same < 5 and time.monotonic() < deadline:  # the panel answers in another thread, on a busy machine late
            time.sleep(0.01)
            same = same + 1 if handle.value == was else 0
    control.update_cb.pop()
    return handle.value


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308, -1e308, "nan", "1e300", 180.2])
def test_windows_set_no_coordinate_outside_its_range(viewer, value):
    """The slider goes back to where it was."""
    q, slider = viewer.q.copy(), viewer.panel.sliders[0]
    was = slider.value
    assert value_after_update(viewer, slider, value) == was
    assert (viewer.q == q).all()


def test_windows_set_coordinates_inside_their_range(viewer):
    viewer.panel.sliders[0].value = 30.0
    viewer.panel._turned()
    assert viewer.panel.pose.values(viewer.q)[0] == pytest.approx(30.0)


@pytest.mark.parametrize("value", [math.nan, 1e308, -0.1, "inf"])
def test_windows_set_no_activation_outside_its_range(viewer, value):
    assert value_after_update(viewer, viewer.panel.level, value) == viewer.activation == 0.0


@pytest.mark.parametrize("value", ["many", "", 3])
def test_windows_choose_no_colour_that_does_not_exist(viewer, value):
    assert value_after_update(viewer, viewer.panel.color, value) == viewer.color == "activation"


@pytest.mark.parametrize("value", ["0.5", None, True, [0.5], {}, 1j, math.nan])
def test_values_of_another_type_are_within_no_range(value):
    assert not is_within(value, 0.0, 1.0)


@pytest.mark.parametrize("instance", [-1, 10**9, None, "0", 1.5])
def test_clicks_name_pieces_that_exist(viewer, instance):
    before = viewer.panel.named.content
    viewer.panel._name(instance)
    assert viewer.panel.named.content == before


def test_windows_set_no_time_and_no_speed_that_does_not_exist():
    model = load_model("two_link")
    viewer = view(model, Motion(model, [0.0, 1.0], np.tile(model.start, (2, 1))), browser=False, port=0)
    try:
        for value in (math.nan, 1e308, -5.0):
            assert value_after_update(viewer, viewer.panel.clock, value) == 0.0
            assert viewer.time == 0.0
        assert value_after_update(viewer, viewer.panel.speed, "1e308") == "1"
        assert viewer.speed == 1.0
    finally:
        viewer.close()


# ---- files -----------------------------------------------------------------------------------------------------


def test_files_that_exist_are_replaced_only_on_request(viewer, tmp_path, monkeypatch):
    monkeypatch.setattr(viewer, "pixels", lambda *_: np.zeros((4, 6, 4), dtype=np.uint8))
    monkeypatch.setattr(viewer, "pictures", lambda *_: iter(np.zeros((2, 4, 6, 4), dtype=np.uint8)))
    for write, name in ((viewer.html, "a.html"), (viewer.picture, "a.png"), (viewer.picture, "a.jpg"),
                        (viewer.film, "a.gif")):  # fmt: skip
        file = tmp_path / name
        file.write_text("mine")
        with pytest.raises(FileExistsError, match="overwrite=True"):
            write(file)
        assert file.read_text() == "mine"
        write(file, overwrite=True)
        assert file.stat().st_size > 10
    with pytest.raises(ValueError, match=r"pictures are saved as \.png, \.jpg or \.jpeg, not"):
        viewer.picture(tmp_path / "a.txt")
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("port", [-1, 65536, 80.5, "8080", True])
def test_ports_that_do_not_exist_are_rejected(port):
    """The server, in a thread of its own, ended without a word, and `view` waited for it without end."""
    with pytest.raises(ValueError, match="port must be an integer from 0 to 65535"):
        view("two_link", browser=False, port=port)
