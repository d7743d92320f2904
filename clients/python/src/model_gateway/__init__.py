"""Typed gRPC clients of model-gateway.

    import model_gateway
    from model_gateway.v1 import inference_pb2_grpc, models_pb2

    with model_gateway.connect("https://gateway.example", api_key) as channel:
        inference = inference_pb2_grpc.InferenceServiceStub(channel)
        print([model.id for model in inference.ListModels(models_pb2.ListModelsRequest()).data])

Calls raise `grpc.RpcError`; `refusal_of` reads the gateway's reason in it.
"""

from ._channel import ApiKey, connect, connect_async
from ._refusal import Refusal, refusal_of
from .v1.errors_pb2 import Reason

__all__ = ["ApiKey", "Reason", "Refusal", "connect", "connect_async", "refusal_of"]
