"""Ranges on streams of a device, without CUDA: kymo.nvtx above the runtime of kymo.mps."""
import unittest

import kymo
from kymo import mps, nvtx
from on_every_device import DeviceCase, on_every_device
from traces import recorded


def device_range(trace, name):
    """The range of this name on a stream, which must be the only one."""
    event, = [event for event in trace.events if event.get("cat") == "gpu_user_annotation" and event["name"] == name]
    return event


@on_every_device
class DeviceRangeTest(DeviceCase):
    def setUp(self):
        if kymo._annotate.has_cuda():
            self.skipTest("this process has the CUDA driver: a number is a stream of it")

    def test_a_range_is_around_the_work_that_is_queued_inside_it(self):
        x = mps.zeros(1 << 16)
        with recorded() as trace:
            handle = nvtx._device_range_start("copies")
            for _ in range(3):
                x.fill_(2)
            nvtx._device_range_end(handle)
            mps.synchronize()
        around = device_range(trace(), "copies")
        fills = [event for event in trace().events if event.get("cat") == "gpu_memset"]
        self.assertEqual(len(fills), 3)
        # lavapipe takes the time of a range before the end of the operation, so only the order of the starts is sure. The
        # operations of one submission have equal parts of its time, and it starts where the first of them does.
        start = min(float(fill["ts"]) for fill in fills)
        self.assertLessEqual(float(around["ts"]), start)
        self.assertLessEqual(start, float(around["ts"]) + float(around["dur"]))

    def test_on_another_stream(self):
        side = mps.Stream()
        with recorded() as trace:
            handle = nvtx._device_range_start("there", side)
            nvtx._device_range_end(handle, stream=side)
            side.synchronize()
        device_range(trace(), "there")

    def test_nothing_is_recorded_without_a_recording(self):
        handle = nvtx._device_range_start("x")
        self.assertEqual(handle, 0)
        nvtx._device_range_end(handle)

    def test_mistakes(self):
        for call, error, text in (
            (lambda: nvtx._device_range_start(3), TypeError, "msg must be str, not int"),
            (lambda: nvtx._device_range_start("x", "0"), RuntimeError, "stream must be a Stream"),
            (lambda: nvtx._device_range_end("x"), TypeError, "range_handle must be"),
            (lambda: nvtx._device_range_end(None), TypeError, "range_handle must be"),
            (lambda: nvtx._device_range_end(1, "0"), RuntimeError, "stream must be a Stream"),
        ):
            with self.assertRaisesRegex(error, text):
                call()
        nvtx._device_range_end(12345)  # a number that no range has: counted, as for range_end


if __name__ == "__main__":
    unittest.main()
