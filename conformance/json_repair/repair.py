"""Prints the result of json_repair for each text of a file, one JSON string per line."""

import json
import sys

import json_repair

with open(sys.argv[1], encoding="utf-8") as texts:
    for line in texts.read().split("\n"):
        print(json.dumps(json_repair.loads(json.loads(line))))
