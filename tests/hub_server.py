"""A Hub on the loopback: what `huggingface_hub` needs to make, fill, list and load repositories."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kernelwright.rl.models.load import hub_answers

TOKEN = "hf_of_the_tests"
REPOSITORY = r"(?P<repo>[\w.-]+/[\w.-]+)"
API = rf"/api/(models|datasets)/{REPOSITORY}"


@dataclass
class Repository:
    private: bool
    commits: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def sha(self) -> str:
        return hashlib.sha1(str(len(self.commits)).encode()).hexdigest()


class Hub(ThreadingHTTPServer):
    """Holds every repository in memory."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, Repository] = {}
        self.refused_card = ""
        """Why every card is refused; empty where none is."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/api/validate-yaml":
            return self._validated()
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._json({"error": "Invalid username or password."}, 401)
        if self.path == "/api/repos/create":
            return self._create(json.loads(body))
        if found := re.match(rf"{API}/preupload/", self.path):
            files = json.loads(body)["files"]
            modes = {"uploadMode": "regular", "shouldIgnore": False}
            return self._json({"files": [{"path": one["path"], **modes} for one in files]})
        if found := re.match(rf"{API}/commit/main", self.path):
            return self._commit(found["repo"], [json.loads(one) for one in body.splitlines()])
        return self._json({"error": f"POST {self.path}"}, 404)

    def do_GET(self) -> None:
        if found := re.match(rf"{API}/tree/\w+", self.path):
            files = self.server.repositories[found["repo"]].files
            rows = [
                {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
                for path, content in files.items()
            ]
            return self._json(rows)
        if found := re.match(rf"{API}(/revision/\w+)?(\?|$)", self.path):
            return self._info(found["repo"])
        if found := re.match(rf"(/datasets)?/{REPOSITORY}/resolve/\w+/(?P<path>.+)", self.path):
            return self._file(found["repo"], found["path"])
        return self._json({"error": f"GET {self.path}"}, 404)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _validated(self) -> None:
        """Nobody has to be known for that."""
        why = self.server.refused_card
        self._json({"error": why} if why else {"errors": [], "warnings": []}, 400 if why else 200)

    def _create(self, asked: dict[str, Any]) -> None:
        repo = f"{asked['organization']}/{asked['name']}"
        folder = "datasets/" if asked.get("type") == "dataset" else ""
        url = f"{self.server.url}/{folder}{repo}"
        if repo in self.server.repositories:
            return self._json({"error": "You already created this repo", "url": url}, 409)
        private = asked.get("private", asked.get("visibility") == "private")
        self.server.repositories[repo] = Repository(private=private)
        return self._json({"url": url, "id": repo})

    def _commit(self, repo: str, lines: list[dict[str, Any]]) -> None:
        repository = self.server.repositories[repo]
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                repository.commits.append(value["summary"])
            elif line["key"] == "file":
                repository.files[value["path"]] = base64.b64decode(value["content"])
            else:
                assert line["key"] == "deletedFile"
                del repository.files[value["path"]]
        url = f"{self.server.url}/datasets/{repo}/commit/{repository.sha}"
        self._json({"success": True, "commitOid": repository.sha, "commitUrl": url})

    def _info(self, repo: str) -> None:
        if repo not in self.server.repositories:
            return self._json({"error": "Repository not found"}, 404)
        found = self.server.repositories[repo]
        files = [{"rfilename": path} for path in found.files]
        return self._json(
            {"id": repo, "sha": found.sha, "private": found.private, "siblings": files}
        )

    def _file(self, repo: str, path: str) -> None:
        repository = self.server.repositories.get(repo)
        if repository is None:
            return self._json({"error": "Repository not found"}, 404)
        if path not in repository.files:
            return self._json({"error": "Entry not found"}, 404)
        content = repository.files[path]
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", repository.sha)
        self._end(content)

    def _json(self, found: Any, code: int = 200) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        if code == 404:
            known = "Repo" if "Repository" in found["error"] else "Entry"
            self.send_header("X-Error-Code", f"{known}NotFound")
        self._end(json.dumps(found).encode())

    def _end(self, content: bytes) -> None:
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def a_hub() -> Iterator[Hub]:
    hub = Hub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


@contextmanager
def known_hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The Hub that its client knows while the block runs, with a cache of its own."""
    with a_hub() as found:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", found.url)
        files = f"{found.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", files)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        hub_answers.cache_clear()
        yield found
    hub_answers.cache_clear()
