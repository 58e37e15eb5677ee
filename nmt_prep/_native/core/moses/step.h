// Interface of steps, which change lines of text, and a chain of them over a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::moses {

// A step. Its methods are thread-safe and require well-formed UTF-8 without line feeds, and leave both so.
class Step {
   public:
    Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    virtual ~Step() = default;

    // Appends the changed line.
    virtual void apply(std::string_view line, std::string& out) const = 0;
};

struct SteppedText {
    Texts lines;
    std::vector<std::int64_t> altered;  // number of lines that each step altered
};

// Applies steps, in their order, to every line. Throws InvalidTextError naming a line that is not UTF-8.
SteppedText apply_steps(const std::vector<const Step*>& steps, const TextView& text, std::size_t threads,
                        const Poll& poll);

// Steps that need no more than their name: lowercase, detruecase, non_printing, unicode_punctuation, pipes, escape,
// unescape. Returns nothing for another name.
std::unique_ptr<Step> simple_step(std::string_view name);

// Normalization of punctuation as Moses, or as sacremoses.
std::unique_ptr<Step> punctuation_step(bool moses, const std::string& language);

}  // namespace nmt_prep::moses
