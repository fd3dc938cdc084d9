"""The command `dpcore`: what it understands, and that all of config.toml is in force wherever it is started."""

import json
import os
import re
import runpy
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import joblib
import pytest
from streamlit.web import cli

import dpcore
from dpcore.dashboard.__main__ import configured, main
from dpcore.errors import ParameterError

ROOT = Path(__file__).resolve().parents[2]
SERVED = ROOT / "dpcore" / "dashboard" / "served.py"
# Stands in for the server, at the moment at which it would begin to listen.
TOLD = """
import json, sys
from streamlit import get_option
from streamlit.web import bootstrap
from dpcore.dashboard.__main__ import main
names = json.loads(sys.argv.pop())
bootstrap.run_asgi_app = lambda script, *_: print(json.dumps([script, {name: get_option(name) for name in names}]))
sys.exit(main())
"""
OTHERWISE = {
    "server": {"address": "0.0.0.0", "enableXsrfProtection": False, "maxUploadSize": 900},
    "client": {"showErrorDetails": "full", "showErrorLinks": "true"},
    "runner": {"magicEnabled": True, "fastReruns": True},
    "browser": {"gatherUsageStats": True},
}


def run(folder: Path, code: str, *arguments: str, **environment: str) -> str:
    """What a new process prints that is started in that folder, which knows nothing of where the project is."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}", *arguments]
    known = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def declared() -> dict[str, object]:
    """The options of config.toml by their full names; sections have at most two parts."""
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    found: dict[str, object] = {}
    for section, options in config.items():
        for name, value in options.items():
            deeper = value if isinstance(value, dict) else {"": value}
            found |= {f"{section}.{name}.{key}".rstrip("."): option for key, option in deeper.items()}
    return found


def options_of_a_server(folder: Path, *arguments: str, **environment: str) -> dict[str, object]:
    names = json.dumps([*declared(), "server.port", "server.headless"])
    script, found = json.loads(run(folder, TOLD, *arguments, names, **environment))
    assert Path(script) == SERVED
    lists = {name for name, value in declared().items() if isinstance(value, list)}
    return {
        name: json.loads(value) if name in lists and isinstance(value, str) else value for name, value in found.items()
    }


def test_every_option_is_in_force_where_files_and_variables_say_otherwise(tmp_path):
    lines = [
        f"{name} = {json.dumps(value)}" if name else f"[{section}]"
        for section, options in OTHERWISE.items()
        for name, value in [("", ""), *options.items()]
    ]
    for home in (tmp_path, tmp_path / "folder"):
        (home / ".streamlit").mkdir(parents=True)
        (home / ".streamlit" / "config.toml").write_text("\n".join(lines), encoding="utf-8")
    variables = {
        "_".join(["STREAMLIT", section, *re.split("(?=[A-Z])", name)]).upper(): str(value)
        for section, options in OTHERWISE.items()
        for name, value in options.items()
    }
    assert variables["STREAMLIT_CLIENT_SHOW_ERROR_DETAILS"] == "full"
    found = options_of_a_server(tmp_path / "folder", HOME=str(tmp_path), USERPROFILE=str(tmp_path), **variables)
    assert {name: found[name] for name in declared()} == declared()
    assert found["server.address"] == "127.0.0.1"
    assert found["runner.fastReruns"] is False  # nothing runs beside a page that begins a run


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command writes down for the server what was asked for."""
    monkeypatch.setattr(os, "environ", {k: v for k, v in os.environ.items() if not k.startswith("DPCORE_")})


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Streamlit is started with."""
    found: list[str] = []
    monkeypatch.setattr(cli, "main", lambda words, **_: found.extend(words))
    return found


def test_what_is_asked_for_wins_and_is_said_once(handed):
    for asked, given in (
        ([], {}),  # Streamlit looks for a free port
        (["--port", "8600"], {"server.port": "8600"}),
        (["--port=8600", "--no-browser"], {"server.port": "8600", "server.headless": "true"}),
        (["--server.port", "8601", "--port", "8600"], {"server.port": "8601"}),
        (["--browser.serverAddress", "a=b"], {"browser.serverAddress": "a=b"}),
        (["--theme.chartCategoricalColors", '["red"]'], {"theme.chartCategoricalColors": '["red"]'}),
    ):
        handed.clear()
        assert main(asked) == 0
        assert handed[:2] == ["run", str(SERVED)]
        flags = [name.removeprefix("--") for name in handed[2::2]]
        assert len(flags) == len(set(flags))
        ours = {name: value for name, (value,) in configured().items()}
        assert dict(zip(flags, handed[3::2], strict=True)) == ours | given, asked
    main(["--server.customComponentPathAllowlist", "a", "--server.customComponentPathAllowlist=b"])
    assert handed[-4:] == [word for value in "ab" for word in ("--server.customComponentPathAllowlist", value)]


def test_the_command_marks_a_server_that_only_this_computer_reaches(handed, monkeypatch):
    for asked, before, own in (
        ([], {}, "1"),
        (["--server.address", "::1"], {}, "1"),
        (["--server.address", "0.0.0.0"], {"LOCAL": "1"}, "0"),
        (["--server.address", "localhost", "--server.address", "0.0.0.0"], {}, "0"),
        (["--hosted"], {"LOCAL": "1"}, "0"),
        (["--public", "https://dp.example.org"], {}, "0"),
        ([], {"PUBLIC": "https://dp.example.org"}, "0"),
    ):
        monkeypatch.setattr(os, "environ", {f"DPCORE_{name}": value for name, value in before.items()})
        assert main(asked) == 0
        assert os.environ["DPCORE_LOCAL"] == own, (asked, before)


def test_comparisons_of_visitors_have_as_many_workers_as_the_limit(handed):
    assert main(["--hosted", "--limits", "processes=1"]) == 0
    assert joblib.effective_n_jobs(-1) == 1


def test_what_is_not_understood_is_said_with_a_remedy(capsys):
    for asked, cause, remedy in (
        (["--port", "99999"], "'99999'", "65535"),
        (["--port", "²"], "'²'", "65535"),
        (["--port"], "--port", "argument"),
        (["--prot", "8600"], "'--prot'", "dpcore --help"),
        (["--server.port", "--no-browser"], "--server.port", "--server.port VALUE"),
        (["--server.prot", "8600"], "--server.prot", "--server.port"),
        (["--server.maxUploadSize", "much"], "'much'", "dpcore --help"),
        (["--hosted", "--limits", "hours=1"], "'hours=1'", "name=number"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(asked)
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert cause in said
        assert remedy in said
        assert "Traceback" not in said


def test_whoever_asks_for_a_log_in_gets_no_server_that_asks_nobody(handed, capsys, monkeypatch):
    def refused(*words):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert "let a proxy" in capsys.readouterr().err

    refused("--hosted", "--login")
    monkeypatch.setenv("DPCORE_LOGIN", "1")
    refused("--hosted")
    with pytest.raises(ParameterError, match="let a proxy"):
        runpy.run_path(str(SERVED))
    assert handed == []
    monkeypatch.setenv("DPCORE_LOGIN", "0")
    assert main([]) == 0


def test_a_port_that_is_taken_is_refused_before_anything_starts(handed, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit):
        main(["--port", str(taken.getsockname()[1])])
    assert "--port" in capsys.readouterr().err
    assert handed == []


def test_help_and_version_do_not_wait_for_what_is_large(tmp_path):
    code = "import sys\nfrom dpcore.dashboard.__main__ import main\nmain(['version'])\ntry:\n    main(['--help'])\n"
    code += "except SystemExit as ended:\n    print(ended.code, {'streamlit', 'pandas'} & {*sys.modules})\n"
    said = run(tmp_path, code)
    assert said.startswith(f"dpcore {dpcore.__version__}\n")
    assert "--no-browser" in said
    assert said.endswith("\n0 set()\n")
