"""Private k-means as a scikit-learn estimator.

    >>> import numpy as np
    >>> from discreet.learn import KMeans
    >>> model = KMeans(n_clusters=2, epsilon="0.5", bounds=[(0, 120), (0, 1000)])
    >>> model.loss.pure                                   # known before anything is fitted
    Fraction(1, 2)
    >>> model.fit(np.zeros((0, 2))).cluster_centers_.shape    # empty data are no special case
    (2, 2)

The interface is scikit-learn's because pipelines and parameter searches expect it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.core.coins import SYSTEM
from discreet.core.exact import Number
from discreet.core.loss import Budget, Loss
from discreet.core.mechanism import Composition
from discreet.errors import NotUnderstood
from discreet.learn import plot as picture
from discreet.learn.domain import Box, Floats, Labels
from discreet.learn.method import Clustering, Method
from discreet.learn.noisy_lloyd import Lloyd
from discreet.learn.payment import Purse, charged
from discreet.learn.procedure import find_in_table
from discreet.learn.summary import Summary
from discreet.mechanisms.secret import read, to_float
from discreet.procedures.procedure import Seller

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KMeans", "NotPoints"]

MAX_COORDINATE = 1e150  # beyond it, squares overflow


class NotPoints(NotUnderstood, ValueError):
    """The input is not an array of points. Users of scikit-learn expect a ValueError."""


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Private k-means: k centres that depend little on any one unit. One row is one unit.

    `bounds` are public: (low, high) for all features or a pair for each. They are never read off the data; a point
    outside is moved to the border. `method` is "summary", or "lloyd" for the notes' algorithm; `rounds` how often the
    centres are moved (2, or 5), and `last` over how many of the notes' rounds they are averaged (2). `neighbours` and
    `unit` say what the loss is about. `budget` pays before the data are looked at: a `dp.Ledger`, as
    `analyst`; or a `dp.Budget`, the most that this estimator and its clones may spend together, in this process and
    since they were made. A budget is a number, not an account: two estimators that are given the same one, neither
    being a clone of the other, may spend as much each. A ledger is for whatever several of them share.

    A fitted estimator holds only what was released: `cluster_centers_`, `cluster_sizes_` (about how many rows
    are nearest to each), `center_noise_` (the standard deviation of the noise in each coordinate of a centre; infinite
    where a cluster was too small for its centre to be refined) and `cost_` (a `Loss`). There is no `labels_` and no
    `inertia_`: they would reveal single rows. `predict`, `transform` and `score` are computed from the points they are
    given, on the spot, and are as private as those.

    Rows with a NaN do not count; nothing is refused for its values, nor for the number of rows.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Number = 1,
        bounds: Any = None,
        method: str = "summary",
        rounds: int | None = None,
        last: int | None = None,
        neighbours: str = "add-remove",
        unit: str = "person",
        budget: Any = None,
        analyst: str = "",
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.bounds = bounds
        self.method = method
        self.rounds = rounds
        self.last = last
        self.neighbours = neighbours
        self.unit = unit
        self.budget = budget
        self.analyst = analyst

    # ── before any data ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def mechanism(self) -> Composition:
        """All releases of a fit, as one mechanism."""
        return self._method().mechanism

    @property
    def loss(self) -> Loss:
        """The privacy loss of a fit, for one unit."""
        return self.mechanism.loss

    @property
    def error(self) -> Any:
        """The error of each release."""
        return self.mechanism.error

    def _method(self) -> Method:
        if self.method == "lloyd":
            rounds = 5 if self.rounds is None else self.rounds
            last = min(2, rounds) if self.last is None and isinstance(rounds, int) else self.last
            return Lloyd(**self._terms(rounds), last=2 if last is None else last)
        if self.method != "summary":
            raise NotUnderstood(
                "there is no such method.", code="wrong-argument", instead='method="summary" or method="lloyd"'
            )
        if self.last is not None:
            raise NotUnderstood(
                "a summary averages no rounds.", code="wrong-argument", instead='leave last= out, or method="lloyd"'
            )
        return Summary(**self._terms(2 if self.rounds is None else self.rounds))

    def _terms(self, rounds: int) -> dict[str, Any]:
        return {"clusters": self.n_clusters, "epsilon": self.epsilon, "rounds": rounds,
                "neighbours": self.neighbours, "unit": self.unit}  # fmt: skip

    # ── fitting ──────────────────────────────────────────────────────────────────────────────────────────────

    def fit(self, X: Any, y: Any = None) -> KMeans:  # noqa: N803
        """Pay, look at the data, and keep what was released. Refusals depend on types, shapes and parameters only."""
        points = self._points(X, reset=True)
        method, box = self._method(), Box.of(self.bounds, points.shape[1])
        mechanism = charged(method.mechanism, self.budget, self._shared(), self.analyst)
        return self._keep(method.run(box, points, mechanism.parts, SYSTEM), box, mechanism.loss, method)

    def fit_table(self, curator: Seller, table: str, columns: Sequence[str]) -> KMeans:
        """Fit columns of a table that a curator holds, with its units, contribution bounds and column bounds.

        Every step is a question to the curator, who charges its own ledger for it, ε in all; bounds are those that the
        owner declared, so `bounds` is refused, and `neighbours` and `unit` are those of the data, not the parameters.
        Rows where one of the columns is NULL do not count.
        """
        method = self._method()
        if not isinstance(method, Summary):
            raise NotUnderstood("tables are summarised.", code="wrong-argument", instead='leave method="lloyd" out')
        if self.bounds is not None:
            raise NotUnderstood(
                "the bounds of a table's columns are those that are declared.",
                code="wrong-argument",
                instead="leave bounds= out",
            )
        session = curator.session(analyst=self.analyst)
        found, box, cost = session.run(lambda context: find_in_table(method, context, table, columns))
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(columns, dtype=object)
        return self._keep(found, box, cost, method)

    def fit_predict(self, X: Any, y: Any = None) -> Labels:  # noqa: N803
        """Fit, then return the index of the nearest centre for each row: one label per unit, which is not private."""
        return self.fit(X).predict(X)

    def _keep(self, found: Clustering, box: Box, cost: Loss, method: Method) -> KMeans:
        self.cluster_centers_, self.cluster_sizes_, self.center_noise_ = found.centres, found.sizes, found.noise
        self.bounds_ = np.array([[float(end) for end in side] for side in box.sides])
        self.cost_, self.n_iter_ = cost, method.rounds
        return self

    def _shared(self) -> Purse:
        """The amount of budgets that this estimator and its clones have spent, whichever budgets those were.

        It never falls.
        """
        purse: Purse = self.__dict__.setdefault("_purse", Purse())  # atomic, so that threads share it
        return purse

    def __sklearn_clone__(self) -> KMeans:
        """Return an unfitted copy that spends from the same budget or ledger."""
        twin = type(self)(**self.get_params(deep=False))
        twin._purse = self._shared()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for `copy.copy`, whose copy shares the purse.

        Pickling and deep copies are refused if there is a budget or something was spent, as they would copy the purse.
        """
        purse = self._shared()
        state: dict[str, Any] = super().__getstate__() | {"_purse": purse}
        if not isinstance(self.budget, Budget) and purse.spent == Loss.ZERO:
            del state["_purse"]
        return state

    # ── with points that are given ───────────────────────────────────────────────────────────────────────────

    def predict(self, X: Any) -> Labels:  # noqa: N803
        """Return the index of the nearest centre for each row."""
        labels: Labels = np.argmin(self.transform(X), axis=1)
        return labels

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Return the distance of each row from each centre. NaN is read as the mean of the centres in that feature."""
        check_is_fitted(self)
        centres = self.cluster_centers_
        points = self._points(X, reset=False)
        points = np.clip(np.where(np.isnan(points), centres.mean(axis=0), points), -MAX_COORDINATE, MAX_COORDINATE)
        return np.stack([np.linalg.norm(points - each, axis=1) for each in centres], axis=1)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Return minus the sum of squared distances to the nearest centres."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    def plot(self, X: Any = None) -> Figure:  # noqa: N803
        """Plot two features: regions, centres, sizes and noise; with `X`, points that may be shown, those too."""
        check_is_fitted(self)
        if self.n_features_in_ != 2:
            raise NotUnderstood(
                "a picture has two features.", code="wrong-argument", instead="choose two columns, and fit those"
            )
        points = None if X is None else self._points(X, reset=False)
        return picture.draw(self, points)

    # ── scikit-learn ─────────────────────────────────────────────────────────────────────────────────────────

    def _points(self, given: Any, *, reset: bool) -> Floats:
        """Read rows of numbers; refuse by types and shape only, never by values."""
        if type(given).__module__.partition(".")[0] == "scipy":
            raise NotPoints("a sparse matrix is not read.", code="wrong-argument", instead="pass X.toarray()")
        array = _array(given)
        if array.dtype.kind == "c":
            raise NotPoints("Complex data not supported.", code="wrong-argument", instead="pass real numbers")
        if array.ndim != 2 or array.shape[1] < 1:
            raise NotPoints(
                "Expected 2D array, with a row for each point and one column or more. Reshape your data.",
                code="wrong-argument",
                instead="pass X.reshape(-1, 1) for one feature",
            )
        validate_data(self, given if hasattr(given, "columns") else array, reset=reset, skip_check_array=True)
        if array.dtype.kind == "O":
            array = np.array([to_float(each) for each in array.flat]).reshape(array.shape)
        return array.astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def _array(given: Any) -> NDArray[Any]:
    """Read numbers by their types; True and False are one and zero."""
    try:
        array = np.asarray(given) if hasattr(given, "__array__") else np.array(given, object)
    except (TypeError, ValueError):
        array = np.array(None, object)
    if array.dtype.kind == "O":
        array = array.copy()
        for index, value in enumerate(array.flat):
            if isinstance(value, (bool, np.bool_)):
                array.flat[index] = int(value)
    if array.dtype.kind in "biufc":
        return array.astype(np.int64) if array.dtype.kind == "b" else array
    try:
        return read(array, missing=True)
    except NotUnderstood:
        raise NotPoints(
            "points are rows of numbers, and some of these are none.",
            code="wrong-argument",
            instead="leave columns of texts and dates out, or write them as numbers: 0 and 1 for each of two values",
        ) from None
