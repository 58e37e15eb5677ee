#include "pattern/syntax.h"

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "text/utf8.h"

namespace nmt_prep::pattern {
namespace {

// Thrown inside this file only.
struct NotRecognised : std::exception {};

constexpr unsigned kMaxRepeat = 100;
constexpr int kMaxDepth = 50;
constexpr std::size_t kMaxCharacters = 1 << 14;

bool is_ascii_letter(char32_t point) { return (point | 0x20) >= 'a' && (point | 0x20) <= 'z'; }
bool is_digit(char32_t point) { return point >= '0' && point <= '9'; }
bool is_ascii_sign(char32_t point) {
    return point >= ' ' && point < 0x7F && !is_ascii_letter(point) && !is_digit(point);
}

Node node_of(CodeSet set) { return {.kind = Node::kSet, .set = std::move(set)}; }
Node ahead(CodeSet set, bool at_end) { return {.kind = Node::kAhead, .set = std::move(set), .at_end = at_end}; }
Node sequence(std::vector<Node> parts) {
    if (parts.size() == 1) return std::move(parts[0]);
    return {.kind = Node::kSequence, .parts = std::move(parts)};
}
Node choice(std::vector<Node> parts) {
    if (parts.size() == 1) return std::move(parts[0]);
    return {.kind = Node::kChoice, .parts = std::move(parts)};
}
Node repeat(Node part, unsigned least, unsigned most) {
    return {.kind = Node::kRepeat, .parts = {std::move(part)}, .least = least, .most = most};
}

class Parser {
   public:
    Parser(std::u32string text, Syntax syntax) : text_(std::move(text)), syntax_(syntax) {}

    Node whole() {
        Node node = alternatives();
        if (!at_end()) throw NotRecognised{};
        return node;
    }

   private:
    bool at_end() const { return at_ == text_.size(); }
    char32_t peek(std::size_t ahead_by = 0) const {
        return at_ + ahead_by < text_.size() ? text_[at_ + ahead_by] : U'\0';
    }
    char32_t next() {
        if (at_end()) throw NotRecognised{};
        return text_[at_++];
    }
    bool take(std::u32string_view prefix) {
        if (!std::u32string_view(text_).substr(at_).starts_with(prefix)) return false;
        at_ += prefix.size();
        return true;
    }
    void require(std::u32string_view prefix) {
        if (!take(prefix)) throw NotRecognised{};
    }

    Node alternatives() {
        if (++depth_ > kMaxDepth) throw NotRecognised{};
        std::vector<Node> found;
        do {
            std::vector<Node> parts;
            folded_.clear();
            while (!at_end() && peek() != '|' && peek() != ')') parts.push_back(quantified(atom()));
            found.push_back(sequence(std::move(parts)));
        } while (take(U"|"));
        --depth_;
        return choice(std::move(found));
    }

    Node atom() {
        if (take(U"(?i:")) return group(true);
        if (take(U"(?:")) return group(ignore_case_);
        if (take(U"(?!")) return looked_ahead(true);
        if (take(U"(?=")) return looked_ahead(false);
        if (peek() == '(' && peek(1) != '?' && peek(1) != '*') {
            next();
            return group(ignore_case_);
        }
        if (take(U"[")) return node_of(bracketed());
        if (take(U".")) return node_of(~CodeSet(U'\n'));
        // In Ruby's syntax a line ends before "\n" too.
        if (take(U"$")) return ahead(syntax_ == Syntax::kTokenizers ? CodeSet(U'\n') : CodeSet(), true);
        if (take(U"\\")) return node_of(escaped());
        const char32_t point = next();
        if (std::u32string_view(U"()[]{}*+?^").find(point) != std::u32string_view::npos) throw NotRecognised{};
        return node_of(folded(point));
    }

    Node group(bool ignore_case) {
        const bool outside = std::exchange(ignore_case_, ignore_case);
        Node node = alternatives();
        require(U")");
        ignore_case_ = outside;
        folded_.clear();
        return node;
    }

    Node looked_ahead(bool negative) {
        Node node = alternatives();
        require(U")");
        if (node.kind != Node::kSet) throw NotRecognised{};
        return negative ? ahead(~node.set, true) : ahead(std::move(node.set), false);
    }

    Node quantified(Node part) {
        unsigned least = 0, most = Node::kMany;
        bool braces = false;
        if (take(U"+")) {
            least = 1;
        } else if (take(U"?")) {
            most = 1;
        } else if (take(U"{")) {
            braces = true;
            least = number();
            most = take(U",") ? (peek() == '}' ? Node::kMany : number()) : least;
            require(U"}");
            if (most < least || most == 0) throw NotRecognised{};
        } else if (!take(U"*")) {
            return part;
        }
        folded_.clear();
        if (part.kind == Node::kAhead) throw NotRecognised{};
        Node node;
        if (!take(U"+"))
            node = repeat(std::move(part), least, most);
        else if (braces && syntax_ == Syntax::kTokenizers)  // not possessive in Ruby's syntax
            node = repeat(repeat(std::move(part), least, most), 1, Node::kMany);
        else
            node = possessive(part, least, most);
        if (peek() == '?' || peek() == '*' || peek() == '+' || peek() == '{') throw NotRecognised{};
        return node;
    }

