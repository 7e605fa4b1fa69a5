// How a function of an answer's C++ is called: tagged values in, tagged values out.
//
// By guest/library.py where a plan is written down, by native/plan/call.h where it is played.
#pragma once

#include "move.h"

namespace kernelwright {

enum Kind : int64_t { kNone, kTensor, kWhole, kReal, kTruth, kWholes, kTensors, kText, kLeftOut, kReals };
// `pointer`: a Wire, or `number` of them (of -1 dimensions: a gap), of numbers or of characters. kLeftOut: what the
// function takes where a call says nothing. Of a result that is a tensor, `number` is what frees it.
struct Value {
  int64_t kind, number;
  void* pointer;
};

// Where the number-th memory that a call makes is to lie, if it has so many bytes: an output's place.
struct Room {
  void* at;
  int64_t bytes;
};

// What such a call gives back besides a count of results; kSequence is added where they are one value of Python's
// with parts, however many.
enum Wrong : int64_t { kThrown = -1, kNoMemory = -2 };
constexpr int64_t kSequence = 1 << 20;

extern "C" {
typedef int64_t (*Named)(const char* name, const Value* given, int64_t count, Value* results, int64_t most, char* error, int64_t error_bytes);
typedef void (*Begin)(const Room* rooms, int64_t count);  // before a call
typedef int64_t (*Released)(const Value* results, int64_t count);  // after it: rooms in use, and kSequence times the results that are kept
}

}  // namespace kernelwright
