"""
A program with LangChain, as its documentation has one: an agent with a shell for a tool, an MCP server, and a summary of what was said
where that is long. It keeps the messages of the last run in a file from run to run.

    python langchain_program.py MODEL PROMPT [--resume] [--image FILE]

MODEL has what it speaks before it: openai:, anthropic:.
"""

import argparse
import asyncio
import base64
import json
import subprocess
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.messages import HumanMessage, messages_from_dict, messages_to_dict
from langchain_core.tools import tool
from langchain_mcp_adapters.client import MultiServerMCPClient

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("prompt")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--image", type=Path)
args = parser.parse_args()

kept = Path.home() / "messages.json"


@tool
def run_shell(command: str) -> str:
    """Runs a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout


def asked() -> HumanMessage:
    content = [{"type": "text", "text": args.prompt}]
    if args.image:
        data = base64.b64encode(args.image.read_bytes()).decode()
        content.append({"type": "image", "base64": data, "mime_type": "image/png"})
    return HumanMessage(content)


async def main() -> None:
    servers = json.loads((Path.home() / "mcp.json").read_text())["mcpServers"]
    client = MultiServerMCPClient({name: {"transport": "stdio", **one} for name, one in servers.items()})
    model = init_chat_model(args.model)
    summaries = SummarizationMiddleware(
        model, trigger=("tokens", 5000), keep=("messages", 1), trim_tokens_to_summarize=None
    )
    agent = create_agent(
        model,
        [run_shell, *await client.get_tools()],
        system_prompt="Do what you are asked.",
        middleware=[summaries],
    )
    before = messages_from_dict(json.loads(kept.read_text())) if args.resume else []
    messages = (await agent.ainvoke({"messages": [*before, asked()]}))["messages"]
    print(messages[-1].text)
    kept.write_text(json.dumps(messages_to_dict(messages)))


asyncio.run(main())
