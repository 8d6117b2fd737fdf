"""The peer of ``benchmarks.sockets`` in aiohttp: it reads a setting, and no more."""

import json
import sys
from typing import Any

from aiohttp import WSMsgType, web  # type: ignore[import-not-found]

STATE = {"host": {"k": "x" * int(sys.argv[2])}}


async def socket(request: Any) -> Any:
    """Answer every call."""
    ws = web.WebSocketResponse()
    await ws.prepare(request)
    async for message in ws:
        if message.type is not WSMsgType.TEXT:
            continue
        call = json.loads(message.data)
        value = STATE.get(call["params"]["ns"], {}).get(call["params"]["key"])
        answer = {"type": "response", "id": call["id"], "ok": True}
        await ws.send_str(json.dumps({**answer, "result": {"value": value}}))
    return ws


app = web.Application()
app.router.add_get("/v1/ws", socket)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
