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
    """Those of its main branch."""
    branches: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of the others."""

    def at(self, revision: str) -> dict[str, bytes]:
        """Of a branch, or of a commit that is the last of one."""
        shas = {self.sha_of(name): files for name, files in self.branches.items()}
        return (shas | self.branches).get(revision, self.files)

    def knows(self, revision: str) -> bool:
        names = ("main", *self.branches)
        return revision in (*names, *map(self.sha_of, names))

    def sha_of(self, revision: str) -> str:
        """Of the last commit; a commit's own name is given back."""
        if re.fullmatch("[0-9a-f]{40}", revision):
            return revision
        return hashlib.sha1(f"{revision} {len(self.commits)}".encode()).hexdigest()

    @property
    def sha(self) -> str:
        return self.sha_of("main")


class Hub(ThreadingHTTPServer):
    """Holds every repository in memory."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, Repository] = {}
        self.refused_card = ""
        """Why every card is refused; empty where none is."""
        self.refused_commit = ""
        """The same of uploads."""
        self.refused_code = 403
        """The status that says so."""
        self.forbidden = ""
        """Why no file may be read; empty where all may."""

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
        if found := re.match(rf"{API}/branch/(?P<branch>[^/?]+)", self.path):
            return self._branch(found["repo"], found["branch"])
        if self.server.refused_commit and "/commit/" in self.path:
            return self._json({"error": self.server.refused_commit}, self.server.refused_code)
        if found := re.match(rf"{API}/commit/(?P<branch>[^/?]+)", self.path):
            lines = [json.loads(one) for one in body.splitlines()]
            return self._commit(found["repo"], found["branch"], lines)
        return self._json({"error": f"POST {self.path}"}, 404)

    def do_DELETE(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        assert self.path == "/api/repos/delete"
        del self.server.repositories[f"{asked['organization']}/{asked['name']}"]
        self._json({})

    def do_GET(self) -> None:
        if found := re.match(rf"{API}/refs(\?|$)", self.path):
            return self._refs(found["repo"])
        if found := re.match(rf"{API}/tree/(?P<revision>[^/?]+)", self.path):
            files = self.server.repositories[found["repo"]].at(found["revision"])
            rows = [
                {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
                for path, content in files.items()
            ]
            return self._json(rows)
        if found := re.match(rf"{API}(/revision/(?P<revision>[^/?]+))?(\?|$)", self.path):
            return self._info(found["repo"], found["revision"] or "main")
        resolved = rf"(/datasets)?/{REPOSITORY}/resolve/(?P<revision>[^/]+)/(?P<path>.+)"
        if found := re.match(resolved, self.path):
            return self._file(found["repo"], found["revision"], found["path"])
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

    def _branch(self, repo: str, name: str) -> None:
        repository = self.server.repositories[repo]
        if name in repository.branches:
            return self._json({"error": "Reference already exists"}, 409)
        repository.branches[name] = dict(repository.files)
        return self._json({})

    def _commit(self, repo: str, branch: str, lines: list[dict[str, Any]]) -> None:
        repository = self.server.repositories[repo]
        files = repository.at(branch)
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                repository.commits.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            else:
                assert line["key"] == "deletedFile"
                del files[value["path"]]
        url = f"{self.server.url}/datasets/{repo}/commit/{repository.sha}"
        self._json({"success": True, "commitOid": repository.sha, "commitUrl": url})

    def _refs(self, repo: str) -> None:
        names = ["main", *self.server.repositories[repo].branches]
        found = [{"name": one, "ref": f"refs/heads/{one}", "targetCommit": "0"} for one in names]
        self._json({"branches": found, "converts": [], "tags": []})

    def _info(self, repo: str, revision: str) -> None:
        if repo not in self.server.repositories:
            return self._json({"error": "Repository not found"}, 404)
        found = self.server.repositories[repo]
        files = [{"rfilename": path} for path in found.at(revision)]
        return self._json(
            {"id": repo, "sha": found.sha_of(revision), "private": found.private, "siblings": files}
        )

    def _file(self, repo: str, revision: str, path: str) -> None:
        if self.server.forbidden:
            return self._json({"error": self.server.forbidden}, 403)
        repository = self.server.repositories.get(repo)
        if repository is None:
            return self._json({"error": "Repository not found"}, 404)
        if not repository.knows(revision):
            return self._json({"error": "Revision not found"}, 404)
        if path not in repository.at(revision):
            return self._json({"error": "Entry not found"}, 404)
        content = repository.at(revision)[path]
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", repository.sha_of(revision))
        self._end(content)

    def _json(self, found: Any, code: int = 200) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        if code == 404:
            lacks = found["error"].partition(" ")[0].replace("Repository", "Repo")
            self.send_header("X-Error-Code", f"{lacks}NotFound")
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
        # transformers keeps a client with the address of the test that it was made in.
        monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", found.url)
        files = f"{found.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", files)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        hub_answers.cache_clear()
        yield found
    hub_answers.cache_clear()
