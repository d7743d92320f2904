"""
A program with the OpenAI Agents SDK for Python, as its documentation has one: a shell for a tool, an MCP server, and a session in a file.

    python openai_agents_program.py PROMPT [--resume] [--image FILE]
"""

import argparse
import asyncio
import base64
import json
import subprocess
from pathlib import Path

from agents import Agent, Runner, SQLiteSession, function_tool
from agents.mcp import MCPServerStdio
from agents.memory import OpenAIResponsesCompactionSession

parser = argparse.ArgumentParser()
parser.add_argument("prompt")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--image", type=Path)
args = parser.parse_args()


@function_tool
def run_shell(command: str) -> str:
    """Runs a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout


def asked() -> list[dict]:
    content = [{"type": "input_text", "text": args.prompt}]
    if args.image:
        data = base64.b64encode(args.image.read_bytes()).decode()
        content.append({"type": "input_image", "image_url": f"data:image/png;base64,{data}", "detail": "auto"})
    return [{"role": "user", "content": content}]


async def main() -> None:
    session = SQLiteSession("only", Path.home() / "session.db")
    if args.prompt == "/compact":
        # The SDK takes no name here that does not look like one of OpenAI's: the gateway knows the model by an alias, too.
        compacting = OpenAIResponsesCompactionSession("only", session, model="gpt-alias", compaction_mode="input")
        await compacting.run_compaction({"force": True})
        return
    if not args.resume:
        await session.clear_session()
    servers = json.loads((Path.home() / "mcp.json").read_text())["mcpServers"]
    async with MCPServerStdio(name="stamps", params=servers["stamps"]) as stamps:
        agent = Agent(name="Helper", instructions="Do what you are asked.", tools=[run_shell], mcp_servers=[stamps])
        result = await Runner.run(agent, asked(), session=session)
        print(result.final_output)


asyncio.run(main())
