"""The official MCP SDK: python mcp_client.py <job>. An agent of each generation of the protocol; prints what its calls came to."""

import asyncio
import json
import sys

from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

job = json.loads(sys.argv[1])
MODES = {"legacy": "legacy", "modern": "2026-07-28"}


def told(result):
    """A result as the protocol has it, without the bytes of its images."""
    dumped = result.model_dump(by_alias=True, mode="json")
    kinds = [content["type"] for content in dumped["content"]]
    return {"isError": dumped.get("isError") or False, "facts": dumped["structuredContent"], "kinds": kinds}


async def run(generation):
    headers = {"Authorization": "Bearer " + job["key"]}
    seen = []

    async def on_progress(progress, total, message):
        seen.append(progress)

    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(job["url"] + "/mcp", http_client=http)
        async with Client(transport, mode=MODES[generation]) as client:
            tools = (await client.list_tools()).tools
            order = {"prompt": job["prompts"][generation], "size": "1024x1024", "idempotency_key": generation}
            first = await client.call_tool("generate_image", order, progress_callback=on_progress)
            again = await client.call_tool("generate_image", order)
            identity = {"id": told(first)["facts"]["id"]}
            read = await client.call_tool("get_image", identity)
            wrong = await client.call_tool("generate_image", {"prompt": "a house", "quality": "fabulous"})
            steps = {"first": first, "again": again, "read": read, "wrong": wrong}
            return {
                "tools": [tool.name for tool in tools],
                "progress": seen,
                **{name: told(result) for name, result in steps.items()},
            }


print(json.dumps({generation: asyncio.run(run(generation)) for generation in MODES}))
