#!/usr/bin/env python3
"""Makes normal_table.inc: the inverse of the normal distribution as 256 cubics, for random_core.metal.

What is approximated. A random word w has a sign, bit 31, and a magnitude m, its other 31 bits. z is the number that a
normal variable exceeds with probability p = (2 m + 1) / 2^33: the middle of the m-th of 2^31 equal slices of the tail's
half. n = 2 m + 1 is odd, hence never 0, and fits 32 bits.

How it is cut. n is converted to float, once, rounded to nearest even. The float's exponent (0 to 31: which power of
two n lies above) and the top three bits of its mantissa are the row of the table, so rows get narrower towards the tail just
as the quantile gets steeper. The lower 20 bits of the mantissa, as a float 1 <= f < 1.125 less 1.0625, are the variable
t of the row's cubic: exact, and centred. Row 256 is for the n that round up to 2^32: there p = 1/2 and z = 0.

How it is fitted. Remez's exchange gives the cubic with the least largest error. Its coefficients are then rounded to
float from the highest to the lowest; after each, the lower ones are fitted again to what is left.

Usage: make_normal_table.py            writes normal_table.inc beside itself
       make_normal_table.py --check    fails where that file is not what would be written
Only Python's standard library; about two seconds.
"""
import math
import pathlib
import statistics
import struct
import sys

OCTAVES = 32  # exponents of n
SUB_BITS = 3  # mantissa bits that choose the row within an octave
DEGREE = 3
HALF_WIDTH = 2.0 ** -(SUB_BITS + 1)  # t is in [-HALF_WIDTH, HALF_WIDTH)
GRID = 400


def upper_quantile(p):
    """z with P(normal > z) = p, for 0 < p <= 1/2, to about 1e-15: a close start, then Newton's steps on erfc."""
    z = -statistics.NormalDist().inv_cdf(p)
    for _ in range(2):
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        z += (math.erfc(z / math.sqrt(2)) / 2 - p) / density
    return z


def solve(rows, right):
    """Gauss with pivoting, for the handful of unknowns here."""
    size = len(right)
    m = [list(row) + [value] for row, value in zip(rows, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(i + 1, size):
            factor = m[r][i] / m[i][i]
            for c in range(i, size + 1):
                m[r][c] -= factor * m[i][c]
    result = [0.0] * size
    for i in reversed(range(size)):
        result[i] = (m[i][size] - sum(m[i][c] * result[c] for c in range(i + 1, size))) / m[i][i]
    return result


def minimax(points, values, terms):
    """The polynomial of `terms` coefficients in s = t / HALF_WIDTH with the least largest error on the points."""
    size = terms + 1
    at = [min(len(points) - 1, round((1 - math.cos(math.pi * k / terms)) / 2 * (len(points) - 1))) for k in range(size)]
    for _ in range(12):
        rows = [[points[i] ** k for k in range(terms)] + [(-1.0) ** j] for j, i in enumerate(at)]
        coefficients = solve(rows, [values[i] for i in at])[:terms]
        error = [v - sum(c * s**k for k, c in enumerate(coefficients)) for s, v in zip(points, values)]
        # The largest error of each run of one sign: the next exchange, where there are enough of them.
        peaks = [0]
        for i in range(1, len(error)):
            if (error[i] > 0) != (error[peaks[-1]] > 0):
                peaks.append(i)
            elif abs(error[i]) > abs(error[peaks[-1]]):
                peaks[-1] = i
        if len(peaks) != size or peaks == at:
            break
        at = peaks
    return coefficients


def as_float(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def fit(octave, sub):
    """The row's four coefficients, floats, lowest first, and the largest error before any rounding in the kernel."""
    points = [-math.cos(math.pi * i / GRID) for i in range(GRID + 1)]
    centre = 1 + (2 * sub + 1) * HALF_WIDTH
    exact = [upper_quantile((centre + s * HALF_WIDTH) * 2.0 ** (octave - 33)) for s in points]
    values = exact
    chosen = [0.0] * (DEGREE + 1)
    for k in reversed(range(DEGREE + 1)):
        highest = minimax(points, values, k + 1)[k]
        chosen[k] = as_float(highest / HALF_WIDTH**k)
        values = [v - chosen[k] * (s * HALF_WIDTH) ** k for s, v in zip(points, values)]
    return chosen, max(abs(v) for v in values)


def table():
    rows, worst = [], 0.0
    for octave in range(OCTAVES):
        for sub in range(1 << SUB_BITS):
            coefficients, error = fit(octave, sub)
            worst = max(worst, error)
            rows.append(coefficients)
    rows.append([0.0] * (DEGREE + 1))  # n that rounds to 2^32: the centre
    lines = [
        "// Made by make_normal_table.py, which says what this is. Rows of four floats, as bits: the cubic's",
        f"// coefficients, lowest first. Largest error of the cubics, before the rounding of their evaluation: {worst:.2e}.",
    ]
    for i, row in enumerate(rows):
        end = "," if i + 1 < len(rows) else ""
        lines.append("{" + ", ".join(f"0x{bits(c):08x}u" for c in row) + "}" + end)
    return "\n".join(lines) + "\n"


def main():
    path = pathlib.Path(__file__).with_name("normal_table.inc")
    text = table()
    if sys.argv[1:] == ["--check"]:
        if path.read_text() != text:
            sys.exit(f"{path} is not what {sys.argv[0]} makes: run it without --check")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        path.write_text(text)


if __name__ == "__main__":
    main()
