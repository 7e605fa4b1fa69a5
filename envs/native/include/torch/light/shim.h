// The part of torch's stable C interface that the light header stands on, declared here so that no
// header of torch is read: torch's own take a minute to compile, this takes a fraction of a second.
// Source: torch/csrc/inductor/aoti_torch/c/shim.h (PyTorch 2.11 to 2.13).
#pragma once

#include <cstdint>

extern "C" {
using KwTensorHandle = struct AtenTensorOpaque*;
int32_t aoti_torch_delete_tensor_object(KwTensorHandle);
int32_t aoti_torch_new_tensor_handle(KwTensorHandle, KwTensorHandle*);
int32_t aoti_torch_get_data_ptr(KwTensorHandle, void**);
int32_t aoti_torch_get_dim(KwTensorHandle, int64_t*);
int32_t aoti_torch_get_numel(KwTensorHandle, int64_t*);
int32_t aoti_torch_get_sizes(KwTensorHandle, int64_t**);
int32_t aoti_torch_get_strides(KwTensorHandle, int64_t**);
int32_t aoti_torch_get_dtype(KwTensorHandle, int32_t*);
int32_t aoti_torch_get_device_type(KwTensorHandle, int32_t*);
int32_t aoti_torch_get_device_index(KwTensorHandle, int32_t*);
int32_t aoti_torch_get_storage_offset(KwTensorHandle, int64_t*);
int32_t aoti_torch_is_contiguous(KwTensorHandle, bool*);
int32_t aoti_torch_empty_strided(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, KwTensorHandle*);
int32_t aoti_torch__reinterpret_tensor(KwTensorHandle, int64_t, const int64_t*, const int64_t*, int64_t, KwTensorHandle*);
int32_t aoti_torch_copy_(KwTensorHandle, KwTensorHandle, int32_t);
int32_t aoti_torch_zero_(KwTensorHandle);
void kernelwright_made(const void*, size_t, bool);  // native/recording.cpp
void kernelwright_filled(const void*, const void*, size_t, size_t);
}
