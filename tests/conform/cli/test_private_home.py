"""A clone in root's home: nobody else may go there, the gateway's user included."""

import shutil

import cellblock

PROGRAMS = ("cellblock", "cellblock-warden", "cellblock-gateway", "cellblock-init")


def test_serve_runs_from_a_folder_that_is_closed(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for program in PROGRAMS:
        shutil.copy(cellblock.BUILD / program, home)
    with cellblock.Serve(command=[home / "cellblock", "serve"]) as server:
        assert server.request("GET", "/api/kernelspecs")[0] == 200
