"""What runs in the child of a `ProcessEnvironment`:

`python -m arigraph_local.envs.process_server PIPE PARENT FOLDER`, with the descriptor of the
pipe, the parent's process id, and the folder that goes with the child or nothing.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import NoReturn

from arigraph_local.envs.environment import Environment
from arigraph_local.errors import ArigraphError, GameError

_WATCH_SECONDS = 1.0
_LONGEST_MESSAGE = 500


def main() -> None:
    """Serve on the pipe; end with the parent, whatever it dies of."""
    descriptor, parent, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent, folder), daemon=True).start()
    try:
        serve(Connection(descriptor))
    except BaseException:
        traceback.print_exc()
        _leave(folder, 1)
    _leave(folder, 0)


def serve(pipe: Connection) -> None:
    """Answer until the other end closes: make the environment, then call its methods.

    The first message is the pickled maker, every other a method's or property's name with its
    arguments; an answer is whether it failed, with the value or the error.
    """
    environment: Environment | None = None
    maker = pipe.recv_bytes()
    while True:
        try:
            method, arguments = pipe.recv()
        except (EOFError, OSError):
            break
        try:
            if environment is None:
                environment = _made(maker)
            member = getattr(environment, method)
            answer = (False, member(*arguments) if callable(member) else member)
        except Exception as error:
            answer = (True, _sendable(error))
        try:
            pipe.send(answer)
        except OSError:
            break
    if environment is not None:
        environment.close()


def _made(maker: bytes) -> Environment:
    try:
        make = pickle.loads(maker)
    except Exception as error:
        raise GameError(f"the game cannot be made in another process: {error}") from error
    environment: Environment = make()
    return environment


def _sendable(error: Exception) -> ArigraphError:
    """The error itself, or one that the parent can read."""
    text = " ".join(str(error).split())[:_LONGEST_MESSAGE]
    if not isinstance(error, ArigraphError):
        return GameError(f"the game crashed: {type(error).__name__}: {text}")
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:
        return GameError(text)
    return error if type(copy) is type(error) else GameError(text)


def _end_with(parent: int, folder: str) -> None:
    """End a child that hangs in its game, or whose pipe another process holds open, after its
    parent was killed."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    _leave(folder, 1)


def _leave(folder: str, code: int) -> NoReturn:
    # The parent removes the folder too, but may be dead.
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    # Without taking the interpreter down: foreign libraries crash at that.
    os._exit(code)


if __name__ == "__main__":
    main()
