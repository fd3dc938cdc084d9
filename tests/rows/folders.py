"""Folders of encoded rows, written as `dpcore.rows.folder` reads them."""

import hashlib
import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st
from tables import SMALL

from dpcore.rows import writing


def write(folder, schema, codes, numbers=None, cuts=()):
    """Write a folder with a part between each two positions in `cuts`; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    ends, parts = [0, *cuts, len(codes)], []
    for start, stop in pairwise(ends):
        columns = {f"c{j}": np.ascontiguousarray(codes[start:stop, j]) for j in range(len(schema))}
        columns |= {f"n{j}": np.asarray(values, dtype=float)[start:stop] for j, values in (numbers or {}).items()}
        path = folder / f"part-{len(parts):05d}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=50)
        parts.append({"file": path.name, "rows": stop - start, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
    manifest = {"format": "dpcore rows 1", "schema": json.loads(schema.to_json()), "rows": len(codes), "parts": parts}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "sources": {}}), encoding="utf-8")
    return folder


def views_of(pair, data):
    """Apply up to three random look-ups or splits to rows in memory and in a folder."""
    for _ in range(data.draw(st.integers(0, 3))):
        now, way = pair[0].sizes, data.draw(st.sampled_from(["recoded", "derived", "split"]))
        rng, index = np.random.default_rng(data.draw(st.integers(0, 99))), data.draw(st.integers(0, len(now) - 1))
        if way == "recoded":
            sources = rng.integers(0, len(now), 3).tolist()
            pair = [one.recode([4, 2, 2], [(j, np.arange(now[j]) % 2) for j in sources]) for one in pair]
        elif way == "derived":
            rule = rng.integers(0, 3, (now[index], now[0]))
            pair = [one.look_up((*now, 3), [*range(len(now)), ([index, 0], rule)]) for one in pair]
        else:
            parts = [one.split(index) for one in pair]
            assert len(parts[0]) == len(parts[1]) == now[index]
            assert [*map(len, parts[0])] == [*map(len, parts[1])]
            code = data.draw(st.integers(0, now[index] - 1))
            pair = [found[code] for found in parts]
    return pair


def encoded(index, frame, part, **how):
    """Encode the rows of the small schema in parts of `part` rows."""
    frame.to_parquet(index / "rows.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "GROUP", 50)
        patch.setattr(writing, "PART", part)
        return writing.encode_folder(index / "rows.parquet", index / "codes", schema=SMALL, **how)
