import hashlib
import io
import os
import pickle
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from course_lib.data import DataError, files

CONTENT = b"date,value\n" * 1000


class _Handler(SimpleHTTPRequestHandler):
    """Serves a folder; what is under /short breaks off before its end."""

    def log_message(self, *args):
        pass

    def do_GET(self):
        if not self.path.startswith("/short"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:100])


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "good.csv").write_bytes(CONTENT)
    (folder / "other.csv").write_bytes(b"an error page")
    handler = partial(_Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    return tmp_path / "cache"


def remote(url):
    checksum = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
    return files.RemoteFile("file.csv", url, len(CONTENT), checksum)


def listing(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_file_is_fetched_once(server, cache):
    path = files.fetch(remote(server + "/good.csv"), progress=False)
    assert path == cache / "file.csv" and path.read_bytes() == CONTENT
    # The address is gone, the file is not: it is not fetched again.
    assert files.fetch(remote("http://127.0.0.1:9/gone"), progress=False) == path
    assert listing(cache) == ["file.csv"]


@pytest.mark.parametrize("path", ["/short.csv", "/other.csv", "/absent.csv"])
def test_a_bad_download_is_named_and_leaves_nothing(server, cache, path):
    with pytest.raises(DataError) as caught:
        files.fetch(remote(server + path), progress=False)
    assert caught.value.where == server + path
    assert "file.csv" in caught.value.what and caught.value.remedy
    assert listing(cache) == []


def test_without_a_network_the_error_says_what_to_do(cache):
    with pytest.raises(DataError, match="cannot be fetched") as caught:
        files.fetch(remote("http://127.0.0.1:9/file.csv"), progress=False)
    assert "COURSE_DATA" in caught.value.remedy
    assert listing(cache) == []


def test_a_damaged_file_in_the_cache_is_fetched_again(server, cache):
    cache.mkdir()
    (cache / "file.csv").write_bytes(CONTENT[:-1])
    files.fetch(remote(server + "/good.csv"), progress=False)
    assert (cache / "file.csv").read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written(server, cache):
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match="cannot be stored") as caught:
        files.fetch(remote(server + "/good.csv"), progress=False)
    assert "COURSE_CACHE" in caught.value.remedy


def test_nothing_is_fetched_while_course_data_is_set(server, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    with pytest.raises(DataError, match="nothing is fetched while COURSE_DATA is set"):
        files.fetch(remote(server + "/good.csv"), progress=False)
    assert listing(cache) == []


def test_course_data_comes_before_the_cache(cache, tmp_path, monkeypatch):
    cache.mkdir()
    (cache / "a").touch()
    (cache / "b").touch()
    local = tmp_path / "local"
    local.mkdir()
    (local / "a").touch()
    assert files.find("a") == cache / "a"
    monkeypatch.setenv("COURSE_DATA", str(local))
    assert files.find("a") == local / "a"
    assert files.find("b") == cache / "b"
    assert files.find("c") is None


def test_course_data_must_be_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="does not exist") as caught:
        files.find("a")
    assert caught.value.where.endswith("nowhere")


def test_checksum_follows_the_content(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    first = files.sha256_of(path)
    assert first == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert files.sha256_of(path) == hashlib.sha256(b"two").hexdigest()


def archive(path, names):
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(f"folder/{name}")
            info.size = 1000
            tar.addfile(info, io.BytesIO(name.encode() * 1000))
    return path


def test_unpack_takes_the_members_asked_for(cache):
    cache.mkdir()
    made = archive(cache / "a.tar.gz", ["x", "y", "z"])
    folder = files.unpack(made, "folder", ["x", "z"])
    assert listing(folder) == ["x", "z"]
    assert (folder / "z").read_bytes() == b"z" * 1000
    assert listing(cache) == ["a.tar.gz", "folder"]


def test_unpacking_a_damaged_archive_or_one_without_a_member_leaves_nothing(cache):
    cache.mkdir()
    whole = archive(cache / "a.tar.gz", ["x", "y"])
    whole.write_bytes(whole.read_bytes()[:-60])
    for made in (whole, archive(cache / "b.tar.gz", ["x"])):
        with pytest.raises(DataError, match="cannot be unpacked"):
            files.unpack(made, "folder", ["x", "y"])
    assert listing(cache) == ["a.tar.gz", "b.tar.gz"]


def test_the_error_is_a_builtin_one_and_survives_pickling():
    error = pickle.loads(pickle.dumps(DataError("what", "where", "remedy")))
    assert isinstance(error, RuntimeError)
    assert (error.what, error.where, error.remedy) == ("what", "where", "remedy")
    assert str(error) == "what\n  where:      where\n  what to do: remedy"
