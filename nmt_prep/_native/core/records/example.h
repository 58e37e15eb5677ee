// A pair as the bytes of a tf.train.Example: int64 lists "inputs" and "targets", in this order, packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "records/varints.h"

namespace nmt_prep {

// Sizes in bytes: of each side's packed ids, and of the whole Example.
struct ExampleSize {
    std::size_t inputs;
    std::size_t targets;
    std::size_t total;
};

ExampleSize example_size(Ids inputs, Ids targets);

// write_example may touch this many bytes after the Example's end.
inline constexpr std::size_t kExampleSlack = kPackedSlack;

// Writes size.total bytes to `out` and returns their end; `size` is example_size of the same ids.
std::uint8_t* write_example(std::uint8_t* out, Ids inputs, Ids targets, const ExampleSize& size);

// Appends the ids of any valid encoding of such an Example: packed or not, features in any order, other features
// ignored, repeated fields merged as protocol buffers define it. Returns an error message, empty if there is no error;
// after an error the columns hold undefined rows. Never reads outside `data`.
std::string parse_example(std::span<const std::uint8_t> data, std::vector<std::int32_t>& inputs,
                          std::vector<std::int32_t>& targets);

}  // namespace nmt_prep
