"""Lists the models, asks one of them, has an answer streamed, and handles a refusal by its reason."""

import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import grpc
import model_gateway
from model_gateway import Reason
from model_gateway.v1 import chat_pb2, inference_pb2_grpc, models_pb2

Answer = TypeVar("Answer")

address = os.environ.get("GATEWAY_URL", "http://127.0.0.1:8080")
model = os.environ.get("GATEWAY_MODEL", "embedded-chat")


def main() -> None:
    with model_gateway.connect(address, os.environ["GATEWAY_API_KEY"], timeout=60) as channel:
        inference = inference_pb2_grpc.InferenceServiceStub(channel)
        models = inference.ListModels(models_pb2.ListModelsRequest())
        print("models:", ", ".join(one.id for one in models.data))

        answer, call = inference.CreateChatCompletion.with_call(asking("say: hello from Python"), timeout=30)
        cost = dict(call.initial_metadata()).get("x-gateway-cost")
        print(f"answer: {answer.choices[0].message.content},", "at a cost of", cost)

        print("stream: ", end="")
        for chunk in inference.StreamChatCompletion(asking("say: one two three")):
            print("".join(choice.delta.content for choice in chunk.choices), end="", flush=True)
        print()

        try:
            patiently(lambda: inference.CreateChatCompletion(asking("hello", temperature=9)))
        except grpc.RpcError as error:
            refusal = model_gateway.refusal_of(error)
            if refusal is None:  # A broken connection, or a deadline that passed.
                raise
            if refusal.reason == Reason.REASON_INSUFFICIENT_CREDIT:
                sys.exit(f"Recharge the account: {refusal.message}")
            print(f"refused: {refusal.name} of {refusal.param}: {refusal.message}")


def asking(text: str, temperature: float | None = None) -> chat_pb2.CreateChatCompletionRequest:
    message = chat_pb2.ChatMessage(role=chat_pb2.ROLE_USER, text=text)
    return chat_pb2.CreateChatCompletionRequest(model=model, messages=[message], temperature=temperature)


def patiently(call: Callable[[], Answer], attempts: int = 3) -> Answer:
    """Makes a call again where the gateway says when: then nothing was charged."""
    for _ in range(attempts - 1):
        try:
            return call()
        except grpc.RpcError as error:
            refusal = model_gateway.refusal_of(error)
            if refusal is None or refusal.retry_after is None or refusal.is_final:
                raise
            time.sleep(refusal.retry_after)
    return call()


if __name__ == "__main__":
    main()
