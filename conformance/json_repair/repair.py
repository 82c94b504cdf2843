"""Prints what json_repair makes of each text of a file, one JSON string a line."""

import json
import sys

import json_repair

with open(sys.argv[1], encoding="utf-8") as texts:
    for line in texts.read().split("\n"):
        print(json.dumps(json_repair.loads(json.loads(line))))
