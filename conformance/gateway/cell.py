"""A cell of the matrix, its nonces, and its failures."""

import json
import pathlib
import threading

TASK = json.loads((pathlib.Path(__file__).parent / "task.json").read_text("utf-8"))


class Spoil:
    """Damage that is done to a cell's messages, to see whether it is detected: here none."""

    cuts = False

    def request(self, cell, path, headers, body):
        """The request as the upstream receives it."""
        return path, headers, body

    def recording(self, cell, turn):
        """The cell and the turn whose recording is replayed."""
        return cell, turn

    def cut(self, reply):
        """The bytes that are sent."""
        return reply


class Cell:
    """One client, one upstream, whole or streaming.

    `tag` is in the model's name, by which the upstream identifies the cell. The nonces of its
    replies derive from it: one in each call's arguments and id, one in the final text.
    """

    def __init__(self, row, upstream, stream, number, spoil=Spoil()):
        self.row = row
        self.upstream = upstream
        self.stream = stream
        self.number = number
        self.tag = f"c{number:08x}"
        self.spoil = spoil
        # The client's own key, which must not reach the upstream.
        self.secret = None
        self.turns = []
        self.complaints = []
        self._lock = threading.Lock()

    @property
    def name(self):
        """Client, upstream, mode."""
        return f"{self.row.name} → {self.upstream}, {'stream' if self.stream else 'whole'}"

    def nonce(self, letter):
        """A nonce: `w` for the weather, `f` for the flights, `t` for the text."""
        return letter + self.tag[1:]

    def word(self, letter):
        """A nonce as it appears in a value, after a character outside the basic plane."""
        return "😀" + self.nonce(letter)

    def calls(self):
        """The calls that the upstream makes: name and arguments."""
        flights = {
            "origin": "PEK",
            "destination": "CDG",
            "departure_date": "2026-12-01",
            "passengers": [{"name": "王伟" + self.word("f"), "age": 34}],
            "max_price": None,
        }
        weather = {"city": "北京" + self.word("w"), "unit": "celsius"}
        return [("get_weather", weather), ("search_flights", flights)]

    def asked(self, turn):
        """Records that the upstream received a request."""
        with self._lock:
            self.turns.append(turn)

    def complain(self, direction, what):
        """Records a failure, and on which side of the gateway it is."""
        with self._lock:
            self.complaints.append((direction, what))
