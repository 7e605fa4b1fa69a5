// PyTorch's own operators as functions of a plan (native/plan/call.h), where an answer may use them: the policy
// `torch_allowed`. The sandbox's inside is started with this library and PyTorch's in it, so that a job that needs
// them has them at once.
//
// Holds: an operator is found by its name among `aten`, and given what its schema says. Does not hold: whoever calls
// it may call PyTorch in other ways, too; under this policy that is no crime.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ScalarOps.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include "../include/kernelwright/value.h"

namespace {

using c10::IValue;
using c10::TypeKind;
using kernelwright::Value;
using kernelwright::Wire;

struct Made { at::Tensor tensor; Wire wire; };  // a result, until it is released

at::Tensor tensor_of(const Wire& wire) {
  const auto type = static_cast<c10::ScalarType>(wire.type);
  const auto whole = at::from_blob(wire.storage, {wire.bytes / kernelwright::bytes_of(wire.type)}, at::TensorOptions(type));
  return whole.as_strided({wire.sizes, static_cast<size_t>(wire.dim)}, {wire.strides, static_cast<size_t>(wire.dim)}, wire.offset);
}

double real(const Value& one) {
  double value;
  memcpy(&value, &one.number, sizeof value);
  return one.kind == kernelwright::kReal ? value : static_cast<double>(one.number);
}

c10::Scalar number_of(const Value& one) {
  if (one.kind == kernelwright::kReal) return real(one);
  if (one.kind == kernelwright::kTruth) return one.number != 0;
  return one.number;
}

// A number of Python's where a tensor is meant: it does not decide the result's type.
at::Tensor wrapped(const Value& one) {
  at::Tensor found = c10::scalar_to_tensor(number_of(one));
  found.unsafeGetTensorImpl()->set_wrapped_number(true);
  return found;
}

IValue listed(const Value& one, const c10::Type& element) {
  const bool of_tensors = element.kind() == TypeKind::TensorType || element.kind() == TypeKind::OptionalType;
  const bool reals = one.kind == kernelwright::kReals && element.kind() == TypeKind::FloatType;
  const bool fits = reals || one.kind == (of_tensors ? kernelwright::kTensors : kernelwright::kWholes);
  TORCH_CHECK(fits || (one.kind == kernelwright::kWholes && !one.number), "another list was expected");
  const auto* wires = static_cast<const Wire*>(one.pointer);
  const auto* wholes = static_cast<const int64_t*>(one.pointer);
  if (element.kind() == TypeKind::TensorType) {
    c10::List<at::Tensor> found;
    for (int64_t i = 0; i < one.number; ++i) found.push_back(wires[i].dim < 0 ? at::Tensor() : tensor_of(wires[i]));
    return found;
  }
  if (element.kind() == TypeKind::OptionalType) {
    c10::List<std::optional<at::Tensor>> found;
    for (int64_t i = 0; i < one.number; ++i) found.push_back(wires[i].dim < 0 ? std::nullopt : std::optional(tensor_of(wires[i])));
    return found;
  }
  if (element.kind() == TypeKind::FloatType) {
    c10::List<double> found;
    const auto* given = static_cast<const double*>(one.pointer);
    for (int64_t i = 0; i < one.number; ++i) found.push_back(reals ? given[i] : static_cast<double>(wholes[i]));
    return found;
  }
  if (element.kind() == TypeKind::BoolType) {
    c10::List<bool> found;
    for (int64_t i = 0; i < one.number; ++i) found.push_back(wholes[i] != 0);
    return found;
  }
  return c10::List<int64_t>(c10::ArrayRef<int64_t>(wholes, one.number));
}

IValue value_of(const Value& one, const c10::TypePtr& type) {
  if (one.kind == kernelwright::kNone) return {};
  switch (type->kind()) {
    case TypeKind::OptionalType: return value_of(one, type->castRaw<c10::OptionalType>()->getElementType());
    case TypeKind::TensorType: return one.kind == kernelwright::kTensor ? tensor_of(*static_cast<const Wire*>(one.pointer)) : wrapped(one);
    case TypeKind::ListType: return listed(one, *type->castRaw<c10::ListType>()->getElementType());
    case TypeKind::FloatType: return real(one);
    case TypeKind::BoolType: return one.number != 0;
    case TypeKind::StringType:
      TORCH_CHECK(one.kind == kernelwright::kText, "a text was expected");
      return std::string(static_cast<const char*>(one.pointer), one.number);
    case TypeKind::NumberType: return number_of(one);
    default: return one.number;  // whole numbers, and enumerations as such
  }
}

Value result_of(const IValue& one) {
  if (!one.isTensor() || !one.toTensor().defined()) return {kernelwright::kNone, 0, nullptr};
  const at::Tensor& tensor = one.toTensor();
  TORCH_CHECK(tensor.dim() <= kernelwright::kMostDim, "a tensor of ", tensor.dim(), " dimensions");
  const auto& storage = tensor.storage();
  Wire wire{storage.mutable_data(), static_cast<int64_t>(storage.nbytes()), -1, static_cast<int64_t>(tensor.scalar_type()), 0, tensor.storage_offset(), tensor.dim(), {}, {}};
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), wire.sizes);
  std::copy(tensor.strides().begin(), tensor.strides().end(), wire.strides);
  auto* made = new Made{tensor, wire};
  return {kernelwright::kTensor, reinterpret_cast<int64_t>(made), &made->wire};
}

}  // namespace

extern "C" {

int64_t kernelwright_named(const char* name, const Value* given, int64_t count, Value* results, int64_t most, char* error, int64_t error_bytes) try {
  const c10::InferenceMode guard;
  const std::string all = std::string("aten::") + name;
  const size_t dot = all.find('.');
  const auto operation = c10::Dispatcher::singleton().findSchemaOrThrow(all.substr(0, dot).c_str(), dot == std::string::npos ? "" : all.substr(dot + 1).c_str());
  const auto& arguments = operation.schema().arguments();
  TORCH_CHECK(static_cast<size_t>(count) == arguments.size(), name, " takes ", arguments.size(), " arguments");
  torch::jit::Stack stack;
  for (int64_t i = 0; i < count; ++i) {
    const bool said = given[i].kind != kernelwright::kLeftOut;
    stack.push_back(said ? value_of(given[i], arguments[i].real_type()) : arguments[i].default_value().value_or(IValue()));
  }
  operation.callBoxed(&stack);
  TORCH_CHECK(static_cast<int64_t>(stack.size()) <= most, name, " gives back too much");
  int64_t number = 0;
  for (const IValue& one : stack) {
    if (one.isTensorList()) {
      TORCH_CHECK(stack.size() == 1 && static_cast<int64_t>(one.toTensorVector().size()) <= most, name, " gives back too much");
      for (const at::Tensor& part : one.toTensorVector()) results[number++] = result_of(part);
    } else {
      results[number++] = result_of(one);
    }
  }
  return number;
} catch (const std::bad_alloc&) {
  return kernelwright::kNoMemory;
} catch (const std::exception& what) {
  snprintf(error, error_bytes, "%s", what.what());
  return strstr(what.what(), "can't allocate memory") ? kernelwright::kNoMemory : kernelwright::kThrown;
}

void kernelwright_begin(const kernelwright::Room*, int64_t) {}

int64_t kernelwright_released(const Value* results, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (results[i].kind == kernelwright::kTensor) delete reinterpret_cast<Made*>(results[i].number);
  return 0;
}

}
