"""The SQLite database of the store: opened, locked, with errors in words.

Several processes may write, one transaction after the other, and others can read meanwhile. SQLite's
write-ahead log keeps the database whole wherever a writer is killed. Each run has one writer, which holds a
lock on it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gradfuzz.errors import StoreError
from gradfuzz.fuzzer.results.records import OLDEST, TOO_OLD
from gradfuzz.fuzzer.store.locks import Lock

_APPLICATION = 0x67726466
"""The application id in the head of the file."""

_TABLES = """
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        began TEXT NOT NULL,
        settings TEXT NOT NULL,
        complete INTEGER NOT NULL DEFAULT 0,
        started TEXT NOT NULL,
        progress TEXT,
        finished TEXT,
        review TEXT
    );
    CREATE TABLE findings (
        run INTEGER NOT NULL REFERENCES runs (number),
        signature TEXT NOT NULL,
        id TEXT NOT NULL,
        target TEXT NOT NULL,
        place INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (run, signature)
    );
    CREATE INDEX findings_by_id ON findings (id);
    CREATE TABLE fixed (signature TEXT PRIMARY KEY, run INTEGER NOT NULL);
    CREATE TABLE work (
        run INTEGER NOT NULL REFERENCES runs (number),
        key TEXT NOT NULL,
        result BLOB NOT NULL,
        PRIMARY KEY (run, key)
    );
    """
VERSION = 2
"""The version of a database with these tables; a new one has version 0 and none."""

_WAITS = 60.0
"""Seconds until another process that writes has to be done; a transaction takes milliseconds."""

_IN_WORDS = {
    sqlite3.SQLITE_FULL: "there is no space left for it; free some, then go on with --resume",
    sqlite3.SQLITE_READONLY: "it may not be written; give another one with --store, or none with --no-store",
    sqlite3.SQLITE_CANTOPEN: (
        "it cannot be opened; is the folder there, and may it be written? Give another one with --store"
    ),
    sqlite3.SQLITE_NOTADB: "this is no database; move it away, or give another one with --store",
    sqlite3.SQLITE_CORRUPT: "the database is damaged; move it away, or give another one with --store",
    sqlite3.SQLITE_BUSY: "another gradfuzz writes to it; wait for that, or give another one with --store",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; is there space left?",
}
"""What to do about an error, by SQLite's primary code."""

_PRIMARY = 0xFF
"""The primary part of SQLite's codes; the rest says where in SQLite the error was noticed."""


class Database:
    """A connection. Methods raise `StoreError` in words where file, disk or permissions do not allow them."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path = path
        self._locks: dict[str, Lock] = {}
        self._connection: sqlite3.Connection | None = None
        try:
            with self._told():
                self._open(write=write)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends reading and writing, and releases what was held."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()

    def hold(self, what: str) -> bool:
        """Whether this process alone holds `what`, until it closes the database."""
        with self._told():
            lock = self._lock(what)
            if what not in self._locks and lock.take():
                self._locks[what] = lock
            return what in self._locks

    def is_held(self, what: str) -> bool:
        """Whether some process holds `what`."""
        if what in self._locks:
            return True
        with self._told(), self._lock(what) as lock:
            return not lock.take()

    def _lock(self, what: str) -> Lock:
        return Lock(self.path.with_name(f"{self.path.name}.{what}.lock"))

    # Opening

    def _open(self, *, write: bool) -> None:
        if write:
            self._make_folder()
            with self._lock("opening") as lock:
                if not lock.take(_WAITS):
                    raise self._error(_IN_WORDS[sqlite3.SQLITE_BUSY])
                self._connection = _connected(self.path, "rwc")
                self._prepare(self._connection)
        elif not self.path.is_file():
            raise self._error("there is no store; a sweep makes one, and --store says where it is")
        else:
            self._connection = self._reader()
            if self._version(self._connection) == 0:
                self._connection.close()
                Database(self.path, write=True).close()
                self._connection = self._reader()
        self._check(self._connection)

    def _make_folder(self) -> None:
        """Makes the folder; in the default one, a .gitignore hides it from git."""
        folder = self.path.parent
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            if folder.name == ".gradfuzz":
                (folder / ".gitignore").write_text("*\n", encoding="utf-8")

    def _reader(self) -> sqlite3.Connection:
        """Opens for reading, which needs a shared file; not in a read-only folder, which has no writer."""
        try:
            return self._readable()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            return self._readable("&immutable=1")

    def _readable(self, more: str = "") -> sqlite3.Connection:
        connection = _connected(self.path, "ro", more)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Makes the tables of a new database, in one transaction."""
        is_new = self._version(connection) == 0
        if is_new:
            connection.execute("PRAGMA auto_vacuum = FULL")
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if is_new:
            with self.transaction():
                for statement in filter(str.strip, _TABLES.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        if version is None:
            raise self._error("this is a database, but no store of gradfuzz; give another one with --store")
        if version > VERSION:
            versions = f"version {version}, known is {VERSION}"
            raise self._error(f"a newer gradfuzz made this store ({versions}); install that")
        old = "SELECT count(*) FROM runs WHERE started LIKE ?"
        schemas = [f'{{"schema": {k},%' for k in range(1, OLDEST)]
        if version < VERSION or any(connection.execute(old, (s,)).fetchone()[0] for s in schemas):
            raise self._error(f"this store is {TOO_OLD}")

    def _version(self, connection: sqlite3.Connection) -> int | None:
        """The store's version; 0 where it is empty: new, or its maker was killed early. None for a database
        that is no store.
        """
        queries = "PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema"
        application, version, tables = (connection.execute(query).fetchone()[0] for query in queries)
        if application == _APPLICATION:
            return int(version)
        return None if application or version or tables else 0

    def _error(self, words: str) -> StoreError:
        return StoreError(f"{self.path}: {words}")

    # Use

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""
        with self._told():
            assert self._connection is not None, "the database is open"
            return self._connection.execute(statement, values).fetchall()

    def execute(self, statement: str, *values: object) -> int:
        """Changes rows inside a `transaction`; returns the number of the row inserted last."""
        with self._told():
            assert self._connection is not None, "the database is open"
            return self._connection.execute(statement, values).lastrowid or 0

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes or none; they are on disk when it ends."""
        connection = self._connection
        assert connection is not None, "the database is open"
        with self._told():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
            raise self._error(_IN_WORDS.get(code, str(error))) from error
        except OSError as error:
            other = "give another one with --store, or none with --no-store"
            raise self._error(f"{error.strerror or error}; {other}") from error


def _connected(path: Path, mode: str, more: str = "") -> sqlite3.Connection:
    place = f"file:{quote(str(path.absolute()))}?mode={mode}{more}"
    return sqlite3.connect(place, uri=True, timeout=_WAITS, isolation_level=None)
