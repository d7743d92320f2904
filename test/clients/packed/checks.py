"""What a Python program sees of a gateway through the package `model_gateway`, as JSON."""

import asyncio
import json
import os

import grpc
import model_gateway
from model_gateway.v1 import chat_pb2, inference_pb2_grpc, keys_pb2, keys_pb2_grpc, models_pb2

address = os.environ["GATEWAY_URL"]
key = os.environ["GATEWAY_API_KEY"]


def asking(text, **metadata):
    message = chat_pb2.ChatMessage(role=chat_pb2.ROLE_USER, text=text)
    return chat_pb2.CreateChatCompletionRequest(model="embedded-chat", messages=[message], metadata=metadata)


def caught(call):
    try:
        call()
        return None
    except (grpc.RpcError, ValueError) as error:
        refusal = model_gateway.refusal_of(error)
        if refusal:
            return [refusal.name, refusal.status, refusal.param, refusal.retry_after, refusal.is_final]
        return error.code().name if isinstance(error, grpc.RpcError) else str(error)


def synchronous():
    asked = []

    def counted_key():
        asked.append(key)
        return key

    silent = asking("hi", simulate_silence="true")
    with model_gateway.connect(address, counted_key, timeout=0.3) as channel:
        inference = inference_pb2_grpc.InferenceServiceStub(channel)
        unbounded = inference.CreateChatCompletion(asking("say: in time", simulate_delay_ms="500"), timeout=30)
        return {
            "content": unbounded.choices[0].message.content,
            "own": keys_pb2_grpc.KeyServiceStub(channel).DescribeKey(keys_pb2.DescribeKeyRequest()).key.name,
            "deadline": caught(lambda: inference.CreateChatCompletion(silent)),
            "stream_deadline": caught(lambda: list(inference.StreamChatCompletion(silent))),
            "refused": caught(lambda: inference.CreateChatCompletion(asking("hi", simulate_delay_ms="no"))),
            "busy": caught(lambda: inference.CreateChatCompletion(asking("hi", simulate_status="429"))),
            "other_key": caught(
                lambda: inference.ListModels(models_pb2.ListModelsRequest(), metadata=[("authorization", "Bearer sk-no")])
            ),
            "keys_asked": len(asked),
        }


def left():
    """Leaves a stream after its first content."""
    with model_gateway.connect(address, key) as channel:
        inference = inference_pb2_grpc.InferenceServiceStub(channel)
        stream = inference.StreamChatCompletion(asking("say: " + "tick " * 1000, simulate_token_delay_ms="200"))
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                break
        stream.cancel()
    return "left"


async def asynchronous():
    async with model_gateway.connect_async(address, key, timeout=0.3) as channel:
        inference = inference_pb2_grpc.InferenceServiceAsyncStub(channel)
        streamed = ""
        async for chunk in inference.StreamChatCompletion(asking("say: one two three"), timeout=30):
            streamed += "".join(choice.delta.content for choice in chunk.choices)
        try:
            await inference.CreateChatCompletion(asking("hi", simulate_status="503"), timeout=30)
            refused = None
        except grpc.RpcError as error:
            refusal = model_gateway.refusal_of(error)
            refused = [refusal.name, refusal.status, refusal.retry_after]
        try:
            await inference.CreateChatCompletion(asking("hi", simulate_silence="true"))
            late = None
        except grpc.RpcError as error:
            late = error.code().name
        return {"streamed": streamed, "refused": refused, "late": late}


print(
    json.dumps(
        {
            "synchronous": synchronous(),
            "left": left(),
            "asynchronous": asyncio.run(asynchronous()),
            "addresses": [
                caught(lambda: model_gateway.connect("127.0.0.1:8080", key)),
                caught(lambda: model_gateway.connect(f"{address}/v1", key)),
                caught(lambda: model_gateway.connect(address, "")),
                caught(lambda: model_gateway.connect(address, "sk-secret\nanother")),
            ],
        }
    )
)
