"""A cluster whose workers are authenticated by TLS, die, lie and send code that would run on the grader's machine."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.api import Gradebook

from kernelcourse.course import cluster, courier, far, submission
from kernelcourse.course.cluster import require_security
from kernelcourse.course.errors import CourseError
from kernelcourse.course.handed import Handed
from kernelcourse.course.submission import Task
from tests.grading import far_worker
from tests.grading.hostile.submission import ASSIGNMENT, STEM, honest

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("openssl") is None, reason="no bubblewrap, or no openssl"
)
ROLES = ["client", "worker", "scheduler"]
STRANGE = ["pickle", "short", "text", "error"]


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """A key and a self-signed certificate, in Dask's configuration."""
    import dask
    import distributed  # noqa: F401 - otherwise its own settings would disappear with ours

    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    options = ["-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(cert), "-subj", "/CN=course"]
    subprocess.run(["openssl", "req", "-x509", *options], check=True, capture_output=True)
    tls = {f"{role}.{name}": str(path) for role in ROLES for name, path in (("cert", cert), ("key", key))}
    settings = {f"distributed.comm.tls.{name}": value for name, value in (tls | {"ca-file": str(cert)}).items()}
    with dask.config.set(settings):
        yield {f"DASK_{name.replace('.', '__').replace('-', '_').upper()}": value for name, value in settings.items()}


def test_a_cluster_with_a_dying_and_a_hostile_worker(course, notebook, certificate, monkeypatch, tmp_path):
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv(far_worker.NOTES, str(notes))
    for student in ("honest", "dies", "html", *STRANGE):
        honest(notebook).write(course.root / "submitted" / student / ASSIGNMENT)
    patient = dask.config.set({f"distributed.comm.timeouts.{name}": "600s" for name in ("connect", "tcp")})
    options = {"dashboard_address": ":0", "silence_logs": 50, "local_directory": str(tmp_path), "protocol": "tls"}
    options |= {"preload": [far_worker.__file__], "security": Security(require_encryption=True)}
    with patient, LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster:
        command = ["grade", ASSIGNMENT, "--cluster", cluster.scheduler_address, "--course", str(course.root)]
        environment = os.environ | certificate | {"PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(
            [sys.executable, "-m", "kernelcourse", *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (notes / "died").exists()
    assert done.returncode == 1 and "3 graded, 0 left as they were, 4 failed" in done.stdout, done.stderr
    assert all(f"{student}: not graded" in done.stderr for student in STRANGE)
    taken = (notes / "taken").read_text(encoding="utf-8") if (notes / "taken").exists() else ""
    assert "kernelcourse grade" not in taken  # perhaps a scheduler or a worker; the courier does not see the folder
    with Gradebook(course.gradebook) as gradebook:
        points = {one.student.id: one.score for one in gradebook.assignment_submissions(ASSIGNMENT)}
    assert points == dict.fromkeys(("honest", "dies", "html"), 4.0)
    text = (course.root / "autograded" / "html" / ASSIGNMENT / f"{STEM}.ipynb").read_text(encoding="utf-8")
    assert "taken()" not in text and "evil" not in text and "fine" in text
    nbformat.validate(nbformat.reads(text, as_version=4))
    result = json.loads((course.root / ".grading" / ASSIGNMENT / "html" / "result.json").read_bytes())
    assert result["notebooks"][STEM]["pieces"][0]["piece"] == "kernel"
    assert not list(course.root.parent.rglob("x"))


@pytest.mark.parametrize("address", ["tcp://192.168.1.5:8786", "10.0.0.1:8786", "tcp://grading.example.org:8786"])
def test_a_cluster_elsewhere_needs_tls(address):
    with pytest.raises(CourseError, match="not on this machine and not secured"):
        require_security(address)


def test_a_cluster_here_does_not_and_certificates_must_be_known():
    assert require_security("tcp://127.0.0.1:8786") == require_security("localhost:8786") == {}
    assert require_security("tcp://[::1]:8786") == {}
    with pytest.raises(CourseError, match="needs certificates"):
        require_security("tls://192.168.1.5:8786")


def test_certificates_are_files_or_texts_in_the_configuration(tmp_path):
    import dask
    import distributed  # noqa: F401 - otherwise its own settings would disappear with ours

    for name in ("ca", "cert"):
        (tmp_path / name).write_text(f"{name} in a file\n", encoding="ascii")
    tls = {"ca-file": str(tmp_path / "ca"), "client.cert": str(tmp_path / "cert"), "client.key": "key\nas a text\n"}
    with dask.config.set({f"distributed.comm.tls.{name}": value for name, value in tls.items()}):
        found = require_security("tls://192.168.1.5:8786")
    assert found == {"ca_file": "ca in a file\n", "cert": "cert in a file\n", "key": "key\nas a text\n"}


@pytest.mark.parametrize("unsafe", [False, True])
def test_the_courier_is_shut_in_unless_grading_is_unsafe(unsafe, monkeypatch):
    started = []

    def start(command, **pipes):
        started.append(command)
        return SimpleNamespace(kill=lambda: None, wait=lambda: None, stdin=io.StringIO(), stdout=io.StringIO())

    monkeypatch.setattr(cluster, "_shut_in", lambda: ["a sandbox", "python"])
    monkeypatch.setattr(cluster, "subprocess", SimpleNamespace(Popen=start, PIPE=-1, DEVNULL=-3))
    with cluster._courier(unsafe):
        (command,) = started
    assert command[:-1] == [*([sys.executable] if unsafe else ["a sandbox", "python"]), "-W", "ignore", "-c"]
    assert command[-1].endswith("from kernelcourse.course.courier import main; main()")


def test_the_courier_sends_each_line_at_once(monkeypatch):
    sent = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(sent, encoding="utf-8"))
    courier._say({"threads": 2})
    assert sent.getvalue() == b'{"threads": 2}\n'


def test_of_what_a_worker_calls_odd_a_hundred_lines_of_five_hundred_letters_are_kept(monkeypatch):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    monkeypatch.setattr(submission, "put_together", lambda task, student, handed, run: run("a", notebook))
    odd = [{"notebook": "a", "kind": "timeout", "text": f"{i:03}" * 200, "more": "dropped"} for i in range(150)]
    reply = json.dumps({"notebooks": {"a": {"outputs": [[]], "endings": odd}}})
    kept = far.checked(reply, Task("01-a", {}, {"a": {}}, "secret", False, "run"), "ada", Handed())
    expected = [{"notebook": "a", "kind": "timeout", "text": (f"{i:03}" * 200)[:500]} for i in range(100)]
    assert kept.metadata["kernelcourse"]["endings"] == expected


def test_a_worker_grades_in_a_process_with_limits(released, notebook):
    """Real grading, without a cluster, by the helper that every worker keeps."""
    from kernelcourse.course.merge import locked_sources
    from kernelcourse.course.submission import course_files, grade_submission

    locked = locked_sources(released, ASSIGNMENT)
    shelf = str(released.root / ".grading" / "library")
    task = Task(ASSIGNMENT, course_files(released, ASSIGNMENT), locked, "a secret", False, "run", shelf)
    handed = Handed({f"{STEM}.ipynb": json.dumps(honest(notebook).notebook).encode()})
    graded = grade_submission(task, "ada", handed)
    read, student, again = far.read_payload(far.payload(task, "ada", handed))
    assert (read.course, read.locked, student, again) == (task.course, task.locked, "ada", handed) and read.shelf == ""
    checked = far.checked(far.shown(graded), task, "ada", handed)
    assert checked.result["notebooks"] == graded.result["notebooks"]
    assert sum(checked.result["notebooks"][STEM]["scores"].values()) == 8
    code = "import sys; from kernelcourse.course import far; print(far.grade_far(sys.stdin.readline().strip()))"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=far.payload(task, "ada", handed),
        text=True,
        capture_output=True,
        check=True,
        env=environment,
    )
    assert far.checked(done.stdout, task, "ada", handed).result["notebooks"] == graded.result["notebooks"]
