// Decodes ids to text by the rules of the library's DecodeIds.
#include <string>

#include "sentencepiece/model.h"
#include "text/errors.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

// Appends bytes as text: each that is not part of a well-formed character becomes U+FFFD.
void append_bytes(std::string& bytes, std::string& text) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    while (left > 0) {
        const std::size_t valid = find_invalid_utf8(at, left);
        text.append(reinterpret_cast<const char*>(at), valid);
        if (valid == left) break;
        append_utf8(text, 0xFFFD);
        at += valid + 1;
        left -= valid + 1;
    }
    bytes.clear();
}

}  // namespace

void Model::decode_row(const std::int32_t* ids, std::size_t size, std::string& text) const {
    const std::size_t start = text.size();
    std::string bytes;
    bool at_start = true;
    for (std::size_t i = 0; i < size; ++i) {
        if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= pieces_.size())
            throw EncodeError("id " + std::to_string(ids[i]) + " is not in the vocabulary, which has " +
                              std::to_string(pieces_.size()) + " pieces; decode with the vocabulary used for encoding");
        const auto id = static_cast<std::size_t>(ids[i]);
        const Piece& piece = pieces_[id];
        if (piece.type == PieceType::kByte) {
            bytes.push_back(static_cast<char>(byte_of_piece(*piece.text)));
            continue;
        }
        append_bytes(bytes, text);
        at_start &= text.size() == start;
        if (piece.type == PieceType::kControl) continue;
        const bool strips = at_start && strips_first_space_ && piece.text->starts_with(kEscapedSpace);
        if (piece.type == PieceType::kUnknown)
            text += *unk_surface_;
        else
            text.append(surfaces_[id], strips ? 1 : 0);
        at_start &= !(strips && !strips_all_first_spaces_) && text.size() == start;
    }
    append_bytes(bytes, text);
    if (!denormalizer_) return;
    std::vector<std::uint8_t> buffer;
    const std::size_t length = denormalizer_->normalize(reinterpret_cast<const std::uint8_t*>(text.data()) + start,
                                                        text.size() - start, buffer, 0);
    text.resize(start);
    for (std::size_t i = 0; i < length; ++i) {
        if (buffer[i] == ' ' && denormalizer_->spaces_escaped())
            text += kEscapedSpace;
        else
            text.push_back(static_cast<char>(buffer[i]));
    }
}

Texts Model::decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                    const Poll& poll) const {
    return decode_rows(
        values, offsets, rows, threads,
        [this](const std::int32_t* ids, std::size_t size, std::string& text) { decode_row(ids, size, text); }, poll);
}

}  // namespace nmt_prep::sentencepiece
