// Exceptions of the core for invalid text or options. The bindings convert each to the exception of the same name in
// nmt_prep.base.errors; messages are complete sentences for the user.
#pragma once

#include <stdexcept>

namespace nmt_prep {

// Bytes are not valid text.
struct InvalidTextError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The vocabulary cannot encode a text.
struct EncodeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A vocabulary cannot be built from the given text and options.
struct TrainingError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace nmt_prep
