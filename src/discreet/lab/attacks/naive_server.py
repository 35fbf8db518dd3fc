"""A naive server: it answers SQL exactly, or with a defence that does not protect. For contrast, never for use.

    >>> import pyarrow as pa
    >>> from discreet.lab.attacks.targets import Web
    >>> from discreet.lab.attacks.naive_server import Naive
    >>> with Naive(pa.table({"id": [0, 1, 2], "secret": [1, 0, 1]})) as server:
    ...     Web(server.url).ask("SELECT SUM(secret) FROM people")
    [(2,)]

It listens on this machine only. It runs what it is sent, in a DuckDB that can reach nothing but its one table.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from discreet.core.coins import SYSTEM
from discreet.errors import Refusal
from discreet.lab.attacks.defences import Sticky
from discreet.lab.sampling import uniform

__all__ = ["Naive"]

MAX_QUESTION_BYTES = 1 << 20  # bytes of a question


class Naive:
    """Serve one Arrow table, `people`, over HTTP.

    `smallest`: counts below it, or above all people less it, are refused (the rule that trackers circumvent).
    `noise`: uniform noise within ± so much on every number, fresh, or `sticky`: the same for the same text.
    """

    def __init__(self, table: Any, *, smallest: int = 0, noise: float = 0, sticky: bool = False, port: int = 0) -> None:
        import duckdb  # noqa: PLC0415

        self.smallest, self.bound, self.size = smallest, noise, table.num_rows
        self.asked = 0
        self._sticky = Sticky(bound=noise) if sticky else None
        self._base = duckdb.connect(config={"threads": 1})
        self._base.register("given", table)
        self._base.execute("CREATE TABLE people AS SELECT * FROM given")
        self._base.unregister("given")
        for setting in ("enable_external_access = false", "lock_configuration = true"):
            self._base.execute(f"SET {setting}")
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of the answer, as an HTTP client gets them: the server is itself a `Host`."""
        self.asked += 1
        with self._base.cursor() as cursor:
            rows = cursor.execute(sql).fetchall()
        if self.smallest and len(rows) == 1 and len(rows[0]) == 1 and not self._allowed(rows[0][0]):
            raise Refusal(
                "too few people, or too many.", code="wrong-argument", instead=f"ask about at least {self.smallest}"
            )
        return [tuple(self._respond(value, sql) for value in row) for row in rows]

    def _allowed(self, value: Any) -> bool:
        return value is None or self.smallest <= value <= self.size - self.smallest

    def _respond(self, value: Any, sql: str) -> Any:
        if not self.bound or not isinstance(value, (int, float)):
            return value
        if self._sticky is not None:
            return float(value) + self._sticky.noise(sql.encode())
        return float(value) + self.bound * (2 * float(uniform(1, SYSTEM)[0]) - 1)

    def __enter__(self) -> Naive:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._base.close()


def _handler(naive: Naive) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body in one packet: two would wait for each other

        def do_POST(self) -> None:
            try:
                length = int(self.headers.get("Content-Length", 0))
                sql = json.loads(self.rfile.read(min(length, MAX_QUESTION_BYTES)))["sql"]
                self._say(200, {"rows": naive.ask(sql)})
            except Refusal as refusal:
                self._say(403, {"error": refusal.reason})
            except Exception as problem:  # naive: it tells whatever went wrong
                self._say(400, {"error": str(problem)})

        def _say(self, status: int, said: dict[str, Any]) -> None:
            body = json.dumps(said, default=float).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: Any) -> None:
            """Log nothing."""

    return Handler
