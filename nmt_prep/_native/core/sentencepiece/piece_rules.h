// Which strings may become pieces in training: the rules of the sentencepiece library.
#pragma once

#include <cstdint>

namespace nmt_prep::sentencepiece {

inline constexpr char32_t kSpacePoint = 0x2581;      // stands for a space
inline constexpr char32_t kUncoveredPoint = 0x2585;  // stands for a character that is not in the vocabulary
inline constexpr char32_t kBoundaryPoint = 0x1F;     // no piece crosses it

// Scripts in the Unicode version that the library uses. Characters without one are Common.
enum class TrainingScript : std::uint8_t { kCommon = 0, kInherited = 1, kHan = 2, kHiragana = 3, kKatakana = 4 };

// Returns the script of a character; scripts without a name above are distinct numbers.
TrainingScript training_script(char32_t point);

struct PieceOptions {
    std::uint32_t longest = 16;  // characters
    bool split_by_script = true;
    bool split_by_number = true;
    bool split_by_whitespace = true;
    bool split_digits = false;
    bool whitespace_is_suffix = false;
    bool whitespace_only_pieces = false;
};

// The properties of a string that the rules depend on. The shapes of two neighbors can be joined.
struct PieceShape {
    std::uint32_t length = 0;       // characters
    std::uint8_t first_script = 0;  // script of the first character that has one
    std::uint8_t last_script = 0;   // script of the last character
    bool begins_space = false;      // the first character is a space
    bool ends_space = false;        // the last character is a space
    bool later_space = false;       // a character after the first is a space
    bool earlier_space = false;     // a character before the last is a space
    bool all_spaces = false;
    bool has_digit = false;
    bool excluded = false;  // contains a character that no piece may have, or two scripts
};

class PieceRules {
   public:
    explicit PieceRules(const PieceOptions& options) : options_(options) {}

    PieceShape shape(char32_t point) const;
    PieceShape joined(const PieceShape& left, const PieceShape& right) const;

    // Returns true if a string of this shape may be a piece.
    bool accepts(const PieceShape& shape) const;

   private:
    PieceOptions options_;
};

}  // namespace nmt_prep::sentencepiece
