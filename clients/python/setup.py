"""Builds the package: its messages and stubs are generated from the protos of this repository."""

import os
import pathlib
import shutil
import sys

from setuptools import setup

os.chdir(pathlib.Path(__file__).parent)
sys.path.insert(0, os.getcwd())
from generate import ROOT, generate  # noqa: E402

generated = pathlib.Path("build/generated")
shutil.rmtree(generated, ignore_errors=True)
needs = generate(generated)
shutil.copy(ROOT / "LICENSE", "LICENSE")

setup(
    packages=["model_gateway", "model_gateway.v1"],
    package_dir={"model_gateway": "src/model_gateway", "model_gateway.v1": str(generated / "model_gateway/v1")},
    package_data={"model_gateway": ["py.typed", "*.pyi"], "model_gateway.v1": ["*.pyi"]},
    install_requires=needs,
)
