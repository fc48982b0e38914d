"""Samplers: how a kernel reads a texture between and outside of its pixels."""
import dataclasses

from kymo.errors import InvalidArgument

# The words of each part, in the order of their numbers, and where its bits are.
_PARTS = {
    "filter": (("nearest", "linear"), (1,)),
    "address": (("clamp_to_edge", "repeat", "mirrored_repeat", "clamp_to_zero", "clamp_to_border"), (2, 5, 8)),
    "coord": (("normalized", "pixel"), (0,)),
    "border_color": (("transparent_black", "opaque_black", "opaque_white"), (11,)),
}


@dataclasses.dataclass(frozen=True)
class Sampler:
    """An argument for a parameter `sampler` of a kernel: see sampler()."""

    filter: str = "nearest"
    address: str = "clamp_to_edge"
    coord: str = "normalized"
    border_color: str = "transparent_black"

    def __post_init__(self):
        for name, (words, _shifts) in _PARTS.items():
            if getattr(self, name) not in words:
                raise InvalidArgument(f"sampler: {name} must be one of {', '.join(words)}, not {getattr(self, name)!r}")

    @property
    def _sampler_bits(self):
        """What the kernel gets."""
        return sum(words.index(getattr(self, name)) << shift for name, (words, shifts) in _PARTS.items()
                   for shift in shifts)


def sampler(filter="nearest", address="clamp_to_edge", coord="normalized", border_color="transparent_black"):
    """An argument for a parameter `sampler` of a kernel. The words are those of Metal.

    >>> from kymo import mps
    >>> mps.sampler("linear")
    Sampler(filter='linear', address='clamp_to_edge', coord='normalized', border_color='transparent_black')
    >>> lib = mps.compile_shader('''
    ... #include <metal_stdlib>
    ... using namespace metal;
    ... kernel void enlarge(texture2d<float, access::write> out, texture2d<float> image, sampler s,
    ...                     uint2 at [[thread_position_in_grid]]) {
    ...   out.write(image.sample(s, (float2(at) + 0.5f) / float2(out.get_width(), out.get_height())), at);
    ... }''')
    >>> out = mps.zeros(1, 4)
    >>> lib.enlarge(out, mps.tensor([[1.0, 2.0]]), mps.sampler("linear"))
    >>> out.tolist()
    [[1.0, 1.25, 1.75, 2.0]]
    """
    return Sampler(filter, address, coord, border_color)
