"""Forests as ONNX."""
