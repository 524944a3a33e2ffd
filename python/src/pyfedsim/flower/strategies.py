"""What strategies tell about their rounds: message strategies and legacy ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .grid import VirtualGrid
    from .rounds import Rounds

Done = Callable[[Any], None]
"""Gets the arrays of the final model."""


@contextmanager
def _observed(instance: Any, observers: dict[str, Callable[..., Any]]) -> Iterator[None]:
    """Replace methods of an instance by observers, until the end of a with statement."""
    for name, observer in observers.items():
        setattr(instance, name, observer)
    try:
        yield
    finally:
        for name in observers:
            delattr(instance, name)


def _begins(method: Callable[..., Any], rounds: Rounds) -> Callable[..., Any]:
    """Return a method that begins a round."""

    def begun(*args: Any, **kwargs: Any) -> Any:
        rounds.begin()
        return method(*args, **kwargs)

    return begun


def _tells(method: Callable[..., Any], tell: Callable[[Any], None]) -> Callable[..., Any]:
    """Return a method that tells its result."""

    def told(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        tell(result)
        return result

    return told


def observed_start(start: Callable[..., Any], rounds: Rounds, done: Done) -> Callable[..., Any]:
    """Return Strategy.start such that it tells its rounds and metrics."""
    signature = inspect.signature(start)

    def observed(strategy: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(strategy, *args, **kwargs)
        evaluate: Any = call.arguments.get("evaluate_fn")
        rounds.follow_strategy(server_evaluates=evaluate is not None)

        def evaluate_fn(number: int, arrays: Any) -> Any:
            metrics = evaluate(number, arrays)
            rounds.report("test", metrics)
            if number == 0 and metrics is not None:
                rounds.close(0)
            return metrics

        if evaluate is not None:
            call.arguments["evaluate_fn"] = evaluate_fn
        observers = {
            "configure_train": _begins(strategy.configure_train, rounds),
            "aggregate_train": _tells(
                strategy.aggregate_train, lambda found: rounds.report("train", found[1])
            ),
            "aggregate_evaluate": _tells(
                strategy.aggregate_evaluate,
                lambda metrics: rounds.report(rounds.evaluated, metrics),
            ),
        }
        with _observed(strategy, observers):
            result = start(*call.args, **call.kwargs)
        rounds.leave_strategy()
        done(result.arrays)
        return result

    return observed


def observed_fl(run_fl: Callable[..., Any], rounds: Rounds, done: Done) -> Callable[..., Any]:
    """Return flwr.server.server.run_fl such that a legacy strategy tells rounds and metrics."""

    def observed(server: Any, config: Any) -> Any:
        strategy = server.strategy
        evaluate = strategy.evaluate

        def evaluated(number: int, *args: Any, **kwargs: Any) -> Any:
            answer = evaluate(number, *args, **kwargs)
            if answer is not None:
                rounds.report("test", {"loss": answer[0], **answer[1]})
                if number == 0:
                    rounds.follow_strategy(server_evaluates=True)
                    rounds.close(0)
            return answer

        rounds.follow_strategy(server_evaluates=False)
        observers = {
            "configure_fit": _begins(strategy.configure_fit, rounds),
            "aggregate_fit": _tells(
                strategy.aggregate_fit, lambda found: rounds.report("train", found[1])
            ),
            "aggregate_evaluate": _tells(
                strategy.aggregate_evaluate,
                lambda found: rounds.report(rounds.evaluated, {"loss": found[0], **found[1]}),
            ),
            "evaluate": evaluated,
        }
        with _observed(strategy, observers):
            history = run_fl(server, config)
        rounds.leave_strategy()
        done(server.parameters)
        return history

    return observed


class _Asked(Exception):  # noqa: N818 - leaves the call of a client proxy
    """The message that a client proxy wants to send."""


class _Collector:
    """The grid of a client proxy while its message is collected or answered."""

    def __init__(self, grid: Any, reply: Any = None) -> None:
        self._grid = grid
        self._reply = reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Any]:
        """Hand over the message, or return its reply."""
        del timeout
        if self._reply is None:
            raise _Asked(next(iter(messages)))
        return [self._reply]


def batched(ask: Callable[..., Any], settle: Callable[..., Any]) -> Callable[..., Any]:
    """Return flwr.server.server.fit_clients (or evaluate_clients) that sends one batch.

    Flower calls each client in a thread; here the calls are made twice: once to collect
    their messages, and once to give them their replies.

    Parameters
    ----------
    ask
        Asks one client: fit_client or evaluate_client.
    settle
        Sorts a finished call into results and failures.
    """

    def clients(
        client_instructions: Any, max_workers: Any, timeout: float | None, group_id: int
    ) -> Any:
        del max_workers
        asked = []
        for proxy, instructions in client_instructions:
            try:
                _with_grid(proxy, None, ask, instructions, timeout, group_id)
            except _Asked as sending:  # noqa: PERF203 - not often
                asked.append(sending.args[0])
        replies: dict[str, Any] = {}
        if asked:
            grid = client_instructions[0][0].grid
            for reply in grid.send_and_receive(asked):
                replies[reply.metadata.reply_to_message_id] = reply
        results: list[Any] = []
        failures: list[Any] = []
        for (proxy, instructions), message in zip(client_instructions, asked, strict=True):
            call: Future[Any] = Future()
            try:
                reply = replies[message.metadata.message_id]
                call.set_result(_with_grid(proxy, reply, ask, instructions, timeout, group_id))
            except Exception as raised:  # noqa: BLE001 - a failure of the client
                call.set_exception(raised)
            settle(call, results, failures)
        return results, failures

    return clients


def _with_grid(proxy: Any, reply: Any, ask: Callable[..., Any], *arguments: Any) -> Any:
    grid = proxy.grid
    proxy.grid = _Collector(grid, reply)
    try:
        return ask(proxy, *arguments)
    finally:
        proxy.grid = grid


def registration(start: Callable[..., Any], grid: VirtualGrid) -> Callable[..., Any]:
    """Return start_update_client_manager_thread without a thread that acts in real time.

    The client manager still asks for the nodes before each use, and waits in virtual time.
    """

    def registered(grid_: Any, manager: Any) -> Any:
        thread, stop, done = start(grid_, manager)
        done.wait()
        stop.set()
        thread.join()

        def wait_for(num_clients: int, timeout: float = 86400) -> bool:
            end = grid.now_ns + round(timeout * 1e9)
            while manager.num_available() < num_clients and grid.now_ns < end:
                grid.sleep_for_nodes(5)
            return bool(manager.num_available() >= num_clients)

        manager.wait_for = wait_for
        return thread, stop, done

    return registered
