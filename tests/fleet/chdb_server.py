#!/usr/bin/env python3
"""A recent ClickHouse for tests: chdb, which is ClickHouse as a library, behind the part of its HTTP interface that Kymo
uses. chdb_server.py LIBRARY FOLDER PORT [CERTIFICATE] prints the port and serves until its standard input ends; with a
certificate and its key in a file, it speaks TLS."""
import ctypes
import http.server
import os
import re
import ssl
import sys
import threading
import urllib.parse

INSERT = re.compile(r"^INSERT INTO (\S+) \(.*\) FORMAT CSV$")


class Engine:
    def __init__(self, library, folder):
        self.lib = ctypes.CDLL(library)
        for name, result, arguments in [
                ("chdb_connect", ctypes.POINTER(ctypes.c_void_p), [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]),
                ("chdb_query_n", ctypes.c_void_p,
                 [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
                ("chdb_result_error", ctypes.c_char_p, [ctypes.c_void_p]),
                ("chdb_result_buffer", ctypes.c_void_p, [ctypes.c_void_p]),
                ("chdb_result_length", ctypes.c_size_t, [ctypes.c_void_p]),
                ("chdb_destroy_query_result", None, [ctypes.c_void_p])]:
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments
        words = (ctypes.c_char_p * 2)(b"clickhouse", f"--path={folder}".encode())
        self.connection = self.lib.chdb_connect(2, words)[0]
        self.folder = folder
        self.lock = threading.Lock()

    def run(self, statement, body):
        """The bytes of the result, or an exception's text."""
        with self.lock:
            insert = INSERT.match(statement)
            if insert:
                path = f"{self.folder}.insert"
                with open(path, "wb") as file:
                    file.write(body)
                status, columns = self.ask(f"DESCRIBE TABLE {insert[1]}".encode())
                if status != 200:
                    return status, columns
                columns = ", ".join(" ".join(line.split("\t")[:2]) for line in columns.decode().splitlines())
                statement, body = f"INSERT INTO {insert[1]} SELECT * FROM file('{path}', 'CSV', '{columns}')", b""
            return self.ask(statement.encode() + body)

    def ask(self, sql):
        result = self.lib.chdb_query_n(self.connection, sql, len(sql), b"TabSeparated", 12)
        try:
            error = self.lib.chdb_result_error(result)
            size = self.lib.chdb_result_length(result)
            data = ctypes.string_at(self.lib.chdb_result_buffer(result), size) if size else b""
        finally:
            self.lib.chdb_destroy_query_result(result)
        return (500, error) if error else (200, data)


def serve(library, folder, port, certificate=None):
    engine = Engine(library, folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query", [""])[0]
            status, data = engine.run(query, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
