// What a library that the jail traces has of the CUDA runtime itself: the jail is built without CUDA's headers.
#include "properties.h"
