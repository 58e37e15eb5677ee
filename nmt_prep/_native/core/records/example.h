// A pair as the bytes of a tf.train.Example: int64 lists "inputs" and "targets", in this order, packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "records/varints.h"

namespace nmt_prep {

// Returns the byte size of an Example with IDs, given the sizes of their packed varints.
std::size_t example_size(std::size_t inputs, std::size_t targets);

// Writes the Example of ids, given as packed varints, and returns its end.
std::uint8_t* write_example(std::uint8_t* out, std::span<const std::uint8_t> inputs,
                            std::span<const std::uint8_t> targets);

// Appends the ids of such an Example in any valid encoding: packed or not, with features in any order, other features,
// and repeated fields, which are merged as protocol buffers define. Returns an error message, empty if there is no
// error; after an error the columns hold undefined rows. Never reads outside `data`.
std::string parse_example(std::span<const std::uint8_t> data, std::vector<std::int32_t>& inputs,
                          std::vector<std::int32_t>& targets);

}  // namespace nmt_prep
