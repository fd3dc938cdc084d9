"""Test the command `dpcore`: its options, and that config.toml is in force from any folder."""

import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import joblib
import pytest
from streamlit.web import cli

from dpcore.dashboard.__main__ import flags_of_config, main
from dpcore.errors import ParameterError

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "dpcore" / "dashboard" / "server.py"
# Stands in for the server, at the moment at which it would begin to listen.
PRINT_OPTIONS = """
import json, sys
from streamlit import get_option
from streamlit.web import bootstrap
from dpcore.dashboard.__main__ import main
names = json.loads(sys.argv.pop())
bootstrap.run_asgi_app = lambda script, *_: print(json.dumps([script, {name: get_option(name) for name in names}]))
sys.exit(main())
"""
OTHERWISE = {
    "server.address": "0.0.0.0",
    "server.enableXsrfProtection": False,
    "client.showErrorDetails": "full",
    "runner.fastReruns": True,
    "browser.gatherUsageStats": True,
}


def test_config_overrides_other_files_and_variables(tmp_path):
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    del config["theme"]  # which only colors the page
    declared = {f"{section}.{name}": value for section in config for name, value in config[section].items()}
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in OTHERWISE.items())
    for home in (tmp_path, tmp_path / "folder"):
        (home / ".streamlit").mkdir(parents=True)
        (home / ".streamlit" / "config.toml").write_text(lines, encoding="utf-8")
    variables = {
        f"STREAMLIT_{re.sub('(?=[A-Z])|[.]', '_', name)}".upper(): str(value) for name, value in OTHERWISE.items()
    }
    known = {**os.environ, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-c", PRINT_OPTIONS, json.dumps([*declared])]
    script, found = json.loads(subprocess.check_output(command, cwd=tmp_path / "folder", env=known, timeout=120))
    assert Path(script) == SERVER
    assert found == declared
    assert found["server.address"] == "127.0.0.1"
    assert found["runner.fastReruns"] is False  # nothing runs beside a page that begins a run


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the variables that the command sets for the server."""
    monkeypatch.setattr(os, "environ", {k: v for k, v in os.environ.items() if not k.startswith("DPCORE_")})


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the arguments with which Streamlit is started."""
    found: list[str] = []
    monkeypatch.setattr(cli.main_run, "main", lambda words, **_: found.extend(words))
    return found


def test_a_given_option_overrides_the_file_and_is_passed_once(handed):
    for wanted, given in (
        ([], {}),  # Streamlit looks for a free port
        (["--port=8600", "--no-browser"], {"server.port": "8600", "server.headless": "true"}),
        (["--server.port", "8601", "--port", "8600"], {"server.port": "8601"}),
        (["--browser.serverAddress", "a=b"], {"browser.serverAddress": "a=b"}),
    ):
        handed.clear()
        main(wanted)
        assert handed[0] == str(SERVER)
        flags = [tuple(word.removeprefix("--").split("=", 1)) for word in handed[1:]]
        ours = {name: value for name, (value,) in flags_of_config().items()}
        assert sorted(flags) == sorted((ours | given).items()), wanted


def test_the_command_marks_a_server_that_only_this_computer_reaches(handed, monkeypatch):
    for wanted, before, own in (
        ([], {}, "1"),
        (["--server.address", "::1"], {}, "1"),
        (["--server.address", "0.0.0.0"], {"LOCAL": "1"}, "0"),
        (["--server.address", "localhost", "--server.address", "0.0.0.0"], {}, "0"),
        (["--hosted"], {"LOCAL": "1"}, "0"),
        ([], {"PUBLIC": "https://dp.example.org"}, "0"),
    ):
        monkeypatch.setattr(os, "environ", {f"DPCORE_{name}": value for name, value in before.items()})
        assert main(wanted) == 0
        assert os.environ["DPCORE_LOCAL"] == own, (wanted, before)


def test_comparisons_of_visitors_have_as_many_workers_as_the_limit(handed):
    assert main(["--hosted", "--limits", "processes=1"]) == 0
    assert joblib.effective_n_jobs(-1) == 1


def test_a_wrong_command_line_is_refused_with_a_remedy(capsys):
    for wanted, cause, remedy in (
        (["--port", "much"], "'much'", "--port"),
        (["--prot", "8600"], "'--prot'", "dpcore --help"),
        (["--server.prot", "8600"], "--server.prot", "--server.port"),
        (["--server.maxUploadSize", "much"], "'much'", "dpcore --help"),
        (["--hosted", "--limits", "hours=1"], "'hours=1'", "name=number"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(wanted)
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert cause in said
        assert remedy in said


def test_a_requested_log_in_prevents_an_open_server(handed, capsys, monkeypatch):
    def refused(*words):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert "let a proxy" in capsys.readouterr().err

    refused("--hosted", "--login")
    monkeypatch.setenv("DPCORE_LOGIN", "1")
    refused("--hosted")
    with pytest.raises(ParameterError, match="let a proxy"):
        runpy.run_path(str(SERVER))
    assert handed == []
