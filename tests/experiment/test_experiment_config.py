"""A sweep that is written down can be read back, and nothing else is read."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from small_sweeps import MEASURES, methods, without_times

from dpcore import experiment
from dpcore.errors import ParameterError
from dpcore.experiment import Config
from dpcore.methods import METHODS, PPNB, HMPrivBayes, JTree


def test_a_config_read_back_is_the_same_sweep(data, whole):
    config = Config(methods(), [0.5, 2.0], 2, MEASURES, skip=True)
    text = config.to_json(data)
    back = Config.from_json(text)
    assert back.to_json(data) == text
    frame = experiment.sweep(data=data, n_jobs=1, **back.asked)
    pd.testing.assert_frame_equal(without_times(frame), without_times(whole))
    for repeats in (2, 3):
        again = Config(methods(), [0.5, 2.0], repeats, MEASURES, skip=True).to_dict(data)["hash"]
        assert (json.loads(text)["hash"] == again) == (repeats == 2)


def test_every_method_can_be_written_down(data):
    every = {name: kind() for name, kind in METHODS.items()}
    every["odd"] = PPNB(factors=(np.float64(1.0), 2.0), pairs=None)
    every["edges"] = JTree(edges=(("age", "ill"),))
    back = Config.from_json(Config(every, [1.0]).to_json(data)).methods
    found, wanted = ({k: (type(one), one.get_params()) for k, one in named.items()} for named in (back, every))
    assert found == wanted
    with pytest.raises(ParameterError, match="cannot be written down"):
        Config({"a": HMPrivBayes(eta=math.inf)}, [1.0]).to_json(data)


def test_a_text_that_is_no_config_is_refused(data):
    sound = Config(methods(), [1.0], measures=MEASURES, skip=True).to_dict(data)
    texts = ["", "[]", "[" * 100_000, '{"format": "dpcore sweep 1"}']
    for place, values in {
        "format": ["dpcore schema 1"],
        "methods": [
            {},
            {"a": {"method": "os.system", "parameters": {}}},
            {"a": {"method": "NB-Synth", "parameters": {"fit": 1}}},
        ],
        "epsilons": [[0], ["1"], [True]],
        "repeats": [0, 1.5],
        "measures": [["beauty"]],
        "label": [{"column": "ill"}, {"column": "ill", "equals": 3, "below": None}],
        "skip": [1],
    }.items():
        texts += [json.dumps(sound | {place: value}) for value in values]
    Config.from_json(json.dumps(sound))
    for text in texts:
        with pytest.raises(ParameterError):
            pytest.fail(f"{text[:200]} was read as {Config.from_json(text)}")