    // Repetition that never gives back characters: another repetition may not follow unless the most allowed were
    // taken.
    static Node possessive(const Node& part, unsigned least, unsigned most) {
        if (part.kind != Node::kSet) throw NotRecognised{};
        const Node none_follows = ahead(~part.set, true);
        if (most == Node::kMany) return sequence({repeat(part, least, most), none_follows});
        if (most == least) return repeat(part, least, most);
        return choice({repeat(part, most, most), sequence({repeat(part, least, most - 1), none_follows})});
    }

    unsigned number() {
        if (!is_digit(peek())) throw NotRecognised{};
        unsigned value = 0;
        while (is_digit(peek())) {
            value = 10 * value + static_cast<unsigned>(next() - '0');
            if (value > kMaxRepeat) throw NotRecognised{};
        }
        return value;
    }

    // The characters of an escape, after the backslash.
    CodeSet escaped() {
        const char32_t point = next();
        switch (point) {
            case 'r': return CodeSet(U'\r');
            case 'n': return CodeSet(U'\n');
            case 't': return CodeSet(U'\t');
            case 'f': return CodeSet(U'\f');
            case 's': return white_space();
            case 'S': return ~white_space();
            case 'd': return *named_set("Nd");
            case 'D': return ~*named_set("Nd");
            case 'p': return property();
            case 'P': return ~property();
            default:
                // Some libraries read these escapes as boundaries of words or of the text.
                if (!is_ascii_sign(point) || std::u32string_view(U"<>'`").find(point) != std::u32string_view::npos)
                    throw NotRecognised{};
                return CodeSet(point);
        }
    }

    CodeSet property() {
        require(U"{");
        std::string name;
        while (peek() != '}') {
            if (!is_ascii_letter(peek())) throw NotRecognised{};
            name.push_back(static_cast<char>(next()));
        }
        require(U"}");
        // Matching without regard to case would also need the other case of each character.
        const CodeSet* const found = ignore_case_ ? nullptr : named_set(name);
        if (found == nullptr) throw NotRecognised{};
        return *found;
    }

    // A set after its opening bracket. Intersection binds less tightly than juxtaposition.
    CodeSet bracketed() {
        if (++depth_ > kMaxDepth) throw NotRecognised{};
        const bool negative = take(U"^");
        if (negative && ignore_case_) throw NotRecognised{};
        if (peek() == ']') throw NotRecognised{};
        CodeSet set = listed();
        while (take(U"&&")) set = set & listed();
        require(U"]");
        --depth_;
        return negative ? ~set : set;
    }

    CodeSet listed() {
        CodeSet set;
        bool any = false;
        while (peek() != ']' && !(peek() == '&' && peek(1) == '&')) {
            any = true;
            if (take(U"[")) {
                if (peek() == ':') throw NotRecognised{};
                set = set | bracketed();
            } else {
                set = set | range_or_character();
            }
        }
        if (!any) throw NotRecognised{};
        return set;
    }

    CodeSet range_or_character() {
        // The libraries disagree about doubled signs, which some read as operators.
        if ((peek() == '-' || peek() == '~') && peek() == peek(1)) throw NotRecognised{};
        if (peek() == '-' && peek(1) != ']' && text_[at_ - 1] != '[' && text_[at_ - 1] != '^') throw NotRecognised{};
        CodeSet first = member();
        if (peek() != '-' || peek(1) == ']') return first;
        next();
        if (peek() == '[') throw NotRecognised{};
        const CodeSet last = member();
        if (!is_single(first) || !is_single(last) || ignore_case_) throw NotRecognised{};
        const Range range{first.ranges()[0].first, last.ranges()[0].first};
        if (range.last < range.first) throw NotRecognised{};
        return CodeSet(std::vector<Range>{range});
    }
    CodeSet member() {
        if (take(U"\\")) return escaped();
        const char32_t point = next();
        return ignore_case_ ? both_cases(point) : CodeSet(point);
    }
    static bool is_single(const CodeSet& set) {
        return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
    }

    // A literal character. In Oniguruma some pairs of letters also match one character that folds to them, as ß folds
    // to ss.
    CodeSet folded(char32_t point) {
        if (!ignore_case_) return CodeSet(point);
        const char32_t lower = is_ascii_letter(point) ? point | 0x20 : point;
        folded_.push_back(lower);
        for (const std::u32string_view pair : {U"ss", U"st", U"ff", U"fi", U"fl"})
            if (folded_.ends_with(pair)) throw NotRecognised{};
        return both_cases(point);
    }
    static CodeSet both_cases(char32_t point) {
        if (is_ascii_sign(point)) return CodeSet(point);
        if (!is_ascii_letter(point)) throw NotRecognised{};
        CodeSet set = CodeSet(point | 0x20) | CodeSet(point & ~char32_t{0x20});
        if ((point | 0x20) == 's') set = set | CodeSet(U'\u017F');  // long s
        if ((point | 0x20) == 'k') set = set | CodeSet(U'\u212A');  // Kelvin sign
        return set;
    }

    std::u32string text_;
    Syntax syntax_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool ignore_case_ = false;
    std::u32string folded_;  // adjacent letters without regard to case
};

}  // namespace

std::optional<Node> parse(std::string_view expression, Syntax syntax) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(expression.data());
    const std::uint8_t* const end = at + expression.size();
    if (find_invalid_utf8(at, expression.size()) != expression.size()) return std::nullopt;
    std::u32string text;
    while (at != end) text.push_back(next_utf8(at));
    if (text.size() > kMaxCharacters) return std::nullopt;
    try {
        return Parser(std::move(text), syntax).whole();
    } catch (const NotRecognised&) {
        return std::nullopt;
    }
}

}  // namespace nmt_prep::pattern
