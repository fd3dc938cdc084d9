"""Pictures: a tidy frame of aggregates in, one Altair chart out. Nothing here sees rows of data.

Four rules hold for every chart.

- Text from users (columns, categories) is only ever a data value or a plain title: never a field,
  an expression, or the title of a tooltip. Vega reads `a.b[0]` as a path, and its tooltips make an
  `<img>` of what is titled "image".
- Real data are grey, the release is blue, a paper's claim is orange; each has its own shape or
  place too. These colors have a contrast of about 4 with white and with Streamlit's dark page, and
  letters one of 4.5, which a test measures.
- What is compared from release to release keeps its axis: distances and accuracies go from 0 to 1,
  whatever they are.
- Only finite numbers reach a chart: an infinite epsilon is a striped bar with a break, others are
  left out.

What a chart says is in `pictures.toml`. It is as wide as its container, but one with panels cannot
be: its `width` is the pixels of one panel, and the page stretches its picture. `chart.description`
is the alternative text. `specification` converts a chart, and nothing else does.
"""

from dpcore.charts.answers import answers
from dpcore.charts.base import class_size, mark_real, on_phones, specification
from dpcore.charts.curves import comparison_chart, curves, error_by_range, forecast_bands, sweep
from dpcore.charts.epsilon import (
    claimed_vs_bound,
    epsilon_split,
    forest_budget,
    known_epsilon,
    odds_icons,
    staircase,
)
from dpcore.charts.matrices import affinity, channel_matrix, confusion, pair_heatmap, pair_tables
from dpcore.charts.mechanisms import (
    average_errors,
    averaging,
    belief,
    choice_ratios,
    coin_estimates,
    crowd,
    descriptions,
    election,
    loss_sums,
    possible_numbers,
    running_average,
    split_table,
    tails,
    telltale,
    votes,
)
from dpcore.charts.network import frameworks, graph, network, trust
from dpcore.charts.releases import (
    accuracy,
    classifier_scores,
    costs,
    importance,
    marginal,
    redraws,
    reported_numbers,
    reported_shares,
    run_strips,
    steps,
    worst_columns,
    worst_pairs,
)
from dpcore.charts.trees import (
    count_tree,
    forest_tree,
    level_errors,
    range_answers,
    taxonomy,
)
from dpcore.charts.worlds import (
    answer_strip,
    game_scores,
    group_strips,
    ratio_band,
    round_worlds,
    share_found,
    share_right,
    two_worlds,
    world_piles,
    world_ratios,
)
from dpcore.text import odds

__all__ = [
    "accuracy", "affinity", "answer_strip", "answers", "average_errors", "averaging", "belief", "channel_matrix",
    "choice_ratios", "claimed_vs_bound", "class_size", "classifier_scores", "coin_estimates", "comparison_chart",
    "confusion", "costs", "count_tree", "crowd", "curves", "descriptions", "election", "epsilon_split",
    "error_by_range", "forecast_bands", "forest_budget", "forest_tree", "frameworks", "game_scores", "graph",
    "group_strips", "importance", "known_epsilon", "level_errors", "loss_sums", "marginal", "mark_real", "network",
    "odds", "odds_icons", "on_phones", "pair_heatmap", "pair_tables", "possible_numbers", "range_answers",
    "ratio_band", "redraws", "reported_numbers", "reported_shares", "round_worlds", "run_strips", "running_average",
    "share_found", "share_right", "specification", "split_table", "staircase", "steps", "sweep", "tails", "taxonomy",
    "telltale", "trust", "two_worlds", "votes", "world_piles", "world_ratios", "worst_columns", "worst_pairs",
]  # fmt: skip
