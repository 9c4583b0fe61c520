"""A check stops an endless loop by itself, on every system."""

import itertools
import signal
import sys
import threading
import time

import pytest

from kernelcourse.checking import CheckFailed, dual_representation
from kernelcourse.checking.limits import TookTooLong, seconds_per_piece, time_limit


def endless(Phi):
    count = 0
    while count >= 0:
        count += 1


def catching(Phi):
    try:
        return endless(Phi)
    except Exception:  # noqa: BLE001 - as students do
        return "caught"


def on_windows(monkeypatch):
    monkeypatch.delattr(signal, "SIGALRM", raising=False)


def in_a_browser(monkeypatch):
    monkeypatch.delattr(signal, "setitimer", raising=False)
    monkeypatch.setattr(sys, "prefix", "/")


def as_it_is(monkeypatch):
    pass


@pytest.mark.parametrize("system", [as_it_is, on_windows, in_a_browser])
@pytest.mark.parametrize("answer", [endless, catching])
def test_an_endless_loop_is_told_with_its_line_and_the_other_pieces_are_judged(system, answer, monkeypatch):
    system(monkeypatch)
    check = dual_representation.checks(1)
    check.seconds = 0.05
    before = sys.gettrace(), signal.getsignal(signal.SIGINT)
    with pytest.raises(CheckFailed) as caught:
        check(gram_matrix=answer)
    check.seconds = 600
    assert check(predict=lambda K, a: K @ a).earned == 1
    (result,) = caught.value.verdict.results
    assert result.problem == "It did not come to an end: stopped after 0.05 seconds."
    assert result.mistake == "endless" and (result.earned, result.points) == (0, 1)
    assert "of endless:  " in dict(result.details)["where"]
    assert (sys.gettrace(), signal.getsignal(signal.SIGINT)) == before


def test_where_processor_time_is_not_counted_the_clock_decides_and_has_no_patience(monkeypatch):
    in_a_browser(monkeypatch)
    clock = itertools.count()
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with pytest.raises(TookTooLong), time_limit(1000):
        endless(None)
    assert 1000 < next(clock) < 2000


def test_a_hidden_case_that_never_ends_is_not_shown():
    check = dual_representation.checks(1)
    check.seconds = 0.05
    with pytest.raises(CheckFailed) as caught:
        check.hidden(gram_matrix=endless)
    assert caught.value.verdict.results[0].details == ()


def test_it_ends_in_a_thread_as_well():
    ended = []

    def work():
        try:
            with time_limit(0.05):
                endless(None)
        except TookTooLong:
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="there is no alarm to give back")
def test_the_alarm_goes_back_to_whom_it_belonged():
    previous = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with time_limit(600):
            assert signal.getsignal(signal.SIGALRM) is not signal.SIG_IGN
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_a_limit_that_is_no_time_is_refused(text, monkeypatch):
    monkeypatch.setenv("KERNELCOURSE_SECONDS", text)
    with pytest.raises(ValueError, match=f"KERNELCOURSE_SECONDS is '{text}', expected a positive number"):
        seconds_per_piece()


def test_the_environment_sets_the_limit(monkeypatch):
    monkeypatch.setenv("KERNELCOURSE_SECONDS", "2.5")
    assert dual_representation.checks(1).seconds == 2.5
    monkeypatch.delenv("KERNELCOURSE_SECONDS")
    assert seconds_per_piece() == 10
