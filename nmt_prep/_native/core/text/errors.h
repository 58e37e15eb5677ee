// What the core throws when text or options are at fault. The bindings turn each into the exception of the same name in
// nmt_prep.errors; messages are complete sentences for the user.
#pragma once

#include <stdexcept>

namespace nmt_prep {

// Bytes that are not text.
struct InvalidTextError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A text that the vocabulary cannot express.
struct EncodeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A vocabulary that cannot be built from the text and options given.
struct TrainingError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace nmt_prep
