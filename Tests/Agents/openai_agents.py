"""An agent of OpenAI's Agents SDK whose tools come from an MCP server over stdio: this file with no arguments.

    openai_agents.py BASE_URL chats|responses TASK
"""

import asyncio
import sys

from tools import read_file, replace, run


def serve():
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("workshop")

    for tool in (read_file, replace, run):
        server.tool()(tool)
    server.run("stdio")


async def work(url, api, task):
    from agents import (
        Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled)
    from agents.mcp import MCPServerStdio
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    kind = OpenAIChatCompletionsModel if api == "chats" else OpenAIResponsesModel
    async with MCPServerStdio({"command": sys.executable, "args": [__file__]}) as server:
        agent = Agent(
            name="Mender", instructions="You mend programs.", model=kind("scripted", openai_client=client),
            model_settings=ModelSettings(include_usage=True), mcp_servers=[server])
        result = Runner.run_streamed(agent, task)
        async for _ in result.stream_events():
            pass
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:])) if sys.argv[1:] else serve()
