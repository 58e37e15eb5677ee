// A model's own normalisation table ("precompiled_charsmap"): a double array in the format of Darts-clone, and the
// replacements that its values point to. The longest matching rule wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nmt_prep::sentencepiece {

// Thrown for models that only the library supports; the message gives the reason.
struct NotCovered : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class CharsMap {
   public:
    // An empty table changes nothing. Throws std::invalid_argument for a damaged table.
    explicit CharsMap(std::string_view table);

    // Returns the size of the longest rule that `text` begins with, and its replacement; 0 if there is none.
    std::size_t match(const std::uint8_t* text, std::size_t size, std::string_view& replacement) const;

    // Returns true if the text begins with a rule, with the replacement of the shortest one.
    bool match_shortest(const std::uint8_t* text, std::size_t size, std::string_view& replacement) const;

    // Calls visit(left side) for each rule. Throws NotCovered for a table that no version of the library would write.
    void for_each_rule(const std::function<void(std::string_view)>& visit) const;

   private:
    void check_units() const;
    std::string_view replacement_at(std::uint32_t value) const;
    template <class Visit>
    void for_each_match(const std::uint8_t* text, std::size_t size, const Visit& visit) const;

    std::vector<std::uint32_t> units_;  // blocks of 256, closed under exclusive or with a byte
    std::string replacements_;
};

}  // namespace nmt_prep::sentencepiece
