"""Arrays that are a model's input already: .npz, .npy and raw .bin files."""

from __future__ import annotations

from uhost.inputs._input import InputFile, InputKind, Prepared


def _read(file: InputFile) -> Prepared:
    from uhost.runtime.samples import quantization_text, read_samples

    samples = read_samples(file.path, file.graph, file.quantize)
    if not file.quantize:
        return Prepared(samples)
    inputs = [file.graph.tensors[name] for name in file.graph.inputs]
    text = "; ".join(
        f"{tensor.name} to {tensor.dtype} with {quantization_text(tensor)}"
        for tensor in inputs
        if tensor.quantization is not None and tensor.dtype.numpy.kind != "f"
    )
    return Prepared(samples, f"floats are quantised: {text}" if text else "")


INPUT = InputKind((".npz", ".npy", ".bin"), _read)
