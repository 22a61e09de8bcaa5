#!/usr/bin/env python3
"""Prints every hook event of the hub as a line, and comes back after a break without losing one."""

import json
import subprocess
import time
import urllib.request


def cld(*words):
    return subprocess.run(["cld", "hub", *words], capture_output=True, text=True, check=True).stdout.strip()


def events(last):
    """Yields (id, kind, data) from the event after `last` on, until the connection breaks."""
    headers = {"Authorization": f"Bearer {cld('token')}"} | ({"Last-Event-ID": last} if last else {})
    url = json.loads(cld("status", "--json"))["url"] + "/events"
    fields, data = {}, []
    for line in urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60):
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "data":
            data.append(value)
        elif name:
            fields[name] = value
        elif data:
            yield fields.get("id"), fields.get("event"), json.loads("\n".join(data))
            fields, data = {}, []


last = None
while True:
    try:
        for id, kind, data in events(last):
            last = id or last
            if kind == "hook" or data["type"] == "gap":
                print(data.get("session_id", "-"), data.get("hook_event_name", data), flush=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print("disconnected:", error, flush=True)
    time.sleep(1)
