"""What a notebook and a terminal show of schemas, ledgers and releases."""

from dpcore import IndependentMarginals, export


def test_texts_are_short_and_tables_escape_what_files_say(small_frame, small_schema):
    rows = IndependentMarginals(delta=1e-9, relation="replace").fit(small_frame, schema=small_schema)
    release = export.make_release(rows, "<i>Mine</i>", rows.sample(9), data_name="<script>")
    void = IndependentMarginals(relation="replace", random_state=1).fit(small_frame, schema=small_schema).ledger_
    assert repr(small_schema) == "Schema(5 columns, target 'ill', declared, at most 1,000 rows)"
    assert repr(small_schema["age"]) == "Column('age', integer, 0 to 99, 10 bins)"
    assert "claimed: 1, nominal: 1, proven at most 1 at delta = 1e-09, replace one row, 5" in repr(rows.ledger_)
    assert "cannot be proven (guarantee void)" in repr(void)
    assert repr(release).startswith("Release('<i>Mine</i>', corrected, epsilon claimed: 1")
    html = small_schema._repr_html_() + release._repr_html_() + rows.ledger_._repr_html_() + void._repr_html_()
    for text in ("x, y, &lt;b&gt;z&lt;/b&gt;, or missing", "&lt;i&gt;Mine", "&lt;script&gt;", "rho nominal", "seed"):
        assert text in html
    assert not any(text in html for text in ("<b>z", "<script", "<i>"))
    lines = repr(rows.ledger_.to_frame()).split("\n")
    assert lines[0].split() == ["name", "rho_claimed", "rho_nominal"]
    assert max(map(len, lines)) <= 80
