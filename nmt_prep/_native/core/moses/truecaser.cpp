#include "moses/truecaser.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "moses/characters.h"
#include "text/casefold.h"

namespace nmt_prep::moses {
namespace {

// True if a sentence ends after a token.
bool ends_sentence(std::string_view token) {
    return token.size() == 1 && std::string_view(".:?!").find(token[0]) != std::string_view::npos;
}

// True if a sentence that begins with a token begins with the next one, too.
bool is_opening(std::string_view token) {
    constexpr std::string_view kOpenings[] = {"(", "[", "\"", "'", "&apos;", "&quot;", "&#91;", "&#93;"};
    return token.size() <= 6 && std::ranges::find(kOpenings, token) != std::end(kOpenings);
}

// Whether the next token begins a sentence.
bool starts_after(std::string_view token, bool start) { return ends_sentence(token) || (start && is_opening(token)); }

// Reads the tokens and the tags of a line.
class TokenReader {
   public:
    explicit TokenReader(std::string_view line) : line_(line), rest_(line) {}

    // Reads a token or a tag; returns an empty text at the end. A tag begins with <.
    std::string_view next(bool& tag) {
        skip_spaces();
        tag = false;
        if (rest_.empty()) return {};
        if (const std::size_t size = tag_size(0); size != 0) {
            tag = true;
            return take(size);
        }
        std::size_t size = token_size(true);
        if (size == 0) size = token_size(false);
        if (rest_[size - 1] == '|') size += tag_size(size);  // the tag is a factor
        return take(size);
    }

   private:
    // Size of the tag at a position of the rest, 0 if there is none. The character after < may itself be >. Of many
    // lone
    // <, none searches the rest of the line in vain.
    std::size_t tag_size(std::size_t at) {
        if (at + 1 >= rest_.size() || rest_[at] != '<' || is_space(first_point(rest_.substr(at + 1)))) return 0;
        const std::size_t inside = at + 1 + character_size(static_cast<std::uint8_t>(rest_[at + 1]));
        if (!last_close_) last_close_ = line_.rfind('>') + 1;  // 0 if there is none
        if (*last_close_ <= line_.size() - rest_.size() + inside) return 0;
        return rest_.find('>', inside) + 1 - at;
    }

    void skip_spaces() {
        std::size_t at = 0;
        while (at != rest_.size()) {
            const std::size_t size = size_if(at, kBlank);
            if (size == 0) break;
            at += size;
        }
        rest_.remove_prefix(at);
    }

    // Size of the text before white space or, if wanted, an angle bracket.
    std::size_t token_size(bool stops_at_brackets) const {
        std::size_t at = 0;
        while (at != rest_.size()) {
            const std::size_t size = size_if(at, stops_at_brackets ? kWord : static_cast<Kinds>(kWord | kBracket));
            if (size == 0) break;
            at += size;
        }
        return at;
    }

    // What a character is, as bits.
    enum Kinds : std::uint8_t { kWord = 1, kBracket = 2, kBlank = 4 };

    // Size of the character at a position if it has one of the kinds, else 0.
    std::size_t size_if(std::size_t at, Kinds kinds) const {
        const auto byte = static_cast<std::uint8_t>(rest_[at]);
        if (byte < 0x80) {
            const bool blank = byte == ' ' || (byte >= 0x09 && byte <= 0x0D);
            return ((blank ? kBlank : byte == '<' || byte == '>' ? kBracket : kWord) & kinds) != 0 ? 1 : 0;
        }
        const auto* const begin = reinterpret_cast<const std::uint8_t*>(rest_.data()) + at;
        const auto* after = begin;
        const bool blank = (table_[next_utf8(after)] & kSpace) != 0;
        return ((blank ? kBlank : kWord) & kinds) != 0 ? static_cast<std::size_t>(after - begin) : 0;
    }

