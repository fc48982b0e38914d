"""Runs the tests of a class on every device of this machine."""
import unittest

import numpy

from kymo import mps

DEVICES = mps.device_names()


def on_every_device(case):
    """A class decorator: each test of the class runs once for each device, as test_x_opencl_0."""
    for name in [name for name in dir(case) if name.startswith("test_")]:
        body = getattr(case, name)
        delattr(case, name)
        for device in DEVICES:
            setattr(case, f"{name}_{device.replace(':', '_')}", _on(device, body))
    return case


def _on(device, body):
    def run(self):
        mps.set_device(device)
        mps.set_stream(mps.default_stream())
        body(self)
        mps.synchronize()
    return run


@unittest.skipUnless(DEVICES, "this machine has no device")
class DeviceCase(unittest.TestCase):
    def assert_equal(self, tensor, wanted):
        numpy.testing.assert_array_equal(numpy.asarray(tensor), numpy.asarray(wanted))
