"""Folders of encoded rows, written as `dpcore.rows.folder` reads them."""

import hashlib
import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write(folder, schema, codes, numbers=None, cuts=()):
    """A folder with a part between each two cuts of the rows; returns it."""
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
