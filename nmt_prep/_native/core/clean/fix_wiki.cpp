// Removes what is left of wiki markup: == headings ==, [[links|text]], {{templates}} and '''bold'''.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "clean/fixes.h"

namespace nmt_prep::clean {
namespace {

// Finds the parts of a line that are markup, in one pass.
class WikiMarkup {
   public:
    explicit WikiMarkup(std::string_view line) : line_(line) {
        for (std::size_t at = heading(); at < line_.size();) at = next(at);
    }

    // Appends the line without its markup, and without one of two spaces that a template leaves.
    void append_rest(std::string& out) {
        std::ranges::sort(cuts_, {}, &Cut::begin);
        std::size_t at = 0;
        for (const Cut& cut : cuts_) {
            if (cut.end <= at) continue;
            if (cut.begin > at) out += line_.substr(at, cut.begin - at);
            at = std::max(at, cut.end);
            if (!cut.whole || (!out.empty() && out.back() != ' ')) continue;
            if (at < line_.size() && line_[at] == ' ') ++at;
            if (at == line_.size() && !out.empty()) out.pop_back();
        }
        out += line_.substr(at);
    }

   private:
    struct Opening {
        char kind;         // '[' or '{'
        std::size_t at;    // of its first bracket
        std::size_t text;  // where the text of a link begins
    };
    struct Cut {
        std::size_t begin, end;
        bool whole = false;  // a template
    };

    std::size_t run(std::size_t at) const {
        return std::min(line_.find_first_not_of(line_[at], at), line_.size()) - at;
    }

    // Cuts the marks of a heading at the beginning, and returns where they end.
    std::size_t heading() {
        const std::size_t begin = std::min(line_.find_first_not_of(" \t"), line_.size());
        const std::size_t size = begin < line_.size() && line_[begin] == '=' ? run(begin) : 0;
        if (size < 2 || size > 6) return 0;
        const std::size_t text = line_.find_first_not_of(' ', begin + size);
        const std::size_t close = text == line_.npos ? line_.npos : line_.find('=', text);
        if (close == line_.npos || close == text || run(close) != size) return 0;
        const std::size_t end = close + size;
        if (end < line_.size() && line_[end] != ' ' && line_[end] != '\t') return 0;
        cuts_.push_back({begin, text});
        const std::size_t last = line_.find_last_not_of(' ', close - 1) + 1;
        cuts_.push_back({end < line_.size() ? close : last, end});
        if (end < line_.size()) cuts_.back().whole = true;
        return text;
    }

    // Handles what is at a position, and returns the next one.
    std::size_t next(std::size_t at) {
        const char mark = line_[at];
        if (mark == '\'') return quotes(at);
        const bool twice = at + 1 < line_.size() && line_[at + 1] == mark;
        if (mark == '|' && !open_.empty() && open_.back().kind == '[') open_.back().text = at + 1;
        if (mark == '[' && twice) open_.push_back({'[', at, at + 2});
        if (mark == '{' && twice) {
            open_.push_back({'{', at, at + 2});
            ++templates_;
        }
        if (mark == ']' && twice && !open_.empty() && open_.back().kind == '[') close_link(at);
        if (mark == '}' && twice && templates_ != 0) return close_template(at);
        const bool pair = twice && (mark == '[' || mark == '{' || mark == ']');
        return std::min(line_.find_first_of("'[]{}|", at + (pair ? 2 : 1)), line_.size());
    }

    // Cuts three quotes, which are bold, or five, which are bold and italic.
    std::size_t quotes(std::size_t at) {
        const std::size_t size = run(at);
        if (size >= 3) cuts_.push_back({at, at + (size < 5 ? 3 : 5)});
        return std::min(line_.find_first_of("'[]{}|", at + size), line_.size());
    }

    void close_link(std::size_t at) {
        const Opening link = open_.back();
        open_.pop_back();
        const bool empty = link.text == at && link.text != link.at + 2;  // [[a|]]
        cuts_.push_back({link.at, empty ? link.at + 2 : link.text});
        cuts_.push_back({empty ? at - 1 : at, at + 2});
    }

    std::size_t close_template(std::size_t at) {
        while (open_.back().kind != '{') open_.pop_back();
        const Opening opening = open_.back();
        open_.pop_back();
        --templates_;
        std::size_t end = at + 2;
        if (line_[opening.text] == '{' && end < line_.size() && line_[end] == '}') ++end;  // {{{a}}}
        cuts_.push_back({opening.at, end, true});
        return end;
    }

    std::string_view line_;
    std::vector<Opening> open_;
    std::size_t templates_ = 0;  // number of templates in `open_`
    std::vector<Cut> cuts_;      // may be within others
};

class Wiki final : public Fix {
   public:
    ByteSet triggers() const override {
        ByteSet set;
        for (const unsigned char byte : {'=', '[', '{', '\''}) set.set(byte);
        return set;
    }
    bool suspects(const Place& place) const override {
        return place[1] == place[0] && (place[0] != '\'' || place[2] == '\'');
    }
    void apply(std::string_view line, std::string& fixed) const override { WikiMarkup(line).append_rest(fixed); }
};

}  // namespace

std::unique_ptr<Fix> wiki_fix() { return std::make_unique<Wiki>(); }

}  // namespace nmt_prep::clean
