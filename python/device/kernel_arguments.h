// The arguments of a call of a kernel, from Python.
#pragma once

#include <Python.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/types.h"

namespace kymo::python {

// Converts objects as torch.mps does:
//
//   Tensor                               its memory
//   a tensor of another library on CUDA  its memory, by DLPack's functions in C or by __dlpack__()
//   float, int, bool, an array of 0 dimensions on the CPU   a number
//   a list or tuple of numbers or of tensors                a list; empty: kymo.InvalidArgument
//   bytes                                                   a structure, unchanged
//   a Sampler of kymo.mps                                   its bits
//   other arrays on the CPU, and everything else            kymo.InvalidType
//
// Both exceptions are RuntimeErrors, which PyTorch raises.
//
// It refers to the objects of the call, which must live as long as it does.
class KernelArguments {
 public:
  // `casts` is None, a str for all numbers, or a dict from the index of an argument to a str.
  KernelArguments(const device::Kernel& kernel, PyObject* args, PyObject* casts, const device::Stream& stream);

  std::span<const device::KernelArgument> list() const { return list_; }
  // After the launch: work that other libraries queue from now on on the tensors among the arguments runs after it.
  void order_others() const;

 private:
  enum class Cast : uint8_t { None, Fp16, Bf16, Int32, Int16, Int8, UInt8 };

  void add(Py_ssize_t index, PyObject* object, Cast cast);
  void add_list(Py_ssize_t index, PyObject* list, Cast cast);
  void add_number(PyObject* number, Cast cast);
  bool add_array(Py_ssize_t index, PyObject* object, Cast cast);
  bool add_exchanged(PyObject* object);
  void add_bytes(PyObject* object);
  static Cast parse_cast(PyObject* text);
  static int64_t whole(int64_t value, Cast cast);
  static double rounded(double value, Cast cast);
  void check_indices(PyObject* casts, Py_ssize_t count) const;
  std::string about(Py_ssize_t index, const std::string& text) const;
  [[noreturn]] void refuse(Py_ssize_t index, const std::string& text) const;
  [[noreturn]] void refuse_type(Py_ssize_t index, const std::string& text) const;
  [[noreturn]] void refuse_element(Py_ssize_t index, Py_ssize_t element, const char* wanted, PyObject* given) const;

  const device::Kernel& kernel_;
  const device::Stream& stream_;
  std::vector<device::KernelArgument> list_;
  // What list_ refers to.
  std::deque<device::Tensor> tensors_;
  std::deque<std::vector<device::Tensor>> tensor_lists_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<std::vector<double>> floats_;
  std::deque<std::vector<std::byte>> bytes_;
  std::vector<Owned> held_;
  std::vector<std::shared_ptr<void>> owners_;  // of tensors of other libraries
  // Streams of other libraries that must wait for the launch, and a tensor whose library must be asked for its stream.
  std::vector<uint64_t> streams_;
  PyObject* foreign_ = nullptr;
};

}  // namespace kymo::python
