"""Addresses of worker processes on this computer."""

import json
import random
import socket

from course_utils.processes import ProcessError

PORTS = range(20000, 32000)  # below those that Linux, macOS and Windows give to connections


def tf_config(ports, rank: int) -> str:
    """TF_CONFIG for one of several workers on this computer, as JSON.

    Example:
        >>> tf_config([23456], 0)
        '{"cluster": {"worker": ["127.0.0.1:23456"]}, "task": {"type": "worker", "index": 0}}'
    """
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})


def free_ports(count: int) -> list[int]:
    """Ports that no program on this computer uses at this moment.

    Raises:
        ProcessError: there are not so many.
    """
    found = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if len(found) == count:
            break
        if _is_free(port):
            found.append(port)
    if len(found) < count:
        raise ProcessError(
            f"Of the ports {PORTS[0]} to {PORTS[-1]} only {len(found)} are free and {count} are "
            "needed: end programs that use them."
        )
    return found


def checked(ports, count: int) -> list[int]:
    """The ports as a list, if they are so many, different, and not in use.

    Raises:
        ProcessError: they are not.
    """
    ports = list(ports)
    if len(set(ports)) != count:
        raise ProcessError(f"ports is {ports}: give {count} different numbers, one per worker.")
    for port in ports:
        if not _is_free(port):
            raise ProcessError(
                f"Port {port} is in use by another program: give another one, or leave out ports "
                "and free ones are found."
            )
    return ports


def _is_free(port):
    # TensorFlow's server listens on all addresses of the computer, not on the loopback one alone.
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except (OSError, OverflowError):
            return False
    return True
