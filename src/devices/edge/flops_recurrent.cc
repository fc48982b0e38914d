// FLOPs of recurrent layers and cells.
#include "edge/flops_call.h"

namespace kymo::edge {
namespace {

// Of the gates, for each hidden unit: the sums of the two products, the functions, and the new state.
int64_t gate_flops(Recurrent kind) {
  switch (kind) {
    case Recurrent::Lstm:
      return 4 + 3 + 2 + 4;  // sums, sigmoid, tanh, new cell and state
    case Recurrent::Gru:
      return 2 + 2 + 3 + 3;  // sums, sigmoid, candidate, new state
    case Recurrent::Plain:
      break;
  }
  return 2;
}

int64_t gate_count(Recurrent kind) { return kind == Recurrent::Lstm ? 4 : kind == Recurrent::Gru ? 3 : 1; }

// The steps of all sequences of the batch together.
FlopCount positions_of(const PackedNumbers<int64_t>* input) {
  if (input == nullptr || input->size() == 0) return FlopCount::unknown();
  return product(*input, 0, input->size() - 1);
}

}  // namespace

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, …; or with batch_sizes after the input. The
// first of the params of a layer and a direction have two dimensions: [gates x hidden, inputs], [gates x hidden,
// hidden] and, with a projection, [projected, hidden]. The biases have one.
FlopCount recurrent_flops(const FlopCall& call, Recurrent kind) {
  const size_t at = call[3].tag == Inputs::Tag::TensorList ? 3 : 2;
  const std::span<const InputView> params = call.list(at);
  const int64_t layers = call.integer(at + 2, -1), directions = call.integer(at + 5, 0) != 0 ? 2 : 1;
  if (params.empty() || params[0].sizes.size() != 2) return FlopCount::unknown();
  FlopCount weights = 0;
  for (const InputView& each : params) {
    if (each.tag != Inputs::Tag::Tensor) return FlopCount::unknown();
    if (each.sizes.size() == 2) weights = weights + elements(each.sizes);
  }
  const int64_t rows = params[0].sizes[0];
  if (rows % gate_count(kind) != 0) return FlopCount::unknown();
  const FlopCount hidden = FlopCount(rows / gate_count(kind)) * layers * directions;
  return positions_of(call.sizes(0)) * (weights * 2 + hidden * gate_flops(kind));
}

// input, hx, w_ih, w_hh, …
FlopCount recurrent_cell_flops(const FlopCall& call, Recurrent kind) {
  const PackedNumbers<int64_t>*const of_input = call.sizes(2), *const of_state = call.sizes(3);
  if (of_input == nullptr || of_state == nullptr || of_input->size() != 2 || of_state->size() != 2)
    return FlopCount::unknown();
  const int64_t rows = (*of_input)[0];
  if (rows % gate_count(kind) != 0) return FlopCount::unknown();
  const FlopCount weights = elements(*of_input) + elements(*of_state);
  return positions_of(call.sizes(0)) * (weights * 2 + FlopCount(rows / gate_count(kind)) * gate_flops(kind));
}

}  // namespace kymo::edge
