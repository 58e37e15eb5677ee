#include "clean/html.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Elements of HTML, current and obsolete, sorted.
constexpr std::string_view kElements[] = {
    "a",        "abbr",     "acronym",  "address",  "applet",   "area",     "article",    "aside",    "audio",
    "b",        "base",     "basefont", "bdi",      "bdo",      "bgsound",  "big",        "blink",    "blockquote",
    "body",     "br",       "button",   "canvas",   "caption",  "center",   "cite",       "code",     "col",
    "colgroup", "data",     "datalist", "dd",       "del",      "details",  "dfn",        "dialog",   "dir",
    "div",      "dl",       "dt",       "em",       "embed",    "fieldset", "figcaption", "figure",   "font",
    "footer",   "form",     "frame",    "frameset", "h1",       "h2",       "h3",         "h4",       "h5",
    "h6",       "head",     "header",   "hgroup",   "hr",       "html",     "i",          "iframe",   "img",
    "input",    "ins",      "isindex",  "kbd",      "keygen",   "label",    "legend",     "li",       "link",
    "main",     "map",      "mark",     "marquee",  "menu",     "meta",     "meter",      "nav",      "nobr",
    "noframes", "noscript", "object",   "ol",       "optgroup", "option",   "output",     "p",        "param",
    "picture",  "pre",      "progress", "q",        "rp",       "rt",       "ruby",       "s",        "samp",
    "script",   "section",  "select",   "small",    "source",   "span",     "strike",     "strong",   "style",
    "sub",      "summary",  "sup",      "svg",      "table",    "tbody",    "td",         "template", "textarea",
    "tfoot",    "th",       "thead",    "time",     "title",    "tr",       "track",      "tt",       "u",
    "ul",       "var",      "video",    "wbr",      "xmp"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string lowered(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return lower;
}

// Follows Python's HTMLParser with convert_charrefs off, in its two calls: up to the first construct that is not
// complete, and from there to the end, with incomplete constructs as text.
class Parser {
   public:
    Parser(std::string_view text, Tags tags)
        : text_(text), tags_(tags), last_open_(text.rfind('<')), last_close_(text.rfind('>')) {}

    // True if there is a tag. Text that the parser refuses has none.
    bool has_tag() {
        std::size_t at = parse(0, false);
        if (at != kNone) at = parse(at, true);
        return found_ && !refused_;
    }

   private:
    // Bytes of the white space character at `at`, 0 if there is none.
    std::size_t space(std::size_t at) const {
        if (at >= text_.size()) return 0;
        const auto byte = static_cast<std::uint8_t>(text_[at]);
        if (byte < 0x80) return byte == ' ' || (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 31) ? 1 : 0;
        const auto* const begin = reinterpret_cast<const std::uint8_t*>(text_.data()) + at;
        const std::uint8_t* end = begin;
        if (byte < 0xC2 || !Properties::of(next_utf8(end)).space()) return 0;  // also within a character
        return static_cast<std::size_t>(end - begin);
    }

    std::size_t skip_spaces(std::size_t at) const {
        while (const std::size_t size = space(at)) at += size;
        return at;
    }

    char peek(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
    bool is(std::size_t at, char c) const { return at < text_.size() && text_[at] == c; }
    bool is(std::size_t at, std::string_view part) const { return text_.substr(at, part.size()) == part; }

    // Returns true if the last occurrence of a construct, kNone for no occurrence, begins at `at` or later.
    static bool before(std::size_t at, std::size_t last) { return last != kNone && at <= last; }

    // True if nothing after `at` can change the result.
    bool decided(std::size_t at) {
        if (refused_) return true;
        if (found_) {
            if (next_section_ < at) next_section_ = text_.find("<![", at);
            return next_section_ == kNone;
        }
        return !before(at, last_open_) || !before(at, last_close_);
    }

    // Returns where the first incomplete construct begins; kNone at the end, or as soon as the result is known.
    std::size_t parse(std::size_t at, bool last) {
        while (at < text_.size()) {
            if (decided(at)) return kNone;
            at = raw_element_.empty() ? text_.find_first_of("&<", at) : end_of_raw_text(at);
            if (at == kNone) return kNone;
            if (text_[at] == '<') {
                const std::size_t next = markup(at);
                if (refused_) return kNone;
                if (next == kNone && !last) return at;
                at = next == kNone ? incomplete(at) : next;
            } else if (is(at, "&#")) {
                const std::size_t next = character_reference(at);
                if (next != kNone) {
                    at = next;
                } else {
                    // The parser gives up here. The second call parses the rest, or takes it as text.
                    const bool bail = text_.find(';', at) != kNone;
                    return last ? kNone : at + (bail ? 2 : 0);
                }
            } else {
                // Names of entities hold neither & nor <, so that they can be skipped as text. A name that ends the
                // line ends the parsing, but nothing follows it.
                ++at;
            }
        }
        return kNone;
    }

    // Returns the end of the construct that begins with <, kNone if it is incomplete.
    std::size_t markup(std::size_t at) {
        if (is_letter(peek(at + 1))) return start_tag(at);
        if (is(at + 1, '/')) return end_tag(at);
        if (is(at, "<!--")) return after_comment(at + 4);
        if (is(at + 1, '?')) return after_close(at + 2);
        if (is(at, "<![")) return marked_section(at);
        if (is(at, "<!")) return after_close(lowered(text_.substr(at, 9)) == "<!doctype" ? at + 9 : at + 2);
        return at + 1 < text_.size() ? at + 1 : kNone;
    }

    std::size_t incomplete(std::size_t at) const {
        if (const std::size_t end = after_close(at + 1); end != kNone) return end;
        const std::size_t next = text_.find('<', at + 1);
        return next == kNone ? at + 1 : next;
    }

    std::size_t after_close(std::size_t at) const { return before(at, last_close_) ? text_.find('>', at) + 1 : kNone; }

    // Returns the position after `--\s*>`.
    std::size_t after_comment(std::size_t at) {
        if (no_comment_ends_) return kNone;
        for (at = text_.find("--", at); at != kNone; at = text_.find("--", at + 1)) {
            const std::size_t end = skip_spaces(at + 2);
            if (is(end, '>')) return end + 1;
        }
        no_comment_ends_ = true;
        return kNone;
    }

    // Parses `<![name…]]>` or Microsoft's `<![if …]>`. Other names are refused.
    std::size_t marked_section(std::size_t at) {
        std::size_t end = at + 3;
        if (end == text_.size()) return kNone;
        while (end < text_.size() &&
               (is_letter(text_[end]) || (end > at + 3 && (is_digit(text_[end]) || text_[end] == '-' ||
                                                           text_[end] == '_' || text_[end] == '.'))))
            ++end;
        const std::string name = lowered(text_.substr(at + 3, end - at - 3));
        if (name.empty()) {
            refused_ = true;
            return kNone;
        }
        if (skip_spaces(end) == text_.size()) return kNone;
        const bool office = name == "if" || name == "else" || name == "endif";
        if (!office && name != "temp" && name != "cdata" && name != "ignore" && name != "include" && name != "rcdata") {
            refused_ = true;
            return kNone;
        }
        bool& no_section_ends = office ? no_office_section_ends_ : no_section_ends_;
        if (no_section_ends) return kNone;
        for (std::size_t close = text_.find(']', at + 3); close != kNone; close = text_.find(']', close + 1)) {
            std::size_t next = skip_spaces(close + 1);
            if (!office) {
                if (!is(next, ']')) continue;
                next = skip_spaces(next + 1);
            }
            if (is(next, '>')) return next + 1;
        }
        no_section_ends = true;
        return kNone;
    }

    // Position after white space and slashes; a slash before > stays if `tag_end` is true.
    std::size_t skip_separators(std::size_t at, bool tag_end) const {
        while (at < text_.size()) {
            if (const std::size_t size = space(at))
                at += size;
            else if (text_[at] == '/' && !(tag_end && is(at + 1, '>')))
                ++at;
            else
                break;
        }
        return at;
    }

    std::size_t after_value(std::size_t at) const {
        std::size_t value = skip_spaces(at);
        if (!is(value, '=')) return at;
        const std::size_t equals = value;
        while (is(value, '=')) ++value;
        const std::size_t after_equals = value;
        value = skip_spaces(value);
        if (is(value, '\'') || is(value, '"')) {
            const std::size_t close = text_.find(text_[value], value + 1);
            if (close != kNone) return close + 1;
            if (value > after_equals) return value;    // no value, and the white space after it
            if (after_equals - equals < 2) return at;  // no value at all
            value = after_equals - 1;                  // the last = begins the value
        }
        while (value < text_.size() && text_[value] != '>' && space(value) == 0) ++value;
        return value;
    }

    std::size_t start_tag(std::size_t at) {
        const std::size_t name_end = end_of_name(at + 1);
        std::size_t end = attributes_at_;
        bool attributes = false;
        std::vector<std::size_t> passed;
        while (end < text_.size() && text_[end] != '>' && text_[end] != '/' && space(end) == 0) {
            const char before = text_[end - 1];
            if (before != '\'' && before != '"' && before != '/' && !space_before(end)) break;
            if (never_closed_.contains(end)) {
                end = text_.size();
                break;
            }
            passed.push_back(end);
            do {
                ++end;
            } while (end < text_.size() && text_[end] != '/' && text_[end] != '=' && text_[end] != '>' &&
                     space(end) == 0);
            end = skip_separators(after_value(end), true);
            attributes = true;
        }
        if (is(end, '>') || is(end, "/>")) {
            const std::string name = lowered(text_.substr(at + 1, name_end - at - 1));
            const bool open = is(end, '>') && (attributes || text_[end - 1] != '/');
            found_ = found_ || counts(name);
            if (open && (name == "script" || name == "style")) raw_element_ = name;
            return is(end, '>') ? end + 1 : end + 2;
        }
        const char next = peek(end);
        if (end < text_.size() && next != '/' && next != '=' && !is_letter(next)) return end;
        never_closed_.insert(passed.begin(), passed.end());
        return kNone;
    }

    // Returns the end of a tag's name that begins at `at`, and sets `attributes_at_` to the first position after
    // the separators that follow.
    std::size_t end_of_name(std::size_t at) {
        constexpr std::string_view kNameEnds("\t\n\r\f />\0", 8);
        if (at < name_begin_ || at > name_end_) {  // else the names of two tags end at the same place
            name_begin_ = at;
            name_end_ = std::min(text_.find_first_of(kNameEnds, at), text_.size());
            attributes_at_ = skip_separators(name_end_, false);
        }
        return name_end_;
    }

    // True if the character before is white space.
    bool space_before(std::size_t at) const {
        std::size_t begin = at - 1;
        while (begin > 0 && (static_cast<std::uint8_t>(text_[begin]) & 0xC0) == 0x80) --begin;
        return space(begin) == at - begin;
    }

    std::size_t end_tag(std::size_t at) {
        const std::size_t close = after_close(at + 1);
        if (close == kNone) return kNone;
        const std::size_t begin = skip_spaces(at + 2);
        std::size_t end = begin;
        while (end < text_.size() &&
               (is_letter(text_[end]) ||
                (end > begin && (is_digit(text_[end]) || std::strchr("-.:_", text_[end]) != nullptr) &&
                 text_[end] != '\0')))
            ++end;
        const std::string name = lowered(text_.substr(begin, end - begin));
        const bool whole = !name.empty() && is(skip_spaces(end), '>');
        if (!raw_element_.empty() && (!whole || name != raw_element_)) return close;
        if (whole) {
            raw_element_.clear();
            found_ = found_ || (tags_ == Tags::kKnown && counts(name));
        }
        return is(at + 2, '>') ? at + 3 : close;
    }

    // Position of the end tag of a script or style element, kNone if there is none.
    std::size_t end_of_raw_text(std::size_t at) const {
        for (at = text_.find("</", at); at != kNone; at = text_.find("</", at + 1)) {
            const std::size_t begin = skip_spaces(at + 2);
            if (lowered(text_.substr(begin, raw_element_.size())) == raw_element_ &&
                is(skip_spaces(begin + raw_element_.size()), '>'))
                return at;
        }
        return kNone;
    }

    // Position after a reference such as &#38; or &#x26; kNone if it is none.
    std::size_t character_reference(std::size_t at) const {
        std::size_t end = at + 2;
        const bool hex = is(end, 'x') || is(end, 'X');
        if (hex) ++end;
        const std::size_t first = end;
        while (end < text_.size() && (hex ? is_hex(text_[end]) : is_digit(text_[end]))) ++end;
        if (end == first || end >= text_.size() || is_hex(text_[end])) return kNone;
        return is(end, ';') ? end + 1 : end;
    }

    bool counts(const std::string& name) const {
        return tags_ == Tags::kAny || std::ranges::binary_search(kElements, name);
    }

    std::string_view text_;
    Tags tags_;
    std::string raw_element_;  // script or style, whose content is not parsed
    bool found_ = false;
    bool refused_ = false;

    // Facts about the rest of the text, so that no part is searched repeatedly.
    std::size_t last_open_;
    std::size_t last_close_;
    std::size_t next_section_ = 0;
    bool no_comment_ends_ = false;
    bool no_section_ends_ = false;
    bool no_office_section_ends_ = false;
    std::size_t name_begin_ = 1;
    std::size_t name_end_ = 0;
    std::size_t attributes_at_ = 0;
    std::unordered_set<std::size_t> never_closed_;  // attributes that begin here belong to tags without an end
};

}  // namespace

void html_tags(const Lines& lines, Tags tags, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        const bool candidate = line.size() != 0 && std::memchr(line.begin, '<', line.size()) != nullptr;
        const std::string_view text(reinterpret_cast<const char*>(line.begin), line.size());
        out[i] = candidate && Parser(text, tags).has_tag() ? 1.0 : 0.0;
    }
}

}  // namespace nmt_prep::clean
