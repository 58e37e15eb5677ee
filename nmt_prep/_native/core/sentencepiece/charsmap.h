// A model's own normalization table ("precompiled_charsmap"): a double array in the format of Darts-clone, and the
// replacements that its values point to. The longest matching rule wins.
#pragma once

#include <cstddef>
#include <cstdint>
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

    // A character that rules begin with.
    struct First {
        char32_t point;
        bool is_rule;        // a rule applies to this character alone
        bool begins_longer;  // a longer rule begins with this character
    };
    struct Beginnings {
        std::vector<First> first;
        std::vector<char32_t> second;  // second characters in rules, some repeatedly
    };

    // Returns how the rules begin. Throws NotCovered for a table that no version of the library would write.
    Beginnings beginnings() const;

   private:
    class RuleWalk;

    void check_units() const;
    std::string_view replacement_at(std::uint32_t value) const;
    bool is_utf8_at(std::uint32_t value) const;
    template <class Visit>
    void for_each_match(const std::uint8_t* text, std::size_t size, const Visit& visit) const;

    std::vector<std::uint32_t> units_;  // blocks of 256, closed under exclusive or with a byte
    std::string replacements_;
    bool replaces_by_utf8_ = false;  // `replacements_` as a whole is UTF-8
};

}  // namespace nmt_prep::sentencepiece