    std::string_view take(std::size_t size) {
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    std::string_view line_, rest_;
    std::optional<std::size_t> last_close_;  // the position after the last >, found at the first <
    const PointTable<Classes>& table_ = character_classes();
};

// A count of tenths as a decimal number.
std::string decimal(std::int64_t tenths) {
    std::string number = std::to_string(tenths / 10);
    if (tenths % 10 != 0) number.append(".").append(std::to_string(tenths % 10));
    return number;
}

// Returns an upper bound for a model's word count.
std::size_t count_words(const std::vector<std::vector<std::string>>& forms) {
    std::size_t words = forms.size();
    for (const std::vector<std::string>& each : forms) words += each.size();
    return words;
}

}  // namespace

Truecaser::Truecaser(const std::vector<std::vector<std::string>>& forms, bool lower_first)
    : words_(count_words(forms)), lower_first_(lower_first) {
    for (const std::vector<std::string>& each : forms) {
        if (each.empty()) continue;
        best_.push_back(each[0]);
        words_.add(lowered(each[0])).best = best_.size();
        for (const std::string& form : each) words_.add(form).known = true;
    }
}

void Truecaser::append_word(std::string_view word, bool start, std::string& out) const {
    const Word* found = words_.find(word);
    if (start || found == nullptr || !found->known) {
        if (found == nullptr || found->best == 0) found = words_.find(lowered(word));
        if (found != nullptr && found->best != 0) word = best_[found->best - 1];
    }
    out += word;
}

void Truecaser::apply(std::string_view line, std::string& out) const {
    TokenReader reader(line);
    bool start = true, first = true, tag = false, after_tag = false;
    for (std::string_view token = reader.next(tag); !token.empty(); token = reader.next(tag)) {
        if (tag) {
            if (after_tag) out += ' ';
            out += token;
            after_tag = true;
            continue;
        }
        if (after_tag || !first) out += ' ';
        first = after_tag = false;
        const std::size_t bar = std::min(token.find('|'), token.size());
        const std::string_view word = token.substr(0, bar);
        const std::string lower = lower_first_ ? lowered(word) : std::string();
        append_word(lower_first_ ? lower : word, start, out);
        out += token.substr(bar);
        start = starts_after(word, start);
    }
}

void TruecaserTrainer::add(const TextView& text, const Poll& poll) {
    check_lines(text, 0, text.lines);
    std::size_t work = 0;
    for (std::size_t i = 0; i < text.lines; ++i) {
        work += text.size(i) + 16;
        if (work > kPollEvery) {
            poll();
            work = 0;
        }
        add_line({reinterpret_cast<const char*>(text.line(i)), text.size(i)});
    }
}

void TruecaserTrainer::add_line(std::string_view line) {
    TokenReader reader(line);
    bool tag = false;
    std::vector<std::string_view> tokens;
    for (std::string_view token = reader.next(tag); !token.empty(); token = reader.next(tag))
        if (!tag && !(tokens.empty() && is_opening(token))) tokens.push_back(token);
    bool start = true;
    for (const std::string_view token : tokens) {
        bool cased = false;
        for_each_point(token,
                       [&](char32_t point, std::string_view) { cased |= (character_classes()[point] & kCased) != 0; });
        if (cased && !start) {
            add_word(token, 10);
        } else if (cased && first_tokens_) {
            const std::size_t size = character_size(static_cast<std::uint8_t>(token[0]));
            if (lowered(token.substr(0, size)) == token.substr(0, size))
                add_word(token, 10);
            else if (tokens.size() == 1)
                add_word(token, 1);
        }
        start = ends_sentence(token);
    }
}

void TruecaserTrainer::add_word(std::string_view word, std::int64_t tenths) {
    const auto found = forms_.find(word);
    if (found != forms_.end())
        found->second.tenths += tenths;
    else
        forms_.emplace(word, Count{tenths, forms_.size()});
}

std::vector<std::string> TruecaserTrainer::model() const {
    using Form = TextMap<Count>::value_type;
    TextMap<std::vector<const Form*>> words;  // by lower case
    for (const Form& form : forms_) words[lowered(form.first)].push_back(&form);
    std::vector<std::string> lines;
    lines.reserve(words.size());
    for (auto& [lower, forms] : words) {
        std::ranges::sort(forms, {},
                          [](const Form* form) { return std::pair(-form->second.tenths, form->second.order); });
        std::int64_t total = 0;
        for (const Form* form : forms) total += form->second.tenths;
        std::string line;
        for (const Form* form : forms) {
            line.append(line.empty() ? "" : " ").append(form->first).append(" (").append(decimal(form->second.tenths));
            if (form == forms[0]) line.append("/").append(decimal(total));
            line += ')';
        }
        lines.push_back(std::move(line));
    }
    std::ranges::sort(lines);
    return lines;
}

void detruecase(std::string_view line, std::string& out) {
    bool start = true, first = true;
    for (std::size_t at = 0; at < line.size();) {
        const std::string_view rest = line.substr(at);
        const std::size_t size = character_size(static_cast<std::uint8_t>(rest[0]));
        if (is_space(first_point(rest))) {
            at += size;
            continue;
        }
        std::size_t end = size;
        while (end < rest.size() && !is_space(first_point(rest.substr(end))))
            end += character_size(static_cast<std::uint8_t>(rest[end]));
        const std::string_view token = rest.substr(0, end);
        if (!first) out += ' ';
        first = false;
        if (start)
            upper(first_point(token), [&out](char32_t to) { append_utf8(out, to); });
        else
            out += token.substr(0, size);
        out += token.substr(size);
        start = starts_after(token, start);
        at += end;
    }
}

}  // namespace nmt_prep::moses
