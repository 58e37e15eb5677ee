// The spans are those of the library's SentencePieceText, apart from the bytes of a character.
#include "sentencepiece/spans.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "text/errors.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

bool has_at(const Normalizer::Trace& trace, std::size_t at, std::string_view text) {
    return std::string_view(trace.text).substr(std::min(at, trace.text.size())).starts_with(text);
}

}  // namespace

// Adds normalized bytes that were made from the bytes [begin, end) of the line.
void Normalizer::Trace::add(std::string_view part, std::size_t begin, std::size_t end) {
    text += part;
    begins.insert(begins.end(), part.size(), static_cast<std::int32_t>(begin));
    ends.insert(ends.end(), part.size(), static_cast<std::int32_t>(end));
}

void Normalizer::trace(const std::uint8_t* text, std::size_t size, Trace& out) const {
    out.text.clear();
    out.begins.clear();
    out.ends.clear();
    std::size_t at = 0;
    std::string_view part;
    if (spec_.remove_extra_whitespaces) {
        while (at != size) {
            const std::size_t used = prefix(text + at, size - at, part);
            if (part != " ") break;
            at += used;
        }
    }
    if (at == size) return;
    const std::string_view space = spec_.escape_whitespaces ? kEscapedSpace : " ";
    if (!suffix_ && spec_.add_dummy_prefix) out.add(space, at, at);
    bool after_space = spec_.remove_extra_whitespaces;
    while (at != size) {
        const std::size_t end = at + prefix(text + at, size - at, part);
        while (after_space && part.starts_with(' ')) part.remove_prefix(1);
        if (!part.empty()) after_space = spec_.remove_extra_whitespaces && part.back() == ' ';
        for (std::size_t i = 0; i < part.size(); ++i) out.add(part[i] == ' ' ? space : part.substr(i, 1), at, end);
        at = end;
    }
    if (spec_.remove_extra_whitespaces) {
        while (out.text.ends_with(space)) {
            const std::size_t kept = out.text.size() - space.size();
            out.text.resize(kept);
            out.begins.resize(kept);
            out.ends.resize(kept);
        }
    }
    if (suffix_ && spec_.add_dummy_prefix) out.add(space, size, size);
}

PieceTracer::PieceTracer(const ModelFile& file)
    : pieces_(file.pieces), normalizer_(file.normalizer, file.whitespace_is_suffix, verbatim_texts(file)) {}

// Returns the size of a piece's text at a place, 0 if the text there is another. An unknown piece ends where the
// next one begins.
std::size_t PieceTracer::size_at(const Normalizer::Trace& trace, std::size_t at, const Piece& piece,
                                 const Piece* next) const {
    if (piece.type == PieceType::kByte)
        return at < trace.text.size() && trace.text[at] == static_cast<char>(byte_of_piece(*piece.text)) ? 1 : 0;
    if (piece.type != PieceType::kUnknown)
        return piece.in_text() && has_at(trace, at, *piece.text) ? piece.text->size() : 0;
    std::size_t end = at;
    while (end < trace.text.size()) {
        end += character_size(static_cast<std::uint8_t>(trace.text[end]));
        if (next != nullptr && has_at(trace, end, *next->text)) break;
    }
    return std::min(end, trace.text.size()) - at;
}

// Writes the spans of a line's pieces; returns false if the pieces are not those of the line.
bool PieceTracer::spans_of_line(const std::int32_t* ids, std::size_t size, const Normalizer::Trace& trace,
                                std::int32_t* begins, std::int32_t* ends) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t taken = size_at(trace, at, piece(ids[i]), i + 1 < size ? &piece(ids[i + 1]) : nullptr);
        if (taken == 0) return false;
        begins[i] = trace.begins[at];
        ends[i] = trace.ends[at + taken - 1];
        at += taken;
    }
    return at == trace.text.size();
}

std::string PieceTracer::normalized(const TextView& text, std::size_t line) const {
    check_utf8(text, line);
    Normalizer::Trace trace;
    normalizer_.trace(text.line(line), text.size(line), trace);
    return trace.text;
}

PieceSpans PieceTracer::spans(const TextView& text, const std::int32_t* values, const std::int64_t* offsets) const {
    const auto size = static_cast<std::size_t>(offsets[text.lines]);
    PieceSpans spans{std::make_unique<std::int32_t[]>(size), std::make_unique<std::int32_t[]>(size),
                     std::make_unique<bool[]>(text.lines)};
    Normalizer::Trace trace;
    for (std::size_t i = 0; i < text.lines; ++i) {
        check_utf8(text, i);
        const auto first = static_cast<std::size_t>(offsets[i]), last = static_cast<std::size_t>(offsets[i + 1]);
        for (std::size_t k = first; k < last; ++k)
            if (values[k] < 0 || static_cast<std::size_t>(values[k]) >= pieces_.size())
                throw EncodeError("id " + std::to_string(values[k]) + " is not in the vocabulary");
        std::int32_t *const begins = spans.begins.get(), *const ends = spans.ends.get();
        normalizer_.trace(text.line(i), text.size(i), trace);
        spans.found[i] = spans_of_line(values + first, last - first, trace, begins + first, ends + first);
        if (spans.found[i]) continue;
        std::fill(begins + first, begins + last, 0);
        std::fill(ends + first, ends + last, 0);
    }
    return spans;
}

}  // namespace nmt_prep::sentencepiece
