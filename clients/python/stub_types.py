"""Writes the types of stubs, which grpcio-tools leaves out: a class of each service for channels, and one for asyncio's."""

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet, ServiceDescriptorProto


def stub_types(files: FileDescriptorSet) -> dict[str, tuple[str, str]]:
    """Returns, by the name of each proto with services, the text of its `.pyi`, and what its module gets besides."""
    modules = {f".{file.package}.{message.name}": module_of(file) for file in files.file for message in file.message_type}
    return {file.name: (types_of(file, modules), aliases_of(file)) for file in files.file if file.service}


def module_of(file: FileDescriptorProto) -> str:
    return file.name.removesuffix(".proto").rpartition("/")[2] + "_pb2"


def types_of(file: FileDescriptorProto, modules: dict[str, str]) -> str:
    named = sorted({modules[name] for service in file.service for name in names_in(service)})
    head = ["import grpc", "import grpc.aio", "", "from .. import _calls", f"from . import {', '.join(named)}", ""]
    classes = [
        line
        for service in file.service
        for kind, channel in [("", "grpc.Channel"), ("Async", "grpc.aio.Channel")]
        for line in class_of(service, kind, channel, modules)
    ]
    return "\n".join([*head, *classes])


def names_in(service: ServiceDescriptorProto) -> list[str]:
    return [name for method in service.method for name in (method.input_type, method.output_type)]


def class_of(service: ServiceDescriptorProto, kind: str, channel: str, modules: dict[str, str]) -> list[str]:
    lines = [f"class {service.name}{kind}Stub:", f"    def __init__(self, channel: {channel}) -> None: ..."]
    for method in service.method:
        call = kind + ("Streamed" if method.server_streaming else "Unary")
        types = ", ".join(f"{modules[name]}.{name.rpartition('.')[2]}" for name in (method.input_type, method.output_type))
        lines.append(f"    {method.name}: _calls.{call}[{types}]")
    return [*lines, ""]


def aliases_of(file: FileDescriptorProto) -> str:
    lines = [f"{service.name}AsyncStub = {service.name}Stub" for service in file.service]
    return "\n\n# The same, with the types that it has on a channel of asyncio.\n" + "\n".join(lines) + "\n"
