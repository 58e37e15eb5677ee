// Finds the text that each piece of an encoded line was made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sentencepiece/file.h"
#include "sentencepiece/normalizer.h"
#include "text/batch.h"

namespace nmt_prep::sentencepiece {

// For each piece the bytes of its line that it was made from, [begins[k], ends[k]), and for each line whether these
// were found. If not, the spans of the line are empty.
struct PieceSpans {
    std::unique_ptr<std::int32_t[]> begins, ends;
    std::unique_ptr<bool[]> found;
};

class PieceTracer {
   public:
    // Takes a model of any kind. Throws NotCovered for one whose normalization the core does not know,
    // std::invalid_argument for a damaged one.
    explicit PieceTracer(const ModelFile& file);

    // Returns the ID spans of lines. `offsets` must ascend, and have one more than lines. A byte piece has the
    // span of its character; the space before a line has an empty span. Throws EncodeError for an id outside the
    // vocabulary.
    PieceSpans spans(const TextView& text, const std::int32_t* values, const std::int64_t* offsets) const;

    // Returns the normalized text of a line, with spaces as in pieces.
    std::string normalized(const TextView& text, std::size_t line) const;

   private:
    const Piece& piece(std::int32_t id) const { return pieces_[static_cast<std::size_t>(id)]; }
    std::size_t size_at(const Normalizer::Trace& trace, std::size_t at, const Piece& piece, const Piece* next) const;
    bool spans_of_line(const std::int32_t* ids, std::size_t size, const Normalizer::Trace& trace, std::int32_t* begins,
                       std::int32_t* ends) const;

    std::vector<Piece> pieces_;
    Normalizer normalizer_;
};

}  // namespace nmt_prep::sentencepiece
