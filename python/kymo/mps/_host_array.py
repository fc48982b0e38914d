"""The arrays that Tensor.cpu() returns."""
import numpy


class HostArray(numpy.ndarray):
    """An array of NumPy, with the methods that people call on a tensor of PyTorch on the CPU.

    >>> from kymo import mps
    >>> mps.ones(2).cpu().numpy()
    array([1., 1.], dtype=float32)
    """

    @property
    def device(self):
        return "cpu"

    def numpy(self):
        """A plain array with the same memory."""
        return self.view(numpy.ndarray)

    def cpu(self):
        return self

    def numel(self):
        return self.size
