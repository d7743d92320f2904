"""Generates the package's messages and stubs from the gateway's protos, with grpcio-tools.

Bounds, paths and access rules are the gateway's: they are left out, so that the package needs no package that defines
them. The code is placed in `model_gateway.v1`, for its imports name their files from there.
"""

import pathlib
import re
import tempfile

import grpc_tools
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc
from stub_types import stub_types

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [ROOT / "proto", ROOT / "third_party/googleapis", ROOT / "third_party/protovalidate"]
WELL_KNOWN = pathlib.Path(grpc_tools.__file__).parent / "_proto"
OF_THE_GATEWAY = ("google/api/", "buf/validate/")


def generate(into: pathlib.Path) -> list[str]:
    """Writes `model_gateway/v1` below a folder. Returns what the generated code needs, as pip names it."""
    with tempfile.TemporaryDirectory() as folder:
        read, written = pathlib.Path(folder, "read.binpb"), pathlib.Path(folder, "written.binpb")
        names = sorted(str(path.relative_to(SOURCES[0])) for path in SOURCES[0].rglob("*.proto"))
        paths = [f"-I{path}" for path in [*SOURCES, WELL_KNOWN]]
        run([*paths, "--include_imports", f"--descriptor_set_out={read}", *names])
        files = placed(FileDescriptorSet.FromString(read.read_bytes()))
        written.write_bytes(files.SerializeToString())
        into.mkdir(parents=True, exist_ok=True)
        outputs = [f"--{kind}_out={into}" for kind in ["python", "pyi", "grpc_python"]]
        run([f"--descriptor_set_in={written}", *outputs, *map(place_of, names)])
    package = into / "model_gateway/v1"
    (package / "__init__.py").write_text('"""The messages (`*_pb2`) and stubs (`*_pb2_grpc`) of the gateway."""\n')
    type_stubs(package, files)
    return [f"grpcio>={grpc_version(package)}", f"grpcio-status>={grpc_version(package)}", protobuf_of(package)]


def type_stubs(package: pathlib.Path, files: FileDescriptorSet) -> None:
    """Gives stubs their types, and takes away the modules that have no service."""
    written = {f"{pathlib.PurePosixPath(name).stem}_pb2_grpc": texts for name, texts in stub_types(files).items()}
    for module in package.glob("*_pb2_grpc.py"):
        if module.stem not in written:
            module.unlink()
            continue
        types, aliases = written[module.stem]
        module.with_suffix(".pyi").write_text(types)
        with module.open("a") as code:
            code.write(aliases)


def run(arguments: list[str]) -> None:
    if protoc.main(["protoc", *arguments]) != 0:
        raise SystemExit(f"protoc failed: {' '.join(arguments)}")


def placed(files: FileDescriptorSet) -> FileDescriptorSet:
    """Returns the files below their new folder, without the gateway's own options."""
    files.DiscardUnknownFields()  # The options: they are extensions that nothing here knows.
    kept = [file for file in files.file if not file.name.startswith(OF_THE_GATEWAY)]
    for file in kept:
        needed = [place_of(name) for name in file.dependency if not name.startswith(OF_THE_GATEWAY)]
        file.name = place_of(file.name)
        file.dependency[:] = needed
        del file.extension[:]
    return FileDescriptorSet(file=kept)


def place_of(name: str) -> str:
    return re.sub(r"^modelgateway/", "model_gateway/", name)


def grpc_version(package: pathlib.Path) -> str:
    text = (package / "inference_pb2_grpc.py").read_text()
    return re.search(r"GRPC_GENERATED_VERSION = '([\d.]+)'", text).group(1)


def protobuf_of(package: pathlib.Path) -> str:
    """The generated code runs with its own major version of protobuf and the next one."""
    text = (package / "inference_pb2.py").read_text()
    major, minor, patch = re.search(r"Domain\.PUBLIC,\s+(\d+),\s+(\d+),\s+(\d+)", text).groups()
    return f"protobuf>={major}.{minor}.{patch},<{int(major) + 2}"
