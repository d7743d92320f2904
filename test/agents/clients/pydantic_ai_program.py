"""
A program with Pydantic AI, as its documentation has one: a shell for a tool, an MCP server, and the messages of the last run, which it
keeps in a file from run to run.

    python pydantic_ai_program.py MODEL PROMPT [--resume] [--image FILE]

MODEL has what it speaks before it: openai-chat:, openai-responses:, anthropic:.
"""

import argparse
import subprocess
from pathlib import Path

from pydantic_ai import Agent, BinaryContent, ModelMessagesTypeAdapter
from pydantic_ai.mcp import load_mcp_toolsets

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("prompt")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--image", type=Path)
args = parser.parse_args()

kept = Path.home() / "messages.json"
servers = load_mcp_toolsets(Path.home() / "mcp.json")
agent = Agent(args.model, instructions="Do what you are asked.", toolsets=servers)


@agent.tool_plain
def run_shell(command: str) -> str:
    """Runs a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout


prompt = [args.prompt]
if args.image:
    prompt.append(BinaryContent(args.image.read_bytes(), media_type="image/png"))
history = ModelMessagesTypeAdapter.validate_json(kept.read_bytes()) if args.resume else None
result = agent.run_sync(prompt, message_history=history)
print(result.output)
kept.write_bytes(result.all_messages_json())
