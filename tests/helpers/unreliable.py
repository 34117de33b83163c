"""A server for downloads that can go wrong in many ways."""

import contextlib
import http.server
import threading
import time


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `files`, {path: bytes}, and notes what was `asked`; `does` says what it
    does wrong.
    """

    files, asked, does = {}, [], ""

    def do_GET(self):
        data = self.files.get(self.path, b"")
        does = self.does
        self.asked.append(self.path)
        if does == "speaks":  # something else
            self.wfile.write(b"220 welcome to my mail server\r\n")
            return
        self.send_response(200 if data and does != "refuses" else 404)
        self.send_header("Content-Length", len(data))
        self.end_headers()
        wrong = {"refuses": b"", "truncates": data[:-9], "corrupts": data[:-1] + b"x"}
        wrong |= {"stalls": data[:9], "trickles": b""}
        self.wfile.write(wrong.get(does, data))
        self.wfile.flush()
        for place in range(100 if does in ("stalls", "trickles") else 0):
            time.sleep(0.1)
            if does == "trickles":
                self.wfile.write(data[place : place + 1])

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(monkeypatch, **files):
    """The address of a `Server` that runs as long as the block."""
    for name, value in {"files": files, "asked": [], "does": ""}.items():
        monkeypatch.setattr(Server, name, value)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
